"""The datasets of an article that compares conditions, read lazily, one model or several."""

import functools
from dataclasses import dataclass

import numpy as np

from report.datasets.formats import columnar
from report.datasets.read.model import Measured
from report.datasets.verify.conditions import decoded_received, verify_texts
from report.errors import ReportError
from report.text import isolated


def opened(paths, labels=()):
    """`ConditionsStudy` of an article; paths: folders, one a model, which have their own names."""
    return ConditionsStudy([ModelConditions(path) for path in paths])


@dataclass(frozen=True)
class ConditionText:
    """The prompt under one condition, as one model reads it (P positions)."""

    name: str
    label: str
    """What a reader sees."""
    tokens: list[str]
    """Labels of the tokens of the first prompt; other prompts may be longer."""
    segments: dict[str, range]
    """Positions of each segment, of the first prompt."""
    added: str | None
    """The segment that the first condition does not have."""
    counts: np.ndarray
    """[P], how many prompts have a position."""
    positions: np.ndarray
    """[P of the first condition], the position of the same token here; -1 for none."""
    crossings: list[dict]
    """Tokens over a boundary: prompt, token, text, before, after."""

    @property
    def new(self):
        """The positions of the added segment, a range; empty if nothing was added."""
        return self.segments.get(self.added, range(0))

    def aligned(self, values):
        """Values [P] of this condition over the positions of the first one; NaN for none."""
        found = np.asarray(values, float)[self.positions]
        return np.where(self.positions < 0, np.nan, found)


class ModelConditions(Measured):
    """The datasets of one model under several conditions."""

    @functools.cached_property
    def _texts(self):
        texts = self._read("conditions.json")
        try:
            verify_texts(texts)
        except ReportError as error:
            raise ReportError(f"{self.path / 'conditions.json'}: {error}.") from error
        return texts

    @property
    def prompts(self):
        """How many prompts the means are over."""
        return self._texts["prompts"]

    @functools.cached_property
    def conditions(self):
        """list of `ConditionText`; the first is what the others are compared with."""
        return [_text(each) for each in self._texts["conditions"]]

    def condition(self, name):
        """The `ConditionText` of that name; ReportError if there is none."""
        for each in self.conditions:
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.conditions)
        raise ReportError(f"unknown condition {name!r}; this study has: {known}.")

    @functools.lru_cache(maxsize=256)  # noqa: B019 (one object an article, as long as the build)
    def received(self, layer, head):
        """What every position receives from a head (both from 0): dict of condition to dict of
        reduction to (mean, standard error), each float [P]; errors NaN where one prompt has it.

        raises: ReportError if the dataset is missing or broken
        """
        received = self._read(f"received/{layer}/{head}.json")
        if (received["layer"], received["head"]) != (layer, head):
            raise ReportError(
                f"{self.path}: received/{layer}/{head}.json is of layer {received['layer']} head "
                f"{received['head']}; delete it and run `make site`."
            )
        return decoded_received(received, self._texts)

    @functools.cached_property
    def _effects(self):
        return columnar.decode(self._read("effects.json"))

    @property
    def effects(self):
        """What added segments change, head by head: dict of column to array [rows].

        Columns: condition, rows ("mean" or "last"), layer, head, and lambda, total_variation and
        affine_error, each with its standard error (lambda_error …); NaN where not known.
        """
        return self._effects["effects"]

    @property
    def layer_effects(self):
        """The same of the mean over a layer's heads; without the column head."""
        return self._effects["layers"]


@dataclass(frozen=True)
class ConditionsStudy:
    """The models of an article, each on the same prompts under the same conditions."""

    models: list[ModelConditions]
    """In the order of the front matter."""
    kind = "conditions"
    address = ""


def _text(content):
    return ConditionText(
        content["name"],
        isolated(content["label"]),
        content["tokens"],
        {each["name"]: range(each["first"], each["last"] + 1) for each in content["segments"]},
        content["added"],
        np.asarray(content["counts"]),
        np.asarray(content["positions"], int),
        content["crossings"],
    )
