"""The sites that pages.py reads: the first article, built on passages of three lengths and on a
model of 24 layers x 32 heads, each in a project of its own; and a server that counts."""

import functools
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from report.site.serve import COMPRESSED, Handler, Server, gzipped

ROOT = Path(__file__).parents[1]
ARTICLE = "attention-focus-plots"
FALCON = "falcon-8x8"
EMBEDDED = ROOT / "report" / "embedded"

PEAKED = 2.2
"""How much larger the queries and keys of the stand-in are than those of a random model, so that
its shards are about as large as those of the trained falcon-8x8: random heads look everywhere."""


@dataclass(frozen=True)
class Site:
    """A built site."""

    folder: Path
    tokens: int
    layers: int
    heads: int
    model: str = FALCON
    passage: Path | None = None
    all_layers: int = 0
    """Of the model, of which the first `layers` are in the site."""

    @property
    def shards(self):
        """The files of all heads."""
        return sorted(self.folder.glob(f"datasets/{ARTICLE}/*/attention/*/*.json"))

    def bytes(self):
        """Of all its files, as they lie on disk."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())


def text_of(length, tokenizer):
    """A text of exactly `length` tokens, the beginning-of-text token included: the passages of the
    corpus one after another, cut."""
    passages = sorted((ROOT / "report" / "inputs" / "shipped" / "corpus").glob("*.md"))
    text = "\n".join(path.read_text("utf-8").split("---\n")[-1].strip() for path in passages)
    ids = tokenizer.encode(text).ids
    for last in range(length, length + 20):
        cut = tokenizer.decode(ids[:last], skip_special_tokens=True).strip()
        if len(tokenizer.encode(cut).ids) == length:
            return cut
    raise AssertionError(f"no text of {length} tokens")


def tokenizer_of(model):
    """The tokenizer of a model, by name or folder."""
    from tokenizers import Tokenizer

    for folder in (EMBEDDED / model, Path(model)):
        if (folder / "tokenizer.json").is_file():
            return Tokenizer.from_file(str(folder / "tokenizer.json"))

    from report.models.load.load import load_model

    return load_model(model, layers=1, device="cpu").tokenizer.backend_tokenizer


def build(folder, length, model=FALCON, layers="all", predict=True):
    """Write the first article about `length` tokens as a project in `folder`: its `Site`.

    layers: as of the command, the first ones that are measured; predict: whether it has its last
    section, for which a pass is made without every head
    """
    _project(folder)
    if not predict:
        template = folder / "templates" / "articles" / f"{ARTICLE}.md.j2"
        text = template.read_text("utf-8")
        template.write_text(text.replace("\npredict: true", "\npredict: false"), "utf-8")
    passage = folder / f"passage-{length}.txt"
    passage.write_text(text_of(length, tokenizer_of(model)), "utf-8")
    _run(folder, ARTICLE, "--model", model, "--passage", passage, "--layers", layers)
    (manifest,) = (folder / "site" / "datasets" / ARTICLE).glob("*/manifest.json")
    shape = json.loads(manifest.read_text("utf-8"))["model"]
    measured, heads = shape["layers_measured"], shape["num_attention_heads"]
    whole = shape["num_hidden_layers"]
    return Site(folder / "site", length, measured, heads, model, passage, whole)


def build_frozen(folder, article):
    """Write an article of its frozen datasets as a project in `folder`: the folder of its site."""
    _project(folder, article)
    shutil.copytree(ROOT / "frozen" / article, folder / "frozen" / article)
    _run(folder, article)
    return folder / "site"


def _run(folder, article, *options):
    """Build the site of a project."""
    asked = map(str, ["--project", folder, "--study", article, *options])
    command = [sys.executable, "-m", "report", "site", *asked]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        sys.exit(f"the site could not be built:\n{done.stderr}")


def largest_error(site):
    """Of all probabilities that figures compute, how far the worst is from the measured one.

    The model is measured once more, and every visible cell of every head compared.
    """
    import numpy as np

    from report.kinds.passage.data import PassageData
    from report.models.load.load import load_model
    from report.models.measure.passage import measure_passage
    from report.models.text.tokens import tokenize

    loaded = load_model(site.model, layers=site.layers)
    ids = tokenize(loaded, site.passage.read_text("utf-8")).token_ids
    measured = measure_passage(loaded, ids)
    worst = 0.0
    (manifest,) = site.folder.glob(f"datasets/{ARTICLE}/*/manifest.json")
    data = PassageData(manifest.parent)
    for path in site.shards:
        layer, head = int(path.parent.name), int(path.stem)
        shard, exact = data.attention(layer, head), measured.probability(layer, head)
        worst = max(worst, float(np.abs(shard.probability - exact).max()))
    return worst


def _project(folder, article=ARTICLE):
    """What a fresh clone has of the publication, with one article alone."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    for part in ("templates", "site_src"):
        listed = subprocess.run(  # noqa: S603
            ["git", "-C", ROOT, "ls-files", part],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
        )
        for name in listed.stdout.split():
            shared = name.endswith(".bib")  # the works that articles cite
            if "templates/articles/" in name and article not in name and not shared:
                continue
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def stand_in(folder):
    """Write a random Falcon with ALiBi, 24 layers x 32 heads, and falcon-8x8's tokenizer."""
    import torch
    from transformers import FalconConfig, FalconForCausalLM

    folder.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(EMBEDDED / FALCON / name, folder)
    config = json.loads((EMBEDDED / FALCON / "config.json").read_text("utf-8"))
    shape = {"hidden_size": 512, "num_hidden_layers": 24, "num_attention_heads": 32}
    kept = ("vocab_size", "bos_token_id", "eos_token_id", "alibi", "bias", "multi_query")
    kept += ("parallel_attn", "new_decoder_architecture", "max_position_embeddings")
    torch.manual_seed(20261120)
    model = FalconForCausalLM(FalconConfig(**{n: config[n] for n in kept if n in config} | shape))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=parameter.shape[-1] ** -0.5)
            if "query_key_value" in name:
                parameter.mul_(PEAKED)
    model.save_pretrained(folder)
    return folder


class Counter:
    """What a server has sent: list of (time, path, bytes of headers and body)."""

    def __init__(self):
        self.sent = []

    def bytes(self, until=None):
        """kB (1000 bytes) sent so far, or until a time."""
        return sum(size for at, _, size in self.sent if until is None or at <= until) / 1000

    def requests(self, part=""):
        """How many requests so far had `part` in their path."""
        return sum(part in path for _, path, _ in self.sent)


HEADERS = 200
"""Bytes of the headers of an answer, about."""


@contextmanager
def served(folder):
    """A server of a folder, everything compressed beforehand; yields its address and `Counter`."""
    # or the first visit of a file would wait for its compression, which no host does then
    files = {
        path: gzipped(path.read_bytes()) for path in folder.rglob("*") if path.suffix in COMPRESSED
    }
    counter = Counter()

    class Counting(Handler):
        def do_GET(self):  # noqa: N802 (as http.server calls it)
            path = self.file()
            if path and path.is_file():
                size = len(files[path]) if path in files else path.stat().st_size
                counter.sent.append((time.time(), self.path, size + HEADERS))
            super().do_GET()

        def compressed(self, path):
            return files[path]

    with Server(("127.0.0.1", 0), functools.partial(Counting, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", counter
        finally:
            server.shutdown()
