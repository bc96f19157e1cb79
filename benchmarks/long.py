"""What long passages cost: bytes of heads, seconds of measuring and writing, memory.

    python benchmarks/long.py TEXT                      SmolLM2-135M, 182 to 2,048 tokens
    python benchmarks/long.py TEXT --lengths 512 4096 --layers 4

TEXT is a file of text, of which each passage is the first so many tokens. Every head is written as
`make site` writes it. Kilobytes are of files after gzip -6, which is what a server sends. A step of
a slider within a group of heads fetches the file of a head; a step to another group also fetches
the keys of that group. Seconds are of processors, of all
processes together: other programs make them little longer. The model computes with one thread,
which waits for no other. Prints Markdown.
"""

import argparse
import gzip
import math
import resource
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers

from report.datasets.write.attention import write_attention
from report.datasets.write.folder import Folder
from report.inputs.passages import corpus
from report.models.load.load import load_model
from report.models.measure.passage import measure_corpus, measure_passage
from report.models.text.tokens import encode_texts

LENGTHS = (182, 512, 1024, 2048)
CHARACTERS = 5
"""Of the text for each token that is wanted: more than a token has, and not all of a book."""

COLUMNS = {
    "tokens": "{}",
    "measuring, s": "{:.1f}",
    "with 48 texts, s": "{:.1f}",
    "writing, s": "{:.1f}",
    "writing / measuring": "{:.2f}",
    "step within a group, KB": "{:.1f}",
    "to another group, KB": "{:.1f}",
    "all heads, MB": "{:.1f}",
    "memory of this process, MB": "{:.0f}",
    "of the largest that writes, MB": "{:.0f}",
}


def main() -> None:
    """Print the table, and how fast its columns grow."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("text", type=Path)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--layers", type=int, help="the first ones only; default: all")
    wanted = parser.parse_args()
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    loaded = load_model(wanted.model, device="cpu", layers=wanted.layers)
    text = wanted.text.read_text("utf-8")
    # not `encode`, which refuses a text that is longer than the model takes
    ids = loaded.tokenizer(text[: CHARACTERS * max(wanted.lengths)])["input_ids"]
    if len(ids) < max(wanted.lengths):
        parser.error(f"the text has {len(ids)} tokens; give a longer one")
    texts = list(encode_texts(loaded, [each.text for each in corpus()]).token_ids.values())
    measure_passage(loaded, ids[:32])  # what is found out once a model
    start = spent()
    measure_corpus(loaded, texts)
    of_texts = spent() - start
    print("| " + " | ".join(COLUMNS) + " |\n|" + " --- |" * len(COLUMNS), flush=True)
    rows = []
    for length in sorted(wanted.lengths):
        rows.append(row(loaded, ids[:length], of_texts))
        cells = [form.format(rows[-1][name]) for name, form in COLUMNS.items()]
        print("| " + " | ".join(cells) + " |", flush=True)
    if len(rows) > 1:
        print("\nGrowth, as an exponent of the number of tokens, between the last two lengths:")
        for name in list(COLUMNS)[1:]:
            print(f"- {name}: {exponent(name, *rows[-2:]):.2f}")


def row(loaded, ids, of_texts):
    """The numbers of one length, by the names of COLUMNS."""
    start = spent()
    measurement = measure_passage(loaded, ids)
    measured = spent()
    with tempfile.TemporaryDirectory() as folder:
        files = Folder(Path(folder))
        write_attention(files, measurement)
        written = spent()
        sizes = {name: compressed((Path(folder) / name).read_bytes()) for name in files.files}
    of_heads = [size for name, size in sizes.items() if name.startswith("attention/")]
    of_keys = [size for name, size in sizes.items() if name.startswith("keys/")] or [0]
    own, others = (resource.getrusage(who).ru_maxrss / 1000 for who in USERS)
    values = (
        len(ids),
        measured - start,
        measured - start + of_texts,
        written - measured,
        (written - measured) / (measured - start),
        np.mean(of_heads) / 1000,
        (np.mean(of_heads) + np.mean(of_keys)) / 1000,
        sum(sizes.values()) / 1e6,
        own,
        others,
    )
    return dict(zip(COLUMNS, values, strict=True))


def spent() -> float:
    """Seconds of processors so far, of this process and of those that it has ended."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, USERS))


USERS = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def compressed(content: bytes) -> int:
    """Bytes that a server sends."""
    return len(gzip.compress(content, 6))


def exponent(name: str, before: dict, after: dict) -> float:
    """By which power of the number of tokens a column grows."""
    if not before[name] > 0 < after[name]:
        return math.nan
    return math.log(after[name] / before[name]) / math.log(after["tokens"] / before["tokens"])


if __name__ == "__main__":
    main()
