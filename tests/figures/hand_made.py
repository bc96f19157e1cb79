"""A small study, made of numbers and not by a model, in the files that a real one has."""

from types import SimpleNamespace

import numpy as np

from report import store
from report.datasets import attention, head_statistics, passage, updates
from report.datasets.reader import StudyData

LENGTH, LAYERS, HEADS = 24, 3, 4
TEXTS = [" lamp", ",", " <b>bold</b>", "\n", " “", "Ann", " \u202e"]


def study(folder):
    """`StudyData` over datasets written into `folder`."""
    rng = np.random.default_rng(5)
    pieces = [{"id": 0, "text": "<|begin|>", "special": True}]
    pieces += [{"id": i, "text": TEXTS[i % len(TEXTS)]} for i in range(1, LENGTH)]
    about = {"name": "hand", "title": "By hand", "source": "", "licence": "CC0", "language": "en"}
    store.write(folder / "passage.json", passage.encode(SimpleNamespace(**about), pieces))
    for layer in range(LAYERS):
        largest = []
        for head in range(HEADS):
            shard = one_head(rng, layer, head)
            store.write(folder / "attention" / f"{layer}" / f"{head}.json", shard)
            largest.append(np.reshape(shard["largest_targets"], (LENGTH, 11))[:, 0])
        magnitude = rng.lognormal(-2, 0.5, (HEADS, LENGTH))
        alignment = rng.uniform(-1, 1, (HEADS, LENGTH))
        data = updates.encode(layer, magnitude, alignment, np.array(largest))
        store.write(folder / "updates" / f"{layer}.json", data)
    sources = {name: statistics(rng) for name in ("passage", "corpus")}
    store.write(folder / "head_statistics.json", head_statistics.encode(sources))
    store.write(folder / "manifest.json", manifest())
    return StudyData(folder)


def one_head(rng, layer, head):
    """An attention/1 dataset: random content and bias, ALiBi with a slope of its own."""
    seen = np.tril(np.ones((LENGTH, LENGTH), bool))
    content = rng.normal(0, 1.5, (LENGTH, LENGTH)) * seen
    content[1:, 0] += 3 * (head == 1)
    bias = rng.normal(0, 0.5, LENGTH)
    slope = 0.3 / (head + 1) * np.arange(LENGTH)
    score = np.where(seen, content + bias + slope - slope[:, None], -np.inf)
    probability = np.exp(score - score.max(1, keepdims=True))
    probability /= probability.sum(1, keepdims=True)
    order = np.argsort(-np.where(seen, probability, -1), axis=1)[:, :11]
    largest = np.where(np.arange(11) <= np.arange(LENGTH)[:, None], order, -1)
    total = np.cumsum(np.take_along_axis(probability, order, 1), 1)
    count = np.minimum((total < 0.5).sum(1) + 1, 11)
    terms = [
        SimpleNamespace(name="content", per="cell", values=content),
        SimpleNamespace(name="bias", per="target", values=bias),
        SimpleNamespace(name="position", per="target_difference", values=slope),
    ]
    return attention.encode(layer, head, terms, probability, count, largest)


def statistics(rng):
    values = rng.uniform(0, 1, (3, LAYERS, HEADS))
    return SimpleNamespace(
        **dict(zip(("itself", "first_token", "concentration"), values, strict=True))
    )


def manifest():
    model = {
        "name": "hand-made",
        "family": "falcon",
        "weights_sha256": "0" * 64,
        "tokenizer_sha256": "0" * 64,
        "dtype": "float32",
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "hidden_size": 32,
        "parameters": 1234,
        "special_tokens_added": [],
    }
    self_check = {
        "tokens": 16,
        "seed": 0,
        "layers_called": LAYERS,
        "differences": {"logits": 1e-7},
        "limits": {"logits": 1e-4},
    }
    nothing = {"determined_by": {}, "versions": {}, "fields": {}, "files": {}}
    return {
        "schema": "manifest/1",
        "key": "0" * 12,
        "model": model,
        "passage": {"name": "hand", "tokens": LENGTH},
        "corpus": {"texts": 2, "tokens": 48},
        "command": "by hand",
        "seed": 0,
        "date": "2026-01-01",
        "self_check": self_check,
        **nothing,
    }
