"""A text in regions, measured of a small model, in the files that a real one has."""

from functools import cache

from report import files
from report.datasets.read.study import open_study
from report.datasets.write.folder import write_folder
from report.inputs.needles import Needle, NeedlesSpec
from report.inputs.rows import own_text
from report.kinds.regions import measure as kind
from report.models.load.load import load_model
from tests.made_conditions import provenance

TEXT = " ".join(f"The {word} lamp was lit. Nobody saw it." for word in ("old", "new") * 4)
NEEDLE = NeedlesSpec(
    lengths=[300],
    facts=[
        Needle(fact="The lamp is red.", question="The lamp is", answer=" red"),
        Needle(fact="A dog ate it.", question="It was eaten by a", answer=" dog"),
    ],
)
INPUTS = kind.Inputs(
    own_text(TEXT), "sentences", 1, ("Nobody answered Ann.", "The hill was dark."), NEEDLE
)


@cache
def measured(name="qwen2-5x28"):
    """The model, what was measured of it, and the manifest's entries."""
    loaded = load_model(name)
    return loaded, *kind.measure(loaded, INPUTS, lambda *_: None, lambda _: None)


def study(folder, name="qwen2-5x28"):
    """A `RegionsData` of an embedded model, or of one in a folder, measured into a folder in it."""
    folder /= "cd9876543210"
    loaded, result, facts = measured(name)
    layers, heads = loaded.measured_layers, loaded.structure[0].heads
    about = {"name": loaded.identity["name"], "num_attention_heads": heads}
    manifest = provenance(1, layers, about)
    manifest.pop("prompts")
    with files.new_folder(folder) as temporary:
        write_folder(temporary, kind.write, result, manifest | {"kind": "regions"} | facts)
    return open_study([folder])
