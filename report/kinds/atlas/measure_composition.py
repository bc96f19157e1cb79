"""How much heads read of what heads in lower layers write, from the weights of a model alone.

It belongs to an atlas, and is measured apart from it: no text has to be read again for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from report.datasets.formats.composition import FILE, encode
from report.datasets.write.folder import Folder, Step
from report.errors import ReportError
from report.measuring.kind import Announce, Progress

if TYPE_CHECKING:
    import numpy as np

    from report.models.load.load import LoadedModel
    from report.study.front_matter import FrontMatter


@dataclass(frozen=True)
class Inputs:
    """Nothing is read but the model."""


@dataclass(frozen=True)
class Measured:
    """What `write` turns into a file."""

    scores: dict[str, np.ndarray] | None
    """As `report.effects.composition.composition` returns them; None where heads have no matrices
    that compose."""
    hidden_size: int


def inputs(wanted: FrontMatter) -> Inputs:
    """Nothing."""
    return Inputs()


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on besides the model: nothing."""
    return {}


def words(inputs: Inputs) -> list[str]:
    """The option of `freeze` that measures it."""
    return ["--composition"]


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """The composition scores of every two heads.

    returns: what was measured, and the manifest's composition, with the reason for a model whose
        heads have no matrices that compose: an article may be about others too
    """
    from report.effects.composition import composition
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory

    layers, heads = loaded.measured_layers, loaded.structure[0].heads
    pairs, size = heads**2 * layers * (layers - 1) // 2, loaded.identity["hidden_size"]
    announce(f"{loaded.identity['name']}: {pairs:,} pairs of heads are compared, by their weights.")
    with enough_memory("keeping what all heads read and write"):
        self_check.checked(loaded)
        progress("Measuring", 0, layers)
        try:
            scores = composition(loaded, lambda done: progress("Measuring", done, layers))
        except ReportError as error:
            reason = str(error)
            announce(f"{loaded.identity['name']} is left out: {reason}.")
            why = {"pairs": 0, "hidden_size": size, "reason": reason}
            return Measured(None, size), {"composition": why}
    return Measured(scores, size), {"composition": {"pairs": pairs, "hidden_size": size}}


def write(files: Folder, measured: Measured, progress: Step) -> None:
    """Write the dataset of one model, if there is one."""
    if measured.scores is not None:
        files.write(FILE, encode(measured.scores, measured.hidden_size))
    progress(1, 1)
