"""A pair of prompts, and a set of pairs, of a small model, in the files that a real one has."""

from report import files
from report.datasets.read.study import open_study
from report.datasets.write.folder import write_folder
from report.kinds.pair import measure as kind
from report.models.load.load import load_model
from tests.made_conditions import provenance

INPUTS = kind.Inputs(
    "The lamp on the hill was lit. Nobody saw the lamp on the",
    "The lamp on the road was lit. Nobody saw the lamp on the",
    " hill",
    " road",
    ("Nobody answered Ann.",),
)


PATTERN = "The lamp on the {here} was lit. Nobody saw the lamp on the"
SET = kind.Inputs(
    PATTERN,
    PATTERN.replace("here", "there"),
    " {here}",
    " {there}",
    INPUTS.corpus,
    {"here": ("hill", "river"), "there": ("road", "garden")},
)
"""A set of pairs, of which that one is the first."""


def study(folder, inputs=INPUTS):
    """A `PairData` of an embedded model, measured into a folder in `folder`."""
    folder /= "ab9876543210"
    loaded = load_model("falcon-8x8")
    measured, facts = kind.measure(loaded, inputs, lambda *_: None, lambda _: None)
    layers, heads = loaded.measured_layers, loaded.structure[0].heads
    about = {"name": loaded.identity["name"], "num_attention_heads": heads}
    manifest = provenance(1, layers, about)
    manifest.pop("prompts")
    with files.new_folder(folder) as temporary:
        write_folder(temporary, kind.write, measured, manifest | {"kind": "pair"} | facts)
    return open_study([folder])
