"""A pair of prompts, measured of a small model, in the files that a real one has."""

from report import files
from report.datasets.read.study import open_study
from report.datasets.write.folder import write_folder
from report.kinds.pair import measure as kind
from report.models.load.load import load_model
from tests.made_conditions import provenance

INPUTS = kind.Inputs(
    "The old lamp stood by the window. Ann answered the",
    "The old window stood by the window. Ann answered the",
    " lamp",
    " window",
    ("The old lamp stood by the window.",),
)
"""Texts that the tokenizer of tests/conftest.py knows."""


def study(folder, model="falcon-8x8", inputs=INPUTS):
    """A `PairData` of a model, measured into `folder`."""
    loaded = load_model(model)
    measured, facts = kind.measure(loaded, inputs, lambda *_: None, lambda _: None)
    layers, heads = loaded.measured_layers, loaded.structure[0].heads
    about = {"name": loaded.identity["name"], "num_attention_heads": heads}
    manifest = provenance(1, layers, about)
    manifest.pop("prompts")
    with files.new_folder(folder) as temporary:
        write_folder(temporary, kind.write, measured, manifest | {"kind": "pair"} | facts)
    return open_study([folder])
