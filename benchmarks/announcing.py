"""Whether the time and the memory of a run are what was announced before it.

    python benchmarks/announcing.py                   all runs, about 20 minutes on 2 cores
    python benchmarks/announcing.py table regions     some of them
    python benchmarks/announcing.py --times pair      and every sentence and part, with its time

Each run measures and writes an article in a publication of its own in a temporary folder, in a
process of its own. Its time is from the first sentence that says how long it will take to the end
of writing; its memory, the peak above the imported libraries. The load of the machine before and
after says whether anything else ran: then run it again. Prints Markdown.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

GOAL = 1.5
"""By which factor the first announcement of a time may be off."""

SMOLLM, FALCON = "model: smollm2-135m", "model: falcon-8x8"
WORDS = (
    "The lamp on the hill was lit. Martha saw the lamp from the train, and the train went on past "
    "the hill until she could no longer see the lamp. Nobody knew who had lit it."
).split()
GIVES = (
    '{text: "When Mary and John went to the store, John gave a drink to", target: " Mary", '
    'other: " John"}'
)
PAIR = (
    '{clean: "When Mary and John went to the store, John gave a drink to", '
    'corrupted: "When Mary and John went to the store, Mary gave a drink to", '
    'answer: " Mary", other: " John"}'
)


RUNS = {
    "long passage, falcon, without heads": (FALCON, "passage: 340.md", "predict: true"),
    "1,000 short texts, falcon": (FALCON, "passage: 40.md", "corpus: {file: many.txt}"),
    "long passage, few texts": (SMOLLM, "passage: 420.md", "corpus: {file: few.txt}"),
    "passage, 48 texts": (SMOLLM, "passage: the-lamp-on-the-hill"),
    "sweep, 8 layers": (SMOLLM, "sweep: true", "layers: 8"),
    "conditions": (
        SMOLLM,
        "prompts: arithmetic",
        "conditions: [{name: none}, {name: filler, before: question, times: 60}]",
    ),
    "atlas of 24 texts, falcon": (
        FALCON,
        "atlas: true",
        "corpus: {file: some.txt}",
        "effects: 4",
    ),
    "pair, falcon": (FALCON, f"pair: {PAIR}"),
    "table": (SMOLLM, "table: table.csv", "rows: 30"),
    "prediction": (SMOLLM, "kind: prediction", f"prompts: [{GIVES}]"),
    "regions, falcon": (FALCON, "regions: {by: sentences}", "passage: the-lamp-on-the-hill"),
    "passage, 48 texts, without heads": (
        SMOLLM,
        "passage: the-lamp-on-the-hill",
        "predict: true",
    ),
}


def write_publication(folder, front_matter):
    """A publication with one article, and all files that articles name."""
    sys.path.append(str(Path(__file__).parents[1]))
    from tests.small import write_publication

    root = write_publication(folder)
    for words in (40, 340, 420):
        text = " ".join(islice(cycle(WORDS), words))
        (root / f"{words}.md").write_text(f"{text}\n")
    for name, number, words in (("few", 4, 60), ("some", 24, 60), ("many", 1000, 8)):
        texts = (" ".join(islice(cycle(WORDS), n, n + words + n % words)) for n in range(number))
        (root / f"{name}.txt").write_text("\n".join(texts))
    rows = "\n".join(f"City {n},{717710 + 7 * n},country {n}" for n in range(30))
    (root / "table.csv").write_text(f"city,people,country\n{rows}\n")
    article = root / "templates" / "articles" / "small.md.j2"
    lines = "\n".join(front_matter)
    article.write_text(article.read_text().replace("cover:", f"{lines}\ncover:"))
    return root, article


def peak():
    """Bytes of memory that this process has taken at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(name):
    """One run in this process: its sentences and steps with their times, and its memory."""
    with tempfile.TemporaryDirectory() as folder:
        root, article = write_publication(Path(folder), RUNS[name])
        from report.measuring import forecast, run
        from report.models.load.load import load_model  # noqa: F401
        from report.models.measure.passage import measure_corpus  # noqa: F401
        from report.project import project
        from report.study.study import read_study

        forecast.LITTLE = 0  # what needs little memory says how much, too
        libraries, began = peak(), time.perf_counter()
        told, steps = [], {}

        def now():
            return round(time.perf_counter() - began, 2)

        def step(what, done, total):
            steps.setdefault(what, []).append((now(), done, total))

        study = read_study(article)
        run.datasets(study, project(root), step, announce=lambda said: told.append((now(), said)))
        return {"told": told, "steps": steps, "end": now(), "memory": peak() - libraries}


def seconds(text):
    """A time as `report.text.lasting` says it."""
    units = {"s": 1, "min": 60, "h": 3600}
    return sum(float(n) * units[unit] for n, unit in re.findall(r"([\d.]+) (s|min|h)\b", text))


def announced(told):
    """Seconds into the run and seconds announced, of each sentence that announces a time."""
    found = [
        (at, re.search(r"about ([^,;]*?(?:s|min))\b(?= to go|, writing)", said))
        for at, said in told
    ]
    return [(at, seconds(match[1])) for at, match in found if match]


def sized(told):
    """Megabytes announced, or None."""
    found = [re.search(r"needs about ([\d.]+) ([kMG])B of memory", said) for _, said in told]
    return next((float(m[1]) * {"k": 0.001, "M": 1, "G": 1000}[m[2]] for m in found if m), None)


def row(name, found, loads):
    """A row of the table."""
    first, *more = announced(found["told"]) or [(0, 0)]
    real = found["end"] - first[0]
    off = max(first[1] / real, real / first[1]) if first[1] else None
    again = ", ".join(f"{value:.0f} s at {at - first[0]:.0f} s" for at, value in more)
    memory = sized(found["told"])
    return [
        name,
        f"{first[0]:.1f} s",
        f"{first[1]:.0f} s",
        f"{real:.0f} s",
        f"{off:.2f}{'' if off <= GOAL else ' (!)'}" if off else "-",
        again or "-",
        f"{memory:.0f} MB" if memory else "little",
        f"{found['memory'] / 1e6:.0f} MB",
        " to ".join(f"{load:.1f}" for load in loads),
    ]


HEAD = (
    "run",
    "announced after",
    "announced",
    "real",
    "factor",
    "renewed",
    "memory announced",
    "peak above the libraries",
    "load",
)


def main():
    """Run some, each in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", choices=[[], *RUNS], help="default: all")
    parser.add_argument("--times", action="store_true", help="print every sentence with its time")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.runs[0])))
        return
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}", flush=True)
    for name in chosen.runs or RUNS:
        command = [sys.executable, __file__, name, "--one"]
        before = os.getloadavg()[0]
        done = subprocess.run(  # noqa: S603, this program
            command, capture_output=True, text=True
        )
        if done.returncode:
            print(f"| {name} | {done.stderr.strip().splitlines()[-1]} |", flush=True)
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        print(f"| {' | '.join(row(name, found, (before, os.getloadavg()[0])))} |", flush=True)
        if chosen.times:
            for at, said in found["told"]:
                print(f"    {at:7.1f}  {said}")
            for what, steps in found["steps"].items():
                times = [(at, done) for at, done, _ in steps]
                some = times[:: max(1, len(times) // 16)]
                print(f"    {what}: {some}, {times[-1]} of {steps[-1][2]}")


if __name__ == "__main__":
    main()
