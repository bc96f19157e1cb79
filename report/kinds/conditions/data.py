"""The datasets of an article that compares conditions, read lazily, one model or several."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.conditions import called, over_edges
from report.datasets.read.conditions import decoded_received, verify_texts
from report.datasets.read.model import ModelData
from report.errors import ReportError
from report.kinds.conditions.answers import ModelAnswers
from report.text import isolated

BY_TOKENIZER = "what the tokenizer adds"
"""What a reader calls the tokens of no segment."""


def opened(paths: Iterable[Path], labels: Sequence[str | None] = ()) -> "ConditionsData":
    """The data of an article.

    paths: folders, one a model; labels: not used, figures call models by their own names
    """
    return ConditionsData([ModelConditions(path) for path in paths])


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
    """Tokens over the boundary of two segments: prompt, token, text, before, after."""
    shown: list[str]
    """The tokens of the first prompt as a line of text has them: the first part of a character
    shows it, the others nothing."""

    @property
    def straddling(self) -> dict[int, dict]:
        """Tokens of the first prompt over the edge of two segments: position -> its crossing."""
        return {each["token"]: each for each in self.crossings if each["prompt"] == 0}

    @property
    def left_out(self) -> bool:
        """Whether such tokens count for neither segment; in datasets of before, they count for the
        one in which they begin."""
        within = {place for places in self.segments.values() for place in places}
        return not within & self.straddling.keys()

    @property
    def parts(self) -> list["PromptPart"]:
        """The first prompt from its beginning to its end, segment by segment."""
        names = [BY_TOKENIZER] * len(self.tokens)
        for segment, places in self.segments.items():
            for place in places:
                names[place] = called(segment, self.label)
        for place, each in self.straddling.items():
            edge = (called(each[side], self.label) for side in ("before", "after"))
            names[place] = f"over the edge of {' and '.join(edge)}"
        found = []
        for name, here in groupby(range(len(names)), names.__getitem__):
            first, *more = here
            places = range(first, first + 1 + len(more))
            text = "".join(self.shown[place] for place in places)
            ends = (len(text) - len(text.lstrip(" ")), len(text.rstrip(" ")))
            shown = "␣" * ends[0] + text[ends[0] : ends[1]] + "␣" * (len(text) - ends[1])
            found.append(PromptPart(name, places, shown))
        return found

    @property
    def new(self) -> range:
        """The positions of the added segment; empty if nothing was added."""
        return self.segments.get(self.added, range(0))

    def aligned(self, values: np.ndarray) -> np.ndarray:
        """Values [P] at the positions of the first condition; NaN where it has none here."""
        chosen = np.asarray(values, float)[self.positions]
        return np.where(self.positions < 0, np.nan, chosen)


@dataclass(frozen=True)
class PromptPart:
    """What of the first prompt lies in one segment, or over the edge of two."""

    called: str
    """What a reader calls it."""
    places: range
    text: str
    """As pages show it, with the spaces at its ends visible."""


class ModelConditions(ModelData):
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
    def prompts(self) -> int:
        """Number of prompts that the means are over."""
        return self._texts["prompts"]

    @functools.cached_property
    def conditions(self) -> list[ConditionText]:
        """The conditions; the others are compared with the first."""
        return [_text(content) for content in self._texts["conditions"]]

    def condition(self, name: str) -> ConditionText:
        """The condition of that name; ReportError if there is none."""
        for condition in self.conditions:
            if condition.name == name:
                return condition
        known = ", ".join(condition.name for condition in self.conditions)
        raise ReportError(f"unknown condition {name!r}; this study has: {known}.")

    def over_edges(self, names: Iterable[str]) -> list[str]:
        """Which tokens lie over the edge of two segments in these conditions: sentences."""
        texts = map(self.condition, names)
        read = ((each.label, self.prompts, each.crossings, each.left_out) for each in texts)
        return over_edges(self.name, read)

    @functools.lru_cache(maxsize=256)  # noqa: B019 (one object an article, as long as the build)
    def received(
        self, layer: int, head: int
    ) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
        """What every position receives from a head: condition -> reduction -> (mean, error).

        layer, head: indices from 0
        returns: mean and standard error over prompts, each float [P]; an error is NaN where a
            single prompt has the position
        raises: ReportError if the dataset is missing or broken
        """
        return self._decode(f"received/{layer}/{head}.json", decoded_received, self._texts)

    @functools.cached_property
    def _effects(self):
        return self._decode("effects.json", columnar.decode)

    @property
    def effects(self) -> dict[str, np.ndarray]:
        """What added segments change, head by head: column -> array [rows].

        Columns: condition, rows ("mean" or "last"), layer, head, and lambda, total_variation and
        affine_error, each with its standard error (lambda_error …); NaN where unknown.
        """
        return self._effects["effects"]

    @property
    def layer_effects(self) -> dict[str, np.ndarray]:
        """The same for the mean over a layer's heads, without the column head."""
        return self._effects["layers"]


@dataclass(frozen=True)
class ConditionsData:
    """The models of an article, each on the same prompts under the same conditions."""

    models: list[ModelConditions]
    """In the order of the front matter."""
    answers: Sequence[ModelAnswers] = ()
    """Whether fillers help the answer, of the models that were asked."""
    noun: str = "addition"
    """What figures call, after "the", what conditions add."""
    kind = "conditions"
    address = ""

    @property
    def apart(self) -> Sequence[ModelData]:
        """What was measured apart."""
        return self.answers

    def with_apart(self, paths: Iterable[Path]) -> "ConditionsData":
        """The same with answers; paths: folders, one a model."""
        labels = {condition.name: condition.label for condition in self.models[0].conditions}
        return replace(self, answers=[ModelAnswers(path, labels) for path in paths])


def _text(content):
    return ConditionText(
        content["name"],
        isolated(content["label"]),
        content["tokens"],
        {part["name"]: range(part["first"], part["last"] + 1) for part in content["segments"]},
        content["added"],
        np.asarray(content["counts"]),
        np.asarray(content["positions"], int),
        content["crossings"],
        content.get("shown", content["tokens"]),
    )
