"""A small study of two models: random ones of one shape, over random tokens, in the files that a
real one has."""

import numpy as np

from report import families
from report.datasets.write.folder import Folder
from report.effects.difference import compare_effects
from report.inputs import rows
from report.kinds.difference.beside import DISTANCE
from report.kinds.difference.data import opened
from report.kinds.difference.measure import Maps, Measured, write
from report.measures import shipped
from report.models.measure.difference import compare
from report.models.measure.passage import measure_passage
from tests.figures import hand_made
from tests.models.recording import some_tokens

MAPPED = 5
"""Heads whose attention over the second text is kept."""

TEXTS = [some_tokens(length, seed) for seed, length in enumerate((9, 30, 23, 5))]

WORDS = [{"id": token, "text": f" w{token}"} for token in TEXTS[1]]


def study(folder, names=("hand",)):
    """The data of an article, one model a name, written into `folder`."""
    return opened(
        [written(folder / f"{place}123456789ab", name, place) for place, name in enumerate(names)]
    )


def written(path, name, seed):
    """A folder of datasets of a model beside the reference."""
    reference, model = families.loaded("llama"), families.loaded("llama", seed=seed + 1)
    files = Folder(path)
    halves = compare(reference, model, TEXTS, [*shipped().values()])
    for half, effects in zip(halves, compare_effects(reference, model, TEXTS), strict=True):
        half.sums |= effects.sums
    pair = tuple(measure_passage(each, TEXTS[1], measures=()) for each in (reference, model))
    moved = halves[0].merge(halves[1]).mean(DISTANCE.name)
    heads = [divmod(int(at), moved.shape[1]) for at in np.argsort(-moved, axis=None)[:MAPPED]]
    maps = Maps(rows.own_text("Words."), WORDS, pair, heads)
    write(files, Measured(halves, maps=maps), lambda *_: None)
    shape = {
        "num_hidden_layers": halves[0].layers,
        "layers_measured": halves[0].layers,
        "num_attention_heads": halves[0].heads,
    }
    about = {
        "corpus": {"texts": 4, "tokens": sum(map(len, TEXTS)), "left_out": 0},
        "difference": {
            "reference": hand_made.manifest(hand_made.KINDS["alibi_bias"])["model"]
            | shape
            | {"name": "first"},
            "halves": [2, 2],
            "losses": {"reference": 5.0, "model": 5.5},
            "maps": [list(head) for head in heads],
            "no_effects": "",
        },
    }
    hand_made.close(path, "difference", shape | {"name": name}, files.files, **about)
    return path
