"""How measuring grows with workers on a Ray cluster, and what a large corpus would cost.

    python benchmarks/scale.py            1, 2 and 4 workers on this machine, about 4 minutes
    python benchmarks/scale.py --small    less of it, to see that it works

Every worker has one thread and a random Llama-type model of 29 million parameters, and reads texts
of the same length, which are words of the embedded model's vocabulary. What is timed begins when
every worker has measured something and ends when a share of the texts is left, so neither starting
nor the last, uneven moments count. Then the parts that one driver does for all workers are timed
for a model of the shape of Llama 3.1 8B, and from them follows, on paper, what 100,000 texts would
cost on 8 GPUs and where more of them would not help.
"""

import argparse
import os
import pickle
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from report.measurements.head_statistics import HeadStatistics
from report.measurements.tally import Tally
from report.measures import shipped
from report.measuring import plan as planning
from report.measuring import run as measuring
from report.measuring.cluster.driver import QUIET, Driver
from report.measuring.kept import Kept
from report.measuring.pieces import Piece, Result
from report.models.find import names
from report.models.load.load import load_model
from report.project import Project
from report.study.front_matter import FrontMatter
from report.study.study import Study

WORKERS = (1, 2, 4)
LENGTH, PER_WORKER, BATCH = 256, 96, 4
"""Tokens of a text, texts for each worker, texts a batch."""
LEFT = 0.1
"""Of the texts, the part at the end that is not timed."""

LARGE = (32, 32)
"""Layers and heads of Llama 3.1 8B."""
PARAMETERS, TEXTS, GPUS = 8.0e9, 100_000, 8
TOKENS = 512
"""Of a text, in the estimate."""
RATES = {"float32 (the default)": 67e12, "bfloat16": 989e12}
"""What an H100 (SXM) is said to compute a second, dense."""
STORED = 2
"""Bytes of a weight in the checkpoint."""
USED = 0.4
"""The part of that which a forward pass over one text is taken to reach."""
READING = 1e9
"""Bytes of a checkpoint that a worker is taken to read a second, and once more for its sum."""


def main():
    """Measure, and print tables in Markdown."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--small", action="store_true", help="few texts, 1 and 2 workers")
    options = options.parse_args()
    os.environ |= QUIET
    per_worker = 12 if options.small else PER_WORKER
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        model = write_model(Path(folder) / "model")
        runs = {
            number: run(Path(folder), model, number, per_worker)
            for number in (WORKERS[:2] if options.small else WORKERS)
        }
    print(efficiency_table(runs), end="\n\n")
    parts = driver_parts()
    print(parts_table(parts), end="\n\n")
    for name, rate in RATES.items():
        print(estimate(name, rate, parts), end="\n\n")


def write_model(folder, width=512, layers=6):
    """A random Llama with the tokenizer of an embedded model, in a folder."""
    source = names.find("falcon-8x8")
    tokenizer = load_model(source).tokenizer
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=width * 11 // 4,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@dataclass(frozen=True)
class Run:
    """What one number of workers did."""

    texts: int
    """That were timed."""
    seconds: float
    """That they took."""
    shares: list
    """`Share` of each worker."""
    merging: float
    """Seconds of the driver for all texts."""
    whole: float
    """Seconds from the first worker asked for to the last result."""


def run(folder, model, workers, per_worker):
    """Measure a corpus on so many workers: `Run`."""
    import ray

    file = folder / f"texts-{workers}.txt"
    file.write_text("\n".join(texts(model, 2 * BATCH + workers * per_worker)))
    study = study_of(model, file, workers)
    inputs = measuring.read(study)
    [plan] = planning.plans(study, Project(folder), inputs, force=True)
    task = measuring.task_of(plan, study, inputs, Project(folder))
    ray.init(
        address="local",
        num_cpus=workers,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="critical",
    )
    times = []
    try:
        driver = Driver(ray, {0: task}, None, lambda _: None)

        def note(_, done, total):
            ready = sum(share.texts > 0 for share in driver.summary.shares) == workers
            if ready and done <= (1 - LEFT) * total:
                times.append((time.perf_counter(), done))

        driver.progress = note
        list(driver.run())
    finally:
        ray.shutdown()
        task.kept.remove()
    (began, first), (ended, last) = times[0], times[-1]
    summary = driver.summary
    return Run(last - first, ended - began, summary.shares, summary.merging, summary.seconds)


def texts(model, number):
    """Texts of `LENGTH` tokens, as near as words of a vocabulary come to it."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    words = "the old lamp stood by window and nobody said what it was for in house".split()
    rng = np.random.default_rng(7)
    found = []
    for _ in range(number):
        text = " ".join(rng.choice(words, LENGTH))
        ids = tokenizer(text)["input_ids"][: LENGTH - 1]
        found.append(tokenizer.decode(ids, skip_special_tokens=True))
    return found


def study_of(model, file, workers):
    """An article about a corpus, as far as measuring needs one."""
    wanted = FrontMatter(
        title="Scale",
        date="2026-01-01",
        author="-",
        summary="-",
        model=str(model),
        passage={"text": "The lamp stood by the window."},
        corpus=str(file),
        cluster={"workers": workers, "texts": BATCH},
    )
    return Study("scale", wanted, Path("scale"), "")


def efficiency_table(runs):
    """Markdown: what each number of workers did, against one alone."""
    lines = [
        "| workers | texts/s | against 1 | efficiency | forward | waiting | driver, a batch |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    alone = runs[1].texts / runs[1].seconds
    for workers, found in runs.items():
        speed = found.texts / found.seconds
        forward = sum(share.forward for share in found.shares)
        waiting = sum(share.waiting for share in found.shares)
        batches = sum(share.texts for share in found.shares) / BATCH
        lines.append(
            f"| {workers} | {speed:.2f} | {speed / alone:.2f} x | {speed / alone / workers:.0%} "
            f"| {forward:.1f} s | {waiting:.1f} s | {1000 * found.merging / batches:.1f} ms |"
        )
    return "\n".join(lines)


@dataclass(frozen=True)
class Parts:
    """What one driver does, and what travels, for a model of the shape `LARGE`."""

    sent: int
    """Bytes of a text on its way to a worker."""
    back: int
    """Bytes of the sums of a batch on their way back."""
    kept: int
    """Bytes of a batch on disk."""
    driver: float
    """Seconds in which a batch is taken up, added and written."""
    reading: float
    """Seconds in which a text is read and its sum computed."""


def driver_parts(repeats=20, size=64):
    """Measure `Parts`, the fastest of some repeats."""
    rng = np.random.default_rng(1)
    tally = Tally(HeadStatistics.empty(*LARGE, shipped()), tokens=size * TOKENS)
    for sums in tally.statistics.sums.values():
        sums += rng.integers(0, size * TOKENS * 2**32, sums.shape)
    words = "one word after the other makes a text".split()
    some = [" ".join(rng.choice(words, 4 * TOKENS // 5)) for _ in range(size)]
    texts = tuple(enumerate(some))
    result = pickle.dumps(Result(None, tally))
    found, total = [], tally
    with tempfile.TemporaryDirectory() as folder:
        for number in range(repeats):
            began = time.perf_counter()
            other = pickle.loads(result).tally  # noqa: S301 (it was made here)
            total = total.merge(other)
            kept = Kept(Path(folder), {"number": number})
            kept.put(texts, other.as_json())
            found.append(time.perf_counter() - began)
        on_disk = next(kept.folder.rglob("*.json")).stat().st_size
        file = Path(folder) / "texts.txt"
        file.write_text("\n".join(some * 30))
        from report.inputs.corpora import specified
        from report.inputs.specs import CorpusSpec

        began = time.perf_counter()
        len(specified(CorpusSpec(file=str(file))))
        reading = (time.perf_counter() - began) / (30 * size)
    sent = len(pickle.dumps(Piece(0, texts))) // size
    return Parts(sent, len(result), on_disk, min(found), reading)


def parts_table(parts):
    """Markdown: what the driver does and what travels."""
    rows = {
        f"a text of {TOKENS} tokens, to a worker": f"{parts.sent / 1e3:.1f} KB",
        "sums of a batch, back": f"{parts.back / 1e3:.0f} KB",
        "sums of a batch, kept on disk": f"{parts.kept / 1e3:.0f} KB",
        "driver: a batch taken up, added, checked and written": f"{1000 * parts.driver:.0f} ms",
        "driver: a text read, and its sum": f"{1e6 * parts.reading:.0f} µs",
    }
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(["| for 32 layers of 32 heads, 64 texts a batch | |", "| --- | --- |", *lines])


def estimate(name, rate, parts, size=64):
    """In words: what `TEXTS` texts cost on `GPUS` GPUs, and where more would not help."""
    seconds = 2 * PARAMETERS * TOKENS / (USED * rate)
    weights = PARAMETERS * STORED
    load = 2 * weights / READING
    forward = TEXTS * seconds / GPUS
    batches = -(-TEXTS // size)
    driver = batches * parts.driver + 2 * TEXTS * parts.reading
    # the driver takes up one batch after the other; workers, each on its own
    most = int(size * seconds / (parts.driver + 2 * size * parts.reading))
    useful = int(TEXTS * seconds / load)
    return (
        f"**{name}**: a forward pass is 2 x {PARAMETERS / 1e9:.0f}e9 x {TOKENS} = "
        f"{2 * PARAMETERS * TOKENS:.1e} operations, {1000 * seconds:.0f} ms at {USED:.0%} of "
        f"{rate / 1e12:.0f} Tflop/s. {TEXTS:,} texts: {TEXTS * seconds / 3600:.1f} GPU hours, "
        f"{minutes(forward)} on {GPUS} GPUs, after {minutes(load)} to read "
        f"{weights / 1e9:.0f} GB of weights twice. The driver works for {minutes(driver)} of it, "
        f"{parts.sent * TEXTS / 1e6:,.0f} MB go out, {parts.back * batches / 1e6:,.0f} MB come "
        f"back, {parts.kept * batches / 1e6:,.0f} MB lie on disk until the end. One driver keeps "
        f"up with about {most:,} GPUs; beyond {useful:,} GPUs loading takes longer than measuring."
    )


def minutes(seconds):
    """A time as a reader says it."""
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.0f} s"


if __name__ == "__main__":
    main()
