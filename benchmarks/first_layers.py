"""What a model in part costs: bytes read, time and memory of three ways to measure a checkpoint.

    python benchmarks/first_layers.py             1.7 GB in bfloat16, about 3 minutes
    python benchmarks/first_layers.py --small     107 MB, to see that it works

A random Llama-type checkpoint of 16 layers in several weight files is written into a temporary
folder, which is removed at the end. Each way runs in a process of its own, on files that Linux has
been asked to drop from its cache: the whole model as from_pretrained loads it, its first 4 layers,
and all layers one at a time. All of them compute every attention through a recorder. What they saw
(hidden states, queries, keys, probabilities, attention outputs) is then compared bit for bit, on a
shorter text.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.utils import logging

from report.measurements import decomposition
from report.models.attention.kernel import streaming_attention
from report.models.attention.recorder import Recorder
from report.models.attention.running import Run
from report.models.load.load import LoadedModel
from report.models.partial.model import open_partial, skeleton
from report.models.partial.reader import open_checkpoint

WAYS = {"full": (16, False), "first 4 layers": (4, False), "layer by layer": (16, True)}
"""Layers measured, and whether one at a time."""
FILES = 4
TEXTS, LENGTH, COMPARED = 4, 256, 48
"""Texts that are timed, their tokens, and the tokens of the text that is compared."""


def config(small):
    """Llama's shape: 0.85 billion parameters, or 53 million."""
    width = 512 if small else 2048
    return LlamaConfig(
        vocab_size=8000 if small else 32000,
        hidden_size=width,
        intermediate_size=width * 11 // 4,
        num_hidden_layers=16,
        num_attention_heads=width // 64,
        num_key_value_heads=width // 256,
        max_position_embeddings=1024,
        dtype="bfloat16",
        architectures=["LlamaForCausalLM"],
    )


def write_checkpoint(folder, small):
    """Write random weights in bfloat16, tensor by tensor, in the order and layout of the hub."""
    generator = torch.Generator().manual_seed(20261120)
    settings = config(small)
    settings.save_pretrained(folder)
    shapes = {
        name: one.shape for name, one in skeleton(LlamaForCausalLM, settings).state_dict().items()
    }
    total = sum(shape.numel() * 2 for shape in shapes.values())
    files, tensors, size = {}, {}, 0

    def finish():
        file = f"model-{len(set(files.values())) + 1:05}-of-{FILES:05}.safetensors"
        save_file(tensors, folder / file, metadata={"format": "pt"})
        files.update(dict.fromkeys(tensors, file))
        tensors.clear()

    for name, shape in shapes.items():
        spread = 1 if "embed" in name else 1.5 / shape[-1] ** 0.5
        random = torch.randn(shape, generator=generator)
        tensors[name] = (1 + random / 10 if len(shape) == 1 else random * spread).bfloat16()
        size += shape.numel() * 2
        if size > total * (len(set(files.values())) + 1) / FILES:
            finish()
    finish()
    index = {"metadata": {"total_size": total}, "weight_map": files}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return total


def loaded(folder, way):
    """The model of a folder in one of the `WAYS`."""
    layers, one_at_a_time = WAYS[way]
    facts = {"name": way, "layers_measured": layers}
    if way == "full":
        model = LlamaForCausalLM.from_pretrained(
            folder, dtype=torch.float32, use_safetensors=True, attn_implementation="sdpa"
        )
        return LoadedModel(model.eval(), None, facts, folder)
    opened = open_partial(
        open_checkpoint(folder),
        LlamaForCausalLM,
        LlamaConfig.from_pretrained(folder),
        layers=layers,
        layer_by_layer=one_at_a_time,
        attn_implementation="sdpa",
    )
    return LoadedModel(opened.model, None, facts, folder, opened)


class Attending(Recorder):
    """A recorder that computes every attention and keeps nothing."""

    def attention(self, layer, factors, value):
        """See `Recorder`."""
        return streaming_attention(factors, value, lambda *_: None, layer)


class Keeping(Attending):
    """A recorder that keeps copies of everything it is told, by numbers."""

    def __init__(self):
        self.kept = {}

    def attention(self, layer, factors, value):
        """See `Recorder`."""
        self.keep(factors.query, factors.key, decomposition.probability(factors))
        return super().attention(layer, factors, value)

    def updates(self, _, *tensors):
        """See `Recorder`."""
        self.keep(*tensors)

    def keep(self, *tensors):
        """Layers come one after the other, so the same number is the same thing in every way."""
        for tensor in tensors:
            copy = tensor.clone(memory_format=torch.contiguous_format)
            self.kept[str(len(self.kept))] = copy


def texts(small):
    """Token ids of the texts that are timed."""
    generator = torch.Generator().manual_seed(3)
    size = (TEXTS, LENGTH)
    return torch.randint(0, config(small).vocab_size, size, generator=generator).tolist()


def measure(folder, way, small, out):
    """Measure the texts in one of the ways; the numbers go to standard output as JSON."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    with watched_memory() as memory:
        start, read = time.perf_counter(), _bytes_from_disk()
        model = loaded(folder, way)
        opened = time.perf_counter()
        recorder = Attending()
        model.run([Run(text, recorder) for text in texts(small)])
        end = time.perf_counter()
    counted = model.partial.checkpoint.bytes_read if model.partial else None
    keeping = Keeping()
    model.run([Run(texts(small)[0][:COMPARED], keeping)])
    save_file(keeping.kept, out)
    numbers = {
        "tensor_bytes": counted,
        "disk_bytes": _bytes_from_disk() - read,
        "load_seconds": opened - start,
        "seconds": end - start,
        "memory": memory["peak"] - memory["base"],
    }
    print(json.dumps(numbers))


@contextmanager
def watched_memory():
    """Within the context, the largest anonymous memory of this process is looked for."""
    found = {"base": _anonymous(), "peak": 0}
    done = threading.Event()

    def watch():
        while not done.wait(0.005):
            found["peak"] = max(found["peak"], _anonymous())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def _anonymous():
    """Anonymous memory of this process in bytes: what it allocated, without files it looks at."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no RssAnon; this benchmark needs Linux")


def _bytes_from_disk():
    """Bytes that this process made Linux fetch from disk."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["read_bytes"])


def drop_from_cache(folder):
    """Ask Linux to forget the contents of the weight files."""
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measured(folder, way, small, out):
    """The numbers of one way, from a process of its own."""
    drop_from_cache(folder)
    command = [sys.executable, __file__, "--folder", folder, "--way", way, "--out", out]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    answer = subprocess.run(  # noqa: S603  our own file
        command + ["--small"] * small,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    return json.loads(answer.stdout.splitlines()[-1])


def differing(reference, path):
    """How many tensors two ways have in common, and how many of them differ in any bit."""
    pairs = [(tensor, reference[name]) for name, tensor in load_file(path).items()]
    return len(pairs), sum(not torch.equal(one, other) for one, other in pairs)


def table(total, found, differences):
    """The results as a Markdown table, with the goals."""
    full = found["full"]
    lines = [
        f"{TEXTS} texts of {LENGTH} tokens, {torch.get_num_threads()} threads, torch "
        f"{torch.__version__}, transformers {transformers.__version__}",
        "",
        "| | tensors read | time (loading) | memory above the libraries | equal bit for bit |",
        "| --- | --- | --- | --- | --- |",
    ]
    for way, numbers in found.items():
        read = numbers["tensor_bytes"] or total
        seconds, memory = numbers["seconds"] / full["seconds"], numbers["memory"] / full["memory"]
        compared, different = differences[way]
        lines.append(
            f"| {way} | {read / 1e6:.0f} MB = {read / total:.1%} "
            f"| {numbers['seconds']:.1f} s ({numbers['load_seconds']:.1f} s), {seconds:.2f} x "
            f"| {numbers['memory'] / 1e6:.0f} MB, {memory:.2f} x "
            f"| {compared - different} of {compared} tensors |"
        )
    lines.append("| goal: layer by layer | | <= 1.2 x | <= 0.3 x | all |")
    return "\n".join(lines)


def main():
    """Write the checkpoint, measure it in every way, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="107 MB instead of 1.7 GB")
    parser.add_argument(
        "--repeat", type=int, default=2, help="runs of each way; the fastest counts"
    )
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        measure(options.folder, options.way, options.small, options.out)
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        total = write_checkpoint(folder, options.small)
        found, differences = {}, {}
        for _ in range(options.repeat):
            for way in WAYS:
                out = folder / f"{way}.kept"
                numbers = measured(folder, way, options.small, out)
                print(way, numbers, file=sys.stderr)
                if way not in found or numbers["seconds"] < found[way]["seconds"]:
                    found[way] = numbers
                reference = load_file(folder / "full.kept")
                differences[way] = differing(reference, out)
    print(table(total, found, differences))


if __name__ == "__main__":
    main()
