"""How often heads turn a word of an ordered list into the next one, from the weights of a model.

It belongs to an atlas, and is measured apart from it: no text has to be read again for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from report.datasets.formats.head_statistics import FILE, encode
from report.datasets.write.folder import Folder, Step
from report.kinds.atlas.beside import SUCCESSOR
from report.kinds.atlas.measure import Means, with_control
from report.measuring.kind import Announce, Progress

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel
    from report.study.front_matter import FrontMatter


@dataclass(frozen=True)
class Inputs:
    """Nothing is read but the model."""


def inputs(wanted: FrontMatter) -> Inputs:
    """Nothing."""
    return Inputs()


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on besides the model: nothing."""
    return {}


def words(inputs: Inputs) -> list[str]:
    """The option of `freeze` that measures it."""
    return ["--successor"]


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[dict[str, Means], dict]:
    """The successor score of every head, and its control.

    returns: "corpus" and "control" -> numbers, and the manifest's successor
    raises: ReportError for a model that knows no ordered list, or whose heads show no weights
    """
    from report.effects.successor import succession
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory
    from report.models.text.ordered import ordered_lists

    lists, layers = ordered_lists(loaded), loaded.measured_layers
    steps = sum(len(each.steps) for each in lists)
    announce(
        f"{loaded.identity['name']}: what its heads make of {steps} words of ordered lists is "
        f"compared ({', '.join(each.name for each in lists)})."
    )
    with enough_memory("comparing what heads make of words"):
        self_check.checked(loaded)
        progress("Measuring", 0, layers)
        of_steps = succession(loaded, lists, lambda done: progress("Measuring", done, layers))
    about = {"steps": steps, "lists": {each.name: len(each.token_ids) for each in lists}}
    return with_control(of_steps.right, of_steps.by_chance), {"successor": about}


def write(files: Folder, measured: dict[str, Means], progress: Step) -> None:
    """Write the dataset of one model."""
    files.write(FILE.format(SUCCESSOR.name), encode(SUCCESSOR, measured))
    progress(1, 1)
