"""A small study of conditions, made of numbers and not by a model, in the files of a real one.

Two models that read the same prompts under three conditions: without a filler, with one, and with a
sentence of as many tokens in its place.
"""

from dataclasses import replace

import numpy as np

from report.datasets import store
from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column
from report.figures.parts import received
from report.kinds.conditions.data import opened
from tests.figures import hand_made

SYSTEM, FILLER, QUESTION = 5, 9, 12
LONGER = 3
"""Tokens that the longest question has more than the first prompt's, of QUESTION tokens."""
LAYERS, HEADS = 3, 4
STEP = 0.00002
MERGED = 8
"""A position without filler that has no counterpart with it."""
NAMES = {"none": "None", "filler": "Mless", "sentence": "Random sentence"}
WORDS = {"added": "Meaningless tokens", "noun": "filler"}
"""What an article calls what conditions add."""
TEXTS = [" lamp", ",", " <b>bold</b>", "\\n", " “", "Ann & Bo", "U+202E", "{x}"]


def study(folder, prompts=3, models=("one-model", "other{model}")):
    """`ConditionsData` over datasets of each model, written into folders below `folder`.

    prompts: how many the means are over; of one there is no standard error
    """
    paths = []
    for number, name in enumerate(models):
        path = folder / f"{number:012x}"
        write(path, name, np.random.default_rng(number), prompts)
        paths.append(path)
    return opened(paths)


def write(folder, name, rng, prompts):
    """The datasets of one model."""
    texts = [text(condition, prompts) for condition in NAMES]
    about = {"schema": "conditions/1", "prompts": prompts, "reductions": ["mean", "last", "all"]}
    store.write(folder / "conditions.json", about | {"conditions": texts})
    store.write(folder / "effects.json", effects(rng, prompts))
    for layer, head in np.ndindex(LAYERS, HEADS):
        shard = {
            "schema": "received/1",
            "layer": layer,
            "head": head,
            "step": STEP,
            "conditions": {
                one["name"]: {each: weights(rng, one["counts"]) for each in about["reductions"]}
                for one in texts
            },
        }
        store.write(folder / "received" / f"{layer}" / f"{head}.json", shard)
    store.write(folder / "manifest.json", store.sealed(manifest(folder.name, name, prompts)))


def text(condition, prompts):
    """What a model reads under one condition: an entry of conditions.json."""
    lengths = {"system": SYSTEM, "filler": FILLER, "question": QUESTION}
    if condition == "none":
        del lengths["filler"]
    spans, start = {}, 0
    for segment, length in lengths.items():
        spans[segment], start = range(start, start + length), start + length
    tokens = [TEXTS[place % len(TEXTS)] for place in range(start)]
    if condition == "filler":
        tokens[SYSTEM : SYSTEM + FILLER] = ["/"] * FILLER
    more = LONGER if prompts > 1 else 0
    places = list(range(SYSTEM + QUESTION + more))
    if condition != "none":
        places = [place + FILLER * (place >= SYSTEM) for place in places]
        places[MERGED] = -1
    return {
        "name": condition,
        "label": NAMES[condition],
        "tokens": tokens,
        "segments": [
            {"name": name, "first": span[0], "last": span[-1]} for name, span in spans.items()
        ],
        "added": None if condition == "none" else "filler",
        "counts": [prompts] * start + [1] * more,
        "positions": places,
        "crossings": [],
    }


def weights(rng, counts):
    """Random weights of as many positions, the errors known where several prompts have one."""
    mean = rng.gamma(0.8, 2500, len(counts)).astype(int)
    error = (mean * rng.uniform(0.05, 0.4, len(counts))).astype(int)
    known = np.asarray(counts) > 1
    return {
        "mean": mean.tolist(),
        "standard_error": [int(e) if k else None for e, k in zip(error, known, strict=True)],
    }


def effects(rng, prompts):
    """The tables "effects" and "layers", the second with means over heads that are known; one
    head's total variation is not."""
    index = np.indices((2, 2, LAYERS, HEADS)).reshape(4, -1)
    columns = {
        "condition": Column("which", "name", [["filler", "sentence"][i] for i in index[0]]),
        "rows": Column("over", "name", [["mean", "last"][i] for i in index[1]]),
        "layer": Column("layer", "index from 0", index[2]),
        "head": Column("head", "index from 0", index[3]),
    }
    for name in ("lambda", "total_variation", "affine_error"):
        values, errors = rng.uniform(0, 1, (2, index.shape[1]))
        if name == "total_variation":
            values[1] = np.nan
        if prompts == 1:
            errors[:] = np.nan
        columns[name] = Column(name, "0 to 1", values, 0.0001)
        columns[f"{name}_error"] = Column(f"error of {name}", "0 to 1", 0.1 * errors, 0.0001)
    return columnar.encode({"effects": columns, "layers": means_over_heads(columns)})


def _mean(heads):
    """Of one layer: the mean of the values that are known, or what all heads share."""
    if heads.dtype.kind != "f":
        return heads[0]
    known = heads[~np.isnan(heads)]
    return known.mean() if len(known) else np.nan


def means_over_heads(columns):
    """The same columns without "head", as heads lie side by side."""
    means = {}
    for name, column in columns.items():
        if name != "head":
            values = np.reshape(column.values, (-1, HEADS))
            means[name] = replace(column, values=[_mean(heads) for heads in values])
    return means


def manifest(key, name, prompts):
    made = hand_made.manifest(hand_made.KINDS["rotary"])
    for entry in ("passage", "corpus"):
        del made[entry]
    made["model"] |= {
        "name": name,
        "num_hidden_layers": LAYERS,
        "layers_measured": LAYERS,
        "num_attention_heads": HEADS,
    }
    about = {"name": "hand", "title": "By hand", "texts": prompts, "tokens": 99}
    return made | {"kind": "conditions", "key": key, "prompts": about}


def lines(*names):
    """What panels compare: dict of condition to label."""
    labels = {"none": "w/o Meaningless tokens", "filler": "w/ Meaningless tokens"}
    return {name: labels.get(name, NAMES[name]) for name in names}


def panels(found, figure):
    """`Panels` of a study, as an article would ask for them for a figure module's name."""
    two = [(0, 0, 1), (0, 2, 3), (0, 0, 0)]
    if figure == "filler_against":
        named = {"filler": "Meaningless tokens", "sentence": "Random sentence"}
        places = [(0, 0, 0), (len(found.models) - 1, 1, 2)]
        return received.panels(found.models, places, named, **WORDS)
    if figure == "filler_layers":
        named = {"none": "None", "filler": "Mless"}
        return received.panels(found.models, [(0, layer, 2) for layer in range(3)], named, **WORDS)
    if figure == "filler_effect":
        return received.panels(found.models, [(0, 1, 2)], lines("none", "filler"), **WORDS)
    return received.panels(found.models, two, lines("none", "filler"), rules=True, **WORDS)
