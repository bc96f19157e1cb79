"""Articles about a passage both ways: the loss of every token, after those before, and after those
that follow it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.write.folder import Folder, Step
from report.errors import ReportError
from report.inputs.passages import Passage, passage
from report.measuring.forecast import reads
from report.measuring.key import hashed
from report.measuring.kind import Announce, Progress

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel
    from report.study.front_matter import FrontMatter

SCHEMA = "both-ways/1"
FILE = "both_ways.json"


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    passage: Passage


@dataclass(frozen=True)
class Measured:
    """Losses in nats, float [tokens]; NaN of the token that a way of reading begins with."""

    name: str
    tokens: list[str]
    forwards: np.ndarray
    backwards: np.ndarray


def inputs(wanted: FrontMatter) -> Inputs:
    """The passage; ReportError if it cannot be read."""
    return Inputs(passage(wanted.passage))


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on."""
    return {"passage": hashed(asdict(inputs.passage))}


def words(inputs: Inputs) -> list[str]:
    """No options: the article names its passage itself."""
    return []


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """Run a model over the passage in both orders; ReportError if it predicts no next token."""
    from report.models.attention import self_check
    from report.models.measure.loss import predicts, token_losses
    from report.models.text.tokens import tokenize

    if not predicts(loaded):
        raise ReportError(
            f"{loaded.identity['name']} does not predict the next token; choose a model that does"
        )
    self_check.checked(loaded)
    read = tokenize(loaded, inputs.passage.text)
    ids = list(read.token_ids)
    announce(reads(loaded.identity["name"], "a passage both ways", 2 * len(ids), 2))
    progress("Measuring", 0, 2)
    forwards = np.concatenate([[np.nan], token_losses(loaded.model, ids)])
    progress("Measuring", 1, 2)
    backwards = np.concatenate([token_losses(loaded.model, ids[::-1])[::-1], [np.nan]])
    progress("Measuring", 2, 2)
    tokens = [token["text"] for token in read.tokens]
    return Measured(inputs.passage.name, tokens, forwards, backwards), {
        "token_ids_sha256": hashed(ids),
        "backwards": {"passes": 2},
    }


def write(files: Folder, measured: Measured, progress: Step) -> dict:
    """Write the losses of every token; returns the manifest's passage."""
    losses = {"forwards": measured.forwards, "backwards": measured.backwards}
    rounded = {
        name: [None if np.isnan(each) else round(float(each), 4) for each in values]
        for name, values in losses.items()
    }
    files.write(FILE, {"schema": SCHEMA, "tokens": measured.tokens, **rounded})
    progress(1, 1)
    return {"passage": {"name": measured.name, "tokens": len(measured.tokens)}}
