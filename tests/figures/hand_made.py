"""A small study, made of numbers and not by a model, in the files that a real one has.

One kind of study for each way in which models differ: `study(folder, "rotary")`.
"""

from dataclasses import dataclass
from hashlib import sha256
from types import SimpleNamespace

import numpy as np

from report.datasets import store
from report.datasets.formats import attention, fitting, head_statistics, passage, updates
from report.datasets.formats.attention import PLACED
from report.datasets.formats.group import head_of_cells
from report.datasets.formats.visible import Visible
from report.kinds.passage.data import PassageData, PassageModels
from report.measures import shipped

LENGTH, LAYERS, HEADS = 24, 3, 4
WORDS = [0, 1, 2, 4, 5, 8, 9, *range(10, 20), 21, 22, 23]
SENTENCES = [0, 1, 9, 22]
"""The first token of each."""
TEXTS = [" lamp", ",", " <b>bold</b>", "\n", " “", "Ann", " \u202e"]


@dataclass(frozen=True)
class Kind:
    """What the scores of a kind of model are made of."""

    like: str
    """A family that is like it."""
    terms: tuple = ("content",)
    position: str = "target_difference"
    """ALiBi; "cell" is RoPE."""
    softcap: float | None = None
    sink: float | None = None
    window: int | None = None
    """Targets that a token sees in every second layer, the first one included."""
    causal: bool = True
    updates: str | None = "raw"
    special: tuple = ("front",)
    """Where the tokenizer puts a token: in front, at the end; an encoder's does both."""


FIRST = ("itself", "first_token", "concentration")
"""Measures whose random numbers are drawn first."""

KINDS = {
    "alibi_bias": Kind("falcon", ("content", "bias", "position")),
    "alibi": Kind("mpt", ("content", "position")),
    "rotary": Kind("llama", ("content", "position"), "cell"),
    "rotary_bias": Kind("qwen2", ("content", "bias", "position"), "cell"),
    "learned_bias": Kind("gpt2", (*PLACED, "mixed", "bias")),
    "content": Kind("llama without rotation"),
    "score": Kind("gptj", ("score",)),
    "no_updates": Kind("gpt_neo without updates", ("score",), updates=None),
    "softcap": Kind(
        "gemma2", ("content", "position", "row_constant"), "cell", softcap=4.0, updates="effective"
    ),
    "sink": Kind("gpt_oss", ("content", "bias", "position", "row_constant"), "cell", sink=1.5),
    "window": Kind("mistral", ("content", "position"), "cell", window=7),
    "encoder": Kind("bert", ("mixed", "bias"), causal=False),
    "encoder_rotary": Kind("modernbert", ("content", "position"), "cell", causal=False),
}
"""Name -> kind; the first is the embedded model's."""

OF_WORDS = {
    "post_norm": Kind("opt", (*PLACED, "mixed", "bias")),
    "no_special": Kind("olmo", ("content", "position"), "cell", special=()),
    "ends_only": Kind("qwen3 for embeddings", ("content", "position"), "cell", special=("end",)),
}
"""Kinds that figures draw as others, but of which not the same words are true."""

OF_SCORES = ("attention_map", "attention_breakdown", "bias_vs_position")
"""Figures that show the terms of scores, in which all kinds differ."""

OTHERWISE = ("alibi_bias", "no_updates", "softcap", "encoder")
"""Kinds that differ in what other figures show as well: updates, and what a token sees."""


def figures_of(kind, names):
    """Those of some figures that a kind of model can make different."""
    return [name for name in names if name in OF_SCORES or kind in OTHERWISE]


def study(folder, kind="alibi_bias"):
    """`PassageData` over datasets of a kind of `KINDS`, written into `folder`."""
    rng, kind = np.random.default_rng(5), (KINDS | OF_WORDS)[kind]
    store.write(folder / "passage.json", encoded_passage(kind))
    targets = np.zeros((LAYERS, HEADS, LENGTH), int)
    for layer in range(LAYERS):
        largest = []
        for head in range(HEADS):
            shard = one_head(rng, layer, head, kind)
            store.write(folder / "attention" / f"{layer}" / f"{head}.json", shard)
            largest.append(attention.decode(shard).largest_targets[:, 0])
        targets[layer] = largest
        magnitude = rng.lognormal(-2, 0.5, (HEADS, LENGTH))
        alignment = rng.uniform(-1, 1, (HEADS, LENGTH))
        raw = (2 * magnitude, -alignment) if kind.updates == "effective" else None
        if kind.updates:
            data = updates.encode(layer, magnitude, alignment, np.array(largest), raw)
            store.write(folder / "updates" / f"{layer}.json", data)
    sources = {name: Statistics(rng, targets, kind) for name in ("passage", "corpus")}
    files = {}
    for name, measure in shipped().items():
        if head_statistics.applies(measure, sources):
            file = head_statistics.FILE.format(name)
            store.write(folder / file, head_statistics.encode(measure, sources))
            content = (folder / file).read_bytes()
            files[file] = {"bytes": len(content), "sha256": sha256(content).hexdigest()}
    store.write(folder / "manifest.json", store.sealed(manifest(kind) | {"files": files}))
    return PassageData(folder)


def several(folder, kinds=("alibi_bias", "window"), labels=("step100", "step2000")):
    """`PassageModels` over datasets of some kinds, each in a folder of its own."""
    models = [study(folder / f"{n:012x}", kind) for n, kind in enumerate(kinds)]
    return PassageModels(models, list(labels))


def close(path, kind, model, files, of="alibi_bias", **about):
    """Write the manifest of datasets of another kind of article; model: what it says of the model
    besides; of: the kind of model."""
    made = manifest((KINDS | OF_WORDS)[of])
    kept = ("schema", "command", "seed", "date", "self_check", "versions")
    made = {key: made[key] for key in kept} | {
        "kind": kind,
        "key": path.name,
        "model": made["model"] | model,
        "determined_by": {},
        "files": files,
        **about,
    }
    store.write(path / "manifest.json", store.sealed(made))


def encoded_passage(kind):
    pieces = [{"id": i, "text": TEXTS[i % len(TEXTS)]} for i in range(LENGTH)]
    if "front" in kind.special:
        pieces[0] = {"id": 0, "text": "<|begin|>" if kind.causal else "[CLS]", "special": True}
    if not kind.causal or "end" in kind.special:
        text = "<|end|>" if kind.causal else "[SEP]"
        pieces[-1] = {"id": 1, "text": text, "special": True}
    about = {"name": "hand", "title": "By hand", "source": "", "licence": "CC0", "language": "en"}
    regions = {"words": WORDS, "sentences": SENTENCES}
    return passage.encode(SimpleNamespace(**about), pieces, regions)


def one_head(rng, layer, head, kind=KINDS["alibi_bias"]):
    """An attention/4 dataset: random content and bias, a position term with a slope of its own."""
    visible = Visible.full(LENGTH)
    if kind.causal:
        visible = Visible.causal(LENGTH, kind.window if layer % 2 == 0 else None)
    seen = visible.mask()
    absent = ()
    if PLACED[-1] in kind.terms:
        absent = ("mixed",) if layer == 0 else PLACED
    terms = [
        term
        for term in every_term(rng, head, kind.position, seen)
        if term.name in kind.terms and term.name not in absent
    ]
    score = sum(attention.DecodedTerm(t.name, t.per, t.values, visible).matrix() for t in terms)
    score = attention.cap(np.where(seen, score, -np.inf), kind.softcap)
    sink = -np.inf if kind.sink is None else kind.sink + head
    weight = np.exp(score)
    probability = weight / (weight.sum(1, keepdims=True) + np.exp(sink))
    order = np.argsort(-np.where(seen, probability, -1), axis=1, kind="stable")[:, :11]
    largest = np.full((LENGTH, 11), -1)
    ranks = np.arange(order.shape[1]) < seen.sum(1, keepdims=True)
    largest[:, : order.shape[1]] = np.where(ranks, order, -1)
    total = np.cumsum(np.take_along_axis(probability, order, 1), 1)
    count = np.minimum((total < 0.5).sum(1) + 1, np.minimum(seen.sum(1), 11))
    softmax = attention.Softmax(visible, kind.softcap, None if kind.sink is None else sink)
    made = head_of_cells(layer, head, terms, probability, count, largest, softmax)
    return fitting.encode_cells(made)


def every_term(rng, head, position, seen):
    """All terms that there are, of which a kind has some."""
    content = rng.normal(0, 1.5, seen.shape)
    content[1:, 0] += 3 * (head == 1)
    if head == 2:
        content = 0.64 * content[:, :2] @ content[:, 2:4].T
    bias, constant = rng.normal(0, 0.5, (2, LENGTH))
    slope = 0.3 / (head + 1)
    places = np.arange(LENGTH)
    past = np.abs(places[:, None] - places)
    values = {
        "content": ("cell", content * seen),
        "content_position": ("cell", 0.3 * content.T * seen),
        "position_content": ("cell", 0.2 * content[::-1] * seen),
        "position_position": ("cell", -0.5 * past * seen),
        "mixed": ("cell", content * seen),
        "score": ("cell", content * seen),
        "bias": ("target", bias),
        "position": (position, slope * places),
        "row_constant": ("current", constant),
    }
    if position == "cell":  # more or less falling with the distance, 0 at the token itself
        rotary = -slope * past * (1 + 0.3 * np.sin(content))
        values["position"] = ("cell", rotary * seen)
    return [SimpleNamespace(name=n, per=per, values=v) for n, (per, v) in values.items()]


class Statistics:
    """What `HeadStatistics` says, made of random numbers; of neighbours, of the largest targets."""

    def __init__(self, rng, targets, kind):
        self.values = {name: rng.uniform(0, 1, (LAYERS, HEADS)) for name in FIRST}
        self.values |= {
            name: rng.uniform(0, 1, (LAYERS, HEADS))
            for name in sorted(shipped().keys() - self.values.keys())
        }
        steps = targets - np.arange(LENGTH)
        self.values["previous_token"] = (steps[:, :, 1:] == -1).mean(2)
        self.values["next_token"] = (steps[:, :, 1:-1] == 1).mean(2)
        if kind.causal:
            self.values["next_token"] = np.full((LAYERS, HEADS), np.nan)

    @property
    def measures(self):
        return [*self.values]

    def mean(self, name):
        return self.values[name]

    def error(self, name):
        return self.values[name] / 10

    def spread(self, name):
        return self.values[name] / 2

    def even(self, name):
        return self.values[name] / 4


def added_by(kind):
    """Texts of the tokens that the tokenizer adds."""
    if not kind.causal:
        return ["[CLS]", "[SEP]"]
    return [f"<|{'begin' if place == 'front' else 'end'}|>" for place in kind.special]


def manifest(kind):
    capabilities = {
        "route": "interface",
        "terms": list(kind.terms),
        "probabilities": True,
        "updates": kind.updates,
        "rotary_terms": False,
        "reasons": {} if kind.updates else {"updates": "its layers have no output projection"},
    }
    model = {
        "name": "hand-made",
        "family": kind.like,
        "weights_sha256": "0" * 64,
        "tokenizer_sha256": "0" * 64,
        "dtype": "float32",
        "num_hidden_layers": LAYERS,
        "layers_measured": LAYERS,
        "num_attention_heads": HEADS,
        "hidden_size": 32,
        "parameters": 1234,
        "special_tokens_added": added_by(kind),
        "capabilities": capabilities,
    }
    self_check = {
        "tokens": 16,
        "seed": 0,
        "layers_called": LAYERS,
        "differences": {"logits": 1e-7},
        "limits": {"logits": 1e-4},
    }
    nothing = {"determined_by": {}, "versions": {}, "files": {}}
    return {
        "schema": "manifest/1",
        "kind": "passage",
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
