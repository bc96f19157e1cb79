"""Usage: python -m tests.fuzz [MINUTES] [--only WORD] [--inputs NUMBER] [--seed NUMBER]

Tries new random inputs for so long (10 minutes by default), file by file and again with another
seed, and says how many there were, and what became of those that tests count. With `--only`, files
with that word in their name alone; with `--inputs`, until there were so many:
`python -m tests.fuzz 60 --only checkpoints --inputs 10000` damages 10,000 checkpoints.

A failure is shown with its input; add that to the test as an `@example`, so that every run tries
it. The last file kills builds at 50 moments, in the tests 20.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent
LONGER = (FOLDER.parent / "test_killed.py",)
"""Files of other folders that try more in a long run."""
PASSING = re.compile(r"- (\d+) passing, (\d+) failing, and (\d+) invalid test cases")
EVENT = re.compile(r"\* ([\d.]+)%, (.+)")


def main(minutes, only="", inputs=None, seed=None):
    """The exit status: 1 if something failed, 2 if no file is called so."""
    start, tried, failed, became = time.monotonic(), 0, [], Counter()
    seed = int(time.time()) if seed is None else seed
    files = [path for path in [*sorted(FOLDER.glob("test_*.py")), *LONGER] if only in path.name]
    if not files:
        print(f"no file of tests has {only!r} in its name", file=sys.stderr)
        return 2
    first = seed % len(files)  # so that short runs come to all of them
    files = [*files[first:], *files[:first]]

    def goes_on():
        late = time.monotonic() - start > 60 * minutes
        return not failed and not late and (inputs is None or tried < inputs)

    while goes_on():
        for path in files:
            seed += 1
            began = time.monotonic()
            done = _run(path, seed)
            number, events = _counted(done.stdout)
            tried += number
            became += events
            seconds = time.monotonic() - began
            print(f"{path.name}, seed {seed}: {number:,} inputs in {seconds:.0f} s", flush=True)
            if done.returncode:
                failed.append(path.name)
                print(done.stdout[-6000:], flush=True)
            if not goes_on():
                break
    seconds = time.monotonic() - start
    for what, number in became.most_common():
        print(f"{what}: {number:,}")
    print(f"{tried:,} inputs in {seconds:.0f} s; failed: {', '.join(failed) or 'nothing'}")
    return int(bool(failed))


def _counted(said):
    """How many inputs there were, and what became of them, as hypothesis says it of each test."""
    number, events = 0, Counter()
    for part in said.split("Stopped because"):
        tried = sum(sum(map(int, numbers)) for numbers in PASSING.findall(part))
        number += tried
        for percent, what in EVENT.findall(part):
            events[what] += round(float(percent) / 100 * tried)
    return number, events


def _run(path, seed):
    options = ["-q", "-p", "no:cacheprovider", "--tb=short", "--hypothesis-show-statistics"]
    options += [f"--hypothesis-seed={seed}", "--timeout=1800"]
    options += ["--show-capture=no"]  # it would fill what is shown of a failure
    return subprocess.run(
        [sys.executable, "-m", "pytest", path, *options],
        env=os.environ | {"HYPOTHESIS_PROFILE": "long"},
        cwd=FOLDER.parents[1],
        capture_output=True,
        text=True,
    )


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="tests.fuzz", description="Try new random inputs.")
    options.add_argument("minutes", type=float, nargs="?", default=10, help="default: 10")
    options.add_argument("--only", default="", help="a word in the names of the files to run")
    options.add_argument("--inputs", type=int, help="stop after so many")
    options.add_argument("--seed", type=int, help="default: the time")
    sys.exit(main(**vars(options.parse_args())))
