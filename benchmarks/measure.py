"""What measuring costs: time and memory beside a plain forward pass, for four shapes of model.

    python benchmarks/measure.py            all of it, about 25 minutes on 2 cores
    python benchmarks/measure.py --quick    short texts only, 3 minutes

Each shape is a random model in float32. Every way to run a text of T tokens is timed in turns with
the plain forward pass of the same model, so ratios hold where the machine is not quiet: the fastest
run against the fastest plain one, and in brackets the median of the ratios of each round. Memory is
the peak above the loaded model, each way in a process of its own. All ways run every layer, to its
end, without the language-model head. Prints Markdown.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import torch
import transformers
from ways import (
    EAGER,
    FLOOR,
    SHAPES,
    TRANSFORMER_LENS,
    VOCABULARY,
    WAYS,
    available,
    needed,
    random_model,
    some_tokens,
)

from report.models.attention.structure import structure
from report.models.measure.passage import measure_corpus

LENGTHS = (170, 512, 2048)
SECONDS = 20
"""Rounds go on for this long, for at least 3 and at most 15 of them."""

AT_ONCE = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
"""Freed memory goes back to Linux at once: the peak is of what is in use, and repeatable."""
SLOW = (EAGER, TRANSFORMER_LENS)
GOALS = {"everything": 1.15, "everything but updates": 1.06}
NARROW_GOALS = {"everything": 1.8}


def runners(shape):
    """Way -> function of token ids. What changes a model for good gets one of its own."""
    shared = random_model(shape)
    found = {}
    for way, make in WAYS.items():
        if available(way):
            found[way] = make(random_model(shape) if way == TRANSFORMER_LENS else shared)
    return found


def fits(way, shape, length):
    """Whether what a way keeps of a text leaves a third of the memory that is free."""
    free = next(
        int(line.split()[1]) * 1024
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemAvailable")
    )
    return needed(way, shape, length) < free * 2 / 3


def times(found, length, seconds, clock):
    """Way -> seconds of every round, the plain pass first in each."""
    token_ids = some_tokens(length)
    measured_times = {way: [] for way in found}
    end = time.monotonic() + seconds
    while (rounds := len(measured_times[FLOOR])) < 15:
        if rounds >= 3 and time.monotonic() > end:
            break
        ways = list(found)[1:]
        for way in [FLOOR, *(ways if rounds % 2 else reversed(ways))]:
            if way in SLOW and rounds >= (2 if length < LENGTHS[-1] else 1):
                continue
            start = clock()
            result = found[way](token_ids)
            measured_times[way].append(clock() - start)
            del result
    return measured_times


def ratio(measured_times, way):
    """Fastest over fastest plain run, and the median ratio of the rounds, as text."""
    mine, floor = measured_times[way], measured_times[FLOOR]
    if not mine:
        return "too large"
    rounds = [one / other for one, other in zip(mine, floor, strict=False)]
    return f"{min(mine) / min(floor):.2f} ({statistics.median(rounds):.2f})"


def peaks(shape, lengths):
    """Way -> {T: MB above the loaded model}, each way in a process of its own."""
    return {
        way: child("--peak", shape, way, *[n for n in lengths if fits(way, shape, n)])
        for way in filter(available, WAYS)
    }


def child(*arguments):
    """What a process of its own prints as JSON."""
    command = [sys.executable, __file__, "--threads", torch.get_num_threads(), *arguments]
    answer = subprocess.run(  # noqa: S603  our own file
        list(map(str, command)),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | AT_ONCE,
    )
    return json.loads(answer.stdout.splitlines()[-1])


def print_peaks(shape, way, lengths):
    """Run a way on ever longer texts and print the peak memory of each as JSON."""
    run = WAYS[way](random_model(shape))
    run(some_tokens(16))
    loaded = resident("VmRSS")
    found = {}
    for length in map(int, lengths):
        forget_peak()
        result = run(some_tokens(length))
        found[length] = (resident("VmHWM") - loaded) / 1e6
        del result
    print(json.dumps(found))


def print_corpus_peaks():
    """Print the peak memory of statistics over ever more short texts as JSON: {texts: MB}."""
    model = random_model("narrow Falcon, hidden 512, 24 layers")
    parts = structure(model)
    loaded = SimpleNamespace(
        model=model,
        structure=parts,
        measured_layers=len(parts),
        partial=None,
        checked={},
        identity={"context": None, "vocabulary": VOCABULARY, "alibi_factor": 1},
    )
    lengths = torch.randint(20, 60, (200,), generator=torch.Generator().manual_seed(4)).tolist()
    texts = [some_tokens(length, seed) for seed, length in enumerate([60, *lengths[1:]])]
    measure_corpus(loaded, texts[:2])
    base, found = resident("VmRSS"), {}
    for number in (20, 60, 200):
        forget_peak()
        measure_corpus(loaded, texts[:number])
        found[number] = (resident("VmHWM") - base) / 1e6
    print(json.dumps(found))


def resident(name):
    """Memory of this process in bytes: "VmRSS" now, "VmHWM" at most so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}; this benchmark needs Linux")


def forget_peak():
    """Let "VmHWM" begin again at what is used now."""
    Path("/proc/self/clear_refs").write_text("5")


def said_megabytes(memory, way, length, shape):
    """The cell of a way's peak memory: measured, or what it would keep at least."""
    if not memory:
        return ""
    if str(length) not in memory[way]:
        return f"> {needed(way, shape, length) / 1e6:.0f}"
    return f"{memory[way][str(length)]:.0f}"


def print_shape(shape, options, clock):
    """Print the table of one shape of model, a column each for time and memory at each length."""
    lengths = options.lengths
    found = runners(shape)
    start = clock()
    found["everything"](some_tokens(16))
    once = clock() - start
    for run in found.values():
        run(some_tokens(32))
    timed = {}
    for length in lengths:
        here = {way: run for way, run in found.items() if fits(way, shape, length)}
        timed[length] = dict.fromkeys(found, ()) | times(here, length, options.seconds, clock)
    del here
    del found
    memory = {} if options.no_memory else peaks(shape, lengths)
    print(f"\n### {shape}\n")
    heads = [f"T = {length}" for length in lengths] + [f"MB, T = {length}" for length in lengths]
    print("| | " + " | ".join(heads) + " |\n|" + " --- |" * (len(heads) + 1))
    for way in WAYS:
        if not available(way):
            print(f"| {way} | not installed |" + " |" * (len(heads) - 1))
            continue
        cells = [
            f"{min(timed[length][way]):.2f} s" if way == FLOOR else ratio(timed[length], way)
            for length in lengths
        ]
        cells += [said_megabytes(memory, way, length, shape) for length in lengths]
        print(f"| {way} | " + " | ".join(cells) + " |")
    goals = NARROW_GOALS if "narrow" in shape else GOALS
    said = ", ".join(f"{way} <= {goal}" for way, goal in goals.items())
    print(f"\nGoals: {said}; memory of everything <= plain from T = 512 on.")
    print(f"Once a model, before its first text: {once:.2f} s.", flush=True)


def main():
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without T = 2048, fewer rounds")
    parser.add_argument("--shape", action="append", help="part of a shape's name; all by default")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of rounds, per length")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu counts this process only: for a machine with other work, with --threads 1",
    )
    parser.add_argument("--peak", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--corpus", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(options.threads)
    if options.peak:
        shape, way, *lengths = options.peak
        print_peaks(shape, way, lengths)
        return
    if options.corpus:
        print_corpus_peaks()
        return
    if options.quick:
        options.lengths, options.seconds = LENGTHS[:2], SECONDS / 2
    shapes = [
        shape
        for shape in SHAPES
        if not options.shape or any(part in shape for part in options.shape)
    ]
    if not shapes:
        said = " ".join(options.shape)
        parser.error(f"--shape {said}: give a part of one of: {'; '.join(SHAPES)}")
    clock = time.perf_counter if options.clock == "wall" else time.process_time
    print(
        f"{options.threads} threads, {options.clock} time; Python {platform.python_version()}, "
        f"torch {torch.__version__}, transformers {transformers.__version__}"
    )
    for shape in shapes:
        print_shape(shape, options, clock)
    if not options.no_memory:
        print("\n### Statistics over a corpus, narrow Falcon\n\n| texts | MB |\n| --- | --- |")
        for number, memory in child("--corpus").items():
            print(f"| {number} | {memory:.1f} |")


if __name__ == "__main__":
    main()
