"""Predictions of a tiny random model, in the files that real ones have."""

from report import files
from report.datasets.read.study import open_study
from report.inputs.predictions import Prompt
from report.measuring.kinds import prediction as kind
from report.models.load.load import load_model
from tests.made_conditions import provenance

PROMPTS = (
    Prompt("The old lamp stood by the window. Ann answered the", " lamp", " window"),
    Prompt("Nobody answered Ann by the", " lamp"),
)
"""Texts that the tokenizer of tests/conftest.py knows: the first against another token."""
PASSAGE = (Prompt("The lamp is lit by Ann."),)
CORPUS = ("The old lamp stood by the window.", "Nobody answered Ann.")


def study(folder, model_folder, prompts=PROMPTS):
    """A `PredictionData` of the tiny model in `model_folder`, measured into `folder`."""
    loaded = load_model(model_folder)
    inputs = kind.Inputs(list(prompts), list(CORPUS))
    measured, facts = kind.measure(loaded, inputs, lambda *_: None, lambda _: None)
    about = {"name": "tiny", "num_attention_heads": loaded.structure[0].heads}
    told = provenance(len(prompts), loaded.measured_layers, about)
    told.pop("prompts")
    with files.new_folder(folder) as temporary:
        kind.write(temporary, measured, told | {"kind": "prediction"} | facts)
    return open_study([folder])
