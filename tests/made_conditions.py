"""Studies of conditions made of numbers and not by a model, in the files that real ones have."""

from functools import reduce
from types import SimpleNamespace

import numpy as np

from report.datasets.read.study import open_study
from report.datasets.write.folder import write_folder
from report.kinds.conditions.measure import write as write_datasets
from report.measurements.conditions import ConditionStatistics, statistics_of
from report.models.text.segments import Crossing, SegmentedText
from tests.figures import hand_made

BEGIN, SYSTEM, FILLER, QUESTION = 1, 5, 9, 12
"""Tokens: the first one is added; the question of prompt n has n more."""
CONDITIONS = {
    "none": "Nothing",
    "filler": "Meaningless tokens",
    "sentence": "Random sentence",
    "newline": "Repeated newline",
    "front": "Meaningless tokens first",
}
ADD_NOTHING = ("none", "reworded")
"""Conditions whose prompts have the same segments as the plain one."""
SEES = {"what came before": (99, 0), "everything": (99, 99), "a window": (9, 0)}
"""What tokens see: that many before them and after them."""
PLAIN = {"system": SYSTEM, "question": QUESTION}


def study(folder, models=({},), prompts=3, conditions=tuple(CONDITIONS), called=None):
    """A `ConditionsData`.

    called: condition -> (name, label), where they are not those of `CONDITIONS`

    models: dicts of what sets each apart: name, layers, heads, seed; taken, moved, error (what the
        mean over a layer's heads is about, a number or one a layer; error may be NaN); terms;
        more of its manifest's "model"
    """
    paths = [
        write(folder / f"{n}", prompts, conditions, called or {}, **of)
        for n, of in enumerate(models)
    ]
    return open_study(paths)


def write(
    folder,
    prompts,
    conditions,
    called,
    *,
    name="tiny",
    layers=3,
    heads=4,
    seed=0,
    taken=0.3,
    moved=0.2,
    error=0.1,
    merged=False,
    lengths=None,
    sees="what came before",
    **model,
):
    """A folder with the datasets of one model.

    merged: whether the filler's first token reaches into it from the instruction
    lengths: dict of condition to tokens added, where it is not FILLER
    sees: one of `SEES`
    """
    rng = np.random.default_rng(seed)
    means = np.stack([np.broadcast_to(each, layers) for each in (taken, moved, error)])
    means[0] = 1 - means[0]
    found = []
    for number in range(prompts):
        prompt = []
        for condition in conditions:
            length = (lengths or {}).get(condition, FILLER)
            text = segmented(condition, number, length, merged)
            named, label = called.get(condition, (condition, CONDITIONS.get(condition)))
            about = SimpleNamespace(name=named, label=label)
            added, effect = condition not in ADD_NOTHING, None
            if added:
                noise = rng.uniform(0.9, 1.1, (3, 2, layers, heads))
                effect = means[:, None, :, None] * noise
                effect[:2] = np.clip(effect[:2], 0, 1)
                if condition in ("sentence", "newline") and length == FILLER:
                    effect[1, :, 0] = prompt[1].compared.mean[1, :, 0]
                if condition == "front":
                    effect[1:, :, 0] /= 10
            shift = counterparts(condition, number, length)
            values = received(rng, layers, heads, len(text.segment), SEES[sees])
            prompt.append(statistics_of(about, text, values, effect, shift))
        found.append(prompt)
    merged_prompts = [reduce(ConditionStatistics.merge, each) for each in zip(*found, strict=True)]
    folder.mkdir(parents=True)
    measured = SimpleNamespace(conditions=merged_prompts)
    about = {"name": name, "num_hidden_layers": layers, "num_attention_heads": heads, **model}
    write_folder(folder, write_datasets, measured, provenance(prompts, layers, about))
    return folder


def segmented(condition, number, length, merged=False):
    """The SegmentedText of a prompt under a condition."""
    names = ["system", "question"]
    if condition not in ADD_NOTHING:
        names.insert(0 if condition == "front" else 1, "filler")
    sizes = {"system": SYSTEM, "filler": length, "question": QUESTION + number}
    segment = ["added"] * BEGIN + [name for name in names for _ in range(sizes[name])]
    said = {"system": " lamp", "filler": "/", "question": " <b>how", "added": "<|begin|>"}
    pieces = [{"id": 3, "text": said[name]} for name in segment]
    crossings = []
    if merged and condition == "filler":
        crossings = [Crossing(BEGIN + SYSTEM - 1, "*./", "system", "filler")]
    texts = {name: said[name] for name in names}
    return SegmentedText("", [], pieces, texts, segment, [], crossings)


def counterparts(condition, number, length):
    """Where the tokens of the plain prompt are under a condition."""
    plain = BEGIN + SYSTEM + QUESTION + number
    if condition in ADD_NOTHING:
        return list(range(plain))
    start = BEGIN + SYSTEM * (condition != "front")
    return [*range(start), *range(start + length, plain + length)]


def received(rng, layers, heads, length, reach):
    """What the positions of a random pattern receive, float [3, layers, heads, length].

    reach: how many tokens back and on are seen
    """
    back = np.subtract.outer(np.arange(length), np.arange(length))
    visible = (back <= reach[0]) & (-back <= reach[1])
    weight = visible * rng.random((layers, heads, length, length)) ** 3
    probability = weight / weight.sum(-1, keepdims=True)
    total = probability.sum(-2)
    seen = visible.sum(0)
    return np.stack([total / seen, probability[..., -1, :], total / length])


def provenance(prompts, layers, model):
    """What a manifest has besides its files; model: dict of what its model is, "terms" too."""
    facts = hand_made.manifest(hand_made.KINDS["rotary"])
    for entry in ("schema", "files", "date", "passage", "corpus"):
        facts.pop(entry, None)
    terms = model.pop("terms", ["content", "position"])
    facts["model"]["capabilities"]["terms"] = terms
    facts["model"] |= {"layers_measured": layers, "source": "embedded", **model}
    facts["self_check"] |= {"layers_called": layers}
    read = {
        "name": "sums",
        "title": "Sums *of* <b>Ann</b>",
        "source": "made up",
        "licence": "CC0-1.0",
        "system": "Think {{ 1 }} <i>well</i>.",
        "question": "How many are 3 and 4?",
        "texts": prompts,
        "tokens": 1234,
    }
    return facts | {"kind": "conditions", "prompts": read}
