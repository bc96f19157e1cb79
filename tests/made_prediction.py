"""Predictions of a tiny random model, in the files that real ones have."""

import functools

import pytest

from report import files
from report.datasets.read.study import open_study
from report.datasets.write.folder import write_folder
from report.inputs.predictions import Prompt
from report.inputs.specs import GeneratedSpec
from report.kinds.prediction import measure as kind
from report.kinds.prediction import measure_generated as generated
from report.kinds.prediction.generated import GeneratedData
from report.measuring.kind import Piece
from report.models.load.load import load_model
from tests.made_conditions import provenance

PROMPTS = (
    Prompt("The old lamp stood by the window. Ann answered the", " lamp", " window"),
    Prompt("Nobody answered Ann by the", " lamp"),
)
"""Texts that the tokenizer of tests/conftest.py knows: the first against another token."""
PASSAGE = (Prompt("The lamp is lit by Ann."),)
CORPUS = ("The old lamp stood by the window.", "Nobody answered Ann.")


NAMES = {"names": ["Ann", "lamp", "window", "old"], "places": ["lamp"], "things": ["lamp"]}
"""What the tokenizer of tests/conftest.py knows as one token each."""


def study(folder, model_folder, prompts=PROMPTS):
    """A `PredictionData` of the tiny model in `model_folder`, measured into `folder`."""
    _write(folder, model_folder, kind, kind.Inputs(list(prompts), list(CORPUS)))
    return open_study([folder])


def generated_study(folder, model_folder, number=6, ablated=2):
    """A `GeneratedData` of the tiny model, of words that it knows."""
    spec = GeneratedSpec.model_construct(set="givers", number=number, ablated=ablated, seed=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generated, "known_words", lambda _: NAMES)
        inputs = generated.Inputs(spec, CORPUS)
        _write(folder, model_folder, generated, inputs, gathered)
    return GeneratedData(folder)


def gathered(loaded, inputs, *told, size=64):
    """What is measured of generated sentences, so many at a time, the last ones first."""
    numbers = tuple(inputs.corpus)
    parts = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    pieces = [Piece(n, part, per_model=n == 0) for n, part in enumerate(parts)]
    found = [generated.measure_batch(loaded, inputs, piece, *told) for piece in reversed(pieces)]
    rows = functools.reduce(lambda one, other: one.merge(other), (rows for _, rows in found))
    return generated.joined(inputs, found[-1][0], rows)


def _write(folder, model_folder, kind, inputs, measure=None):
    loaded = load_model(model_folder)
    measured, facts = (measure or kind.measure)(loaded, inputs, lambda *_: None, lambda _: None)
    about = {"name": "tiny", "num_attention_heads": loaded.structure[0].heads}
    told = provenance(1, loaded.measured_layers, about)
    told.pop("prompts")
    with files.new_folder(folder) as temporary:
        named = "generated" if kind is generated else "prediction"
        write_folder(temporary, kind.write, measured, told | {"kind": named} | facts)
