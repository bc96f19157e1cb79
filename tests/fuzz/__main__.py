"""Usage: python -m tests.fuzz [MINUTES]

Tries new random inputs for so long (10 minutes by default), file by file and again with another
seed, and says how many there were. A failure is shown with its input; add that to the test as an
`@example`, so that every run tries it. The last file kills builds at 50 moments, in the tests 20.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent
LONGER = (FOLDER.parent / "test_killed.py",)
"""Files of other folders that try more in a long run."""
PASSING = re.compile(r"- (\d+) passing, (\d+) failing, and (\d+) invalid test cases")


def main(minutes):
    """The exit status: 1 if something failed."""
    start, seed, tried, failed = time.monotonic(), int(time.time()), 0, []
    files = sorted(FOLDER.glob("test_*.py"))
    first = seed % len(files)  # so that short runs come to all of them
    files = [*files[first:], *files[:first], *LONGER]
    while not failed and time.monotonic() - start < 60 * minutes:
        for path in files:
            seed += 1
            began = time.monotonic()
            done = _run(path, seed)
            number = sum(sum(map(int, found)) for found in PASSING.findall(done.stdout))
            tried += number
            seconds = time.monotonic() - began
            print(f"{path.name}, seed {seed}: {number:,} inputs in {seconds:.0f} s", flush=True)
            if done.returncode:
                failed.append(path.name)
                print(done.stdout[-6000:], flush=True)
            if time.monotonic() - start > 60 * minutes:
                break
    seconds = time.monotonic() - start
    print(f"{tried:,} inputs in {seconds:.0f} s; failed: {', '.join(failed) or 'nothing'}")
    return bool(failed)


def _run(path, seed):
    usual = ["-q", "-p", "no:cacheprovider", "--tb=short", "--hypothesis-show-statistics"]
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            path,
            f"--hypothesis-seed={seed}",
            "--timeout=1800",
            *usual,
        ],
        env=os.environ | {"HYPOTHESIS_PROFILE": "long"},
        cwd=FOLDER.parents[1],
        capture_output=True,
        text=True,
    )


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="tests.fuzz", description="Try new random inputs.")
    options.add_argument("minutes", type=float, nargs="?", default=10, help="default: 10")
    sys.exit(main(options.parse_args().minutes))
