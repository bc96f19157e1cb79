"""What was measured, as pandas frames, and its figures as Altair charts."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair
import numpy as np

from report.datasets.read.study import StudyData
from report.errors import ReportError
from report.figures import Figure
from report.figures.build import still
from report.figures.build.find import (
    HEADS,
    figure_named,
    figure_names,
    figure_of,
    measure_of,
    own_file,
)
from report.figures.parts import choices, received, score_terms
from report.project import enclosing_project
from report.text import nearest

if TYPE_CHECKING:
    import pandas

FRAMES = {
    "passage": ("tokens", "heads", "attention", "updates"),
    "table": ("tokens", "shares", "attention"),
    "conditions": ("tokens", "effects", "received"),
}
"""What was read -> the names of its frames."""


class Measurements(Mapping):
    """What was measured, as pandas frames by name: `m["heads"]`, `m["attention"]` …

    Columns are called as in the tables and files that a page gives out. Layers, heads and tokens
    are indices from 0.
    """

    __eq__, __hash__ = object.__eq__, object.__hash__  # frames cannot be compared as a whole

    def __init__(self, data: StudyData):
        self.data = data
        """The datasets, as figures see them; of conditions those of its one model are in it."""

    @property
    def names(self) -> list[str]:
        """Names of the frames that there are."""
        names = FRAMES[self.data.kind]
        if "updates" in names and self.data.capabilities["updates"] is None:
            return [name for name in names if name != "updates"]
        return list(names)

    @property
    def figures(self) -> list[str]:
        """Names of the figures that can be drawn; see `drawable`."""
        return drawable(self.drawn())

    def figure(self, name: str, **options: Any) -> altair.Chart:
        """A figure of these measurements; name, options: as of `figure`."""
        return figure(name, self, **options)

    def compare(self, other: "Measurements") -> "pandas.DataFrame":
        """What each head does otherwise in another passage, or in the same passage of another model
        of this shape: a row for each head and measure.

        layer, head, measure, value (here), other (there), difference (there less here), each over
        the passage alone and in the measure's own unit. First comes what differs most, beside the
        standard deviation of the measure over heads and both.
        raises: ReportError where layers or heads are not as many, or these are no passages
        """
        both = here, there = self.data, other.data
        if {each.kind for each in both} != {"passage"}:
            raise ReportError("compare: give measurements of two passages, both of one model each")
        if (here.layers, here.heads) != (there.layers, there.heads):
            raise ReportError(
                f"compare: {here.name} has {here.layers} layers of {here.heads} heads and "
                f"{there.name} {there.layers} of {there.heads}; heads compare in models of one "
                "shape"
            )
        return _frame(here.differences(there))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> "pandas.DataFrame":
        """A frame by its name, one of `names`; an unknown name is a ReportError and a KeyError."""
        if name not in self.names:
            raise _UnknownError(f"unknown table {name!r}; there are: {', '.join(self.names)}.")
        return getattr(self, name)

    @functools.cached_property
    def tokens(self) -> "pandas.DataFrame":
        """A row for each token: token (index), id, text, label (what pages show), special.

        Of a table, a row for each token of each rendering: also rendering, role, row and column (-1
        outside the cells). Of conditions, a row for each position of the first prompt: condition,
        position, text, segment.
        """
        return _frame(_TOKENS[self.data.kind](self.data))

    @functools.cached_property
    def heads(self) -> "pandas.DataFrame":
        """A row for each head and source (passage or corpus), and of every measure of
        `report.measures` and of the publication's own: its mean, rank_… (the head's place in its
        layer, 0 the lowest), error_… and spread_… (standard error and standard deviation over
        texts) and even_… (what even attention would give).
        """
        return _frame(self.data.head_statistics)

    @functools.cached_property
    def attention(self) -> "pandas.DataFrame":
        """A row for each head, current token and target token that the current token can see.

        distance is current less target. score is what enters the softmax (uncapped: before a cap,
        for models that have one); its terms content, bias, position and row_constant follow
        probability as far as the model has them. A model that adds positions to its embeddings has
        mixed for content; in the first layer, that is the sum of content, content_position,
        position_content and position_position, which are NaN in the others. Of a table, those of
        its first rendering.
        """
        terms = [name for name in self.data.terms if name != "score"]
        cells = []
        for layer, head in np.ndindex(self.data.layers, self.data.heads):
            attention = self.data.attention(layer, head)
            current, target = np.nonzero(attention.visible.mask())
            values = {"score": attention.capped, "probability": attention.probability}
            if attention.softcap:
                values["uncapped"] = attention.score
            values |= {name: _matrix(attention, name) for name in terms}
            cells.append(
                {"layer": np.full(len(current), layer), "head": np.full(len(current), head)}
                | {"current_token": current, "target_token": target}
                | {name: matrix[current, target] for name, matrix in values.items()}
            )
        columns = _joined(cells)
        about = {name: columns.pop(name) for name in ("layer", "head")}
        current, target = columns.pop("current_token"), columns.pop("target_token")
        about |= {"current_token": current, "current_text": self._texts(current)}
        about |= {"target_token": target, "target_text": self._texts(target)}
        return _frame(about | {"distance": current - target} | columns)

    @functools.cached_property
    def updates(self) -> "pandas.DataFrame":
        """A row for each layer, head and token, of what the head adds to the hidden state.

        magnitude is the length of this update over that of the hidden state, alignment the cosine
        of the two, and largest_target the index of a token.
        """
        layers = [self.data.updates(layer)["points"] for layer in range(self.data.layers)]
        layer = np.repeat(np.arange(len(layers)), [len(table["token"]) for table in layers])
        points = _joined(layers)
        texts = {f"{name}_text": self._texts(points[name]) for name in ("token", "largest_target")}
        return _frame({"layer": layer} | points | texts)

    @functools.cached_property
    def shares(self) -> "pandas.DataFrame":
        """Of a table: a row for each rendering, class of target tokens, layer and head.

        probability is what the head gives to the class, the mean over the tokens of cells; even is
        what even attention would give it.
        """
        return _frame(self.data.class_shares)

    @functools.cached_property
    def effects(self) -> "pandas.DataFrame":
        """Of conditions: a row for each that adds a segment, layer, head and rows.

        rows is "mean" over the current tokens after the segment, or the "last" one. taken is what
        the segment gets, lambda what is left to the old tokens (taken is 1 less lambda),
        total_variation how far the rest of the pattern moved, affine_error what an affine reading
        leaves unexplained. Each has a standard error over the prompts, e.g. taken_error.
        """
        columns = dict(self._model.effects)
        taken = {"taken": 1 - columns["lambda"], "taken_error": columns["lambda_error"]}
        return _frame(columns | taken)

    @functools.cached_property
    def received(self) -> "pandas.DataFrame":
        """Of conditions: a row for each condition, layer, head, position and reduction.

        mean is the average weight of the position, over the prompts and over the current tokens
        that see it (reduction "mean") or for the last one alone ("last"), with its standard_error.
        """
        tables = []
        for layer, head in np.ndindex(self._model.layers, self._model.heads):
            for condition, reductions in self._model.received(layer, head).items():
                for reduction, (mean, error) in reductions.items():
                    about = {"condition": condition, "layer": layer, "head": head}
                    about |= {"reduction": reduction}
                    tables.append(
                        {name: np.full(len(mean), value) for name, value in about.items()}
                        | {"position": np.arange(len(mean)), "mean": mean, "standard_error": error}
                    )
        return _frame(_joined(tables))

    def drawn(
        self, heads: Sequence[tuple[int, int]] = ((0, 0),), lines: dict[str, str] | None = None
    ) -> Any:
        """What figures are drawn of: the datasets, or panels of these heads; see `figure`."""
        if self.data.kind != "conditions":
            return self.data
        places = [(0, layer, head) for layer, head in heads]
        return received.panels(self.data.models, places, lines or self._compared)

    @property
    def _model(self):
        return self.data.models[0]

    @property
    def _compared(self):
        """The first condition, and the first of those that add a segment to it: name to label."""
        first, *others = self._model.conditions
        added = next((each for each in others if each.added), *others[:1])
        return {each.name: each.label for each in (first, added)}

    def _texts(self, tokens):
        """What pages show for tokens, given by index."""
        import pandas

        labels = [token.label for token in self.data.tokens]
        known, code = np.unique(np.array(labels, dtype=object), return_inverse=True)
        return pandas.Categorical.from_codes(code[tokens], known)

    def __repr__(self):
        model = self._model
        read = "" if self.data.kind == "conditions" else f" over {self.data.length} tokens"
        return (
            f"<{model.manifest['model']['name']}: {model.layers} layers of {model.heads} heads"
            f"{read}; tables: {', '.join(self.names)}>"
        )


class _UnknownError(ReportError, KeyError):
    """A name that a mapping does not have."""

    __str__ = Exception.__str__  # without quotes around it


def _tokens_of_passage(data):
    fields = ("id", "text", "label", "special")
    columns = {name: [getattr(token, name) for token in data.tokens] for name in fields}
    return {"token": [token.index for token in data.tokens]} | columns


def _tokens_of_table(data):
    rows = [(text.name, token) for text in data.renderings.values() for token in text.tokens]
    fields = ("id", "text", "label", "special", "role", "row", "column")
    columns = {name: [getattr(token, name) for _, token in rows] for name in fields}
    places = {"rendering": [n for n, _ in rows], "token": [token.index for _, token in rows]}
    return places | columns


def _tokens_of_conditions(data):
    rows = [
        (text.name, position, token, _segment(text, position))
        for text in data.models[0].conditions
        for position, token in enumerate(text.tokens)
    ]
    names = ("condition", "position", "text", "segment")
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def _segment(text, position):
    return next((name for name, places in text.segments.items() if position in places), "")


_TOKENS = {
    "passage": _tokens_of_passage,
    "table": _tokens_of_table,
    "conditions": _tokens_of_conditions,
}


def _joined(tables):
    """Tables of the same columns, one below the other: dict of name to array."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def _frame(columns):
    import pandas  # slow to import, and only needed here

    return pandas.DataFrame(columns)


def _matrix(attention, name):
    """A term of every cell; NaN for a part of "mixed" in a layer that does not tell its parts."""
    if name in score_terms.PLACED and name not in attention.terms:
        return np.full_like(attention.probability, np.nan)
    return score_terms.matrix(attention, name)


def figure(
    name: str,
    measurements: Measurements,
    heads: Sequence[tuple[int, int]] = ((0, 0),),
    lines: dict[str, str] | None = None,
    measure: str | None = None,
    **state: int | str,
) -> altair.Chart:
    """A figure of `measure`'s result as an Altair chart, with its data inside.

    A notebook shows the chart, and its method `save` writes it to a file.

    name: one of `Measurements.figures`
    heads: for conditions, pairs (layer, head), indices from 0, that get a chart each
    lines: for conditions, those that are compared, dict of name to label; default: the first, and
        the first of those that add a segment to it
    measure: of `figure("heads", …)`, the measure of heads that it draws, e.g. "entropy"; of another
        figure, where its control of this name stands
    state: where its controls stand, e.g. layer=3, head=2; of a figure with several charts also
        which one, e.g. panel=1
    raises: ReportError for an unknown figure, one that these measurements have no data for, or a
        state out of reach
    """
    data, folder = measurements.drawn(heads, lines), _own_figures()
    if name != HEADS and measure is not None:
        state["measure"] = measure
    name, known = figure_of(name, measure), figure_names(folder)
    if name not in known and not measure_of(name):
        near = nearest(name, known)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ReportError(f"unknown figure {name!r}; {hint}{_others(measurements)}")
    if reason := _left_out(name, folder, data):
        sentence = f"figure {name!r} cannot be drawn of these measurements: {reason}"
        raise ReportError(f"{sentence} {_others(measurements)}")
    spec = _specification(figure_named(name, folder), data, state)
    spec.pop("usermeta", None)  # is for the script of a page
    rows = spec.pop("datasets", {})
    chart = altair.Chart.from_dict(spec)
    chart.datasets = rows  # as they are: Altair makes an object of each, which takes seconds
    return chart


def drawable(data: Any) -> list[str]:
    """Names of the figures that can be drawn of data, sorted: those that ship, and those in the
    folder `figures/` of the project that the current folder lies in."""
    folder = _own_figures()
    return [name for name in figure_names(folder) if not _reason(name, folder, data)]


def _others(measurements):
    return f"These can be drawn: {', '.join(measurements.figures)}."


def _own_figures() -> Path | None:
    """The folder of figures of the project that the current folder lies in; None outside one."""
    project = enclosing_project()
    return project.figures if project else None


def _left_out(name: str, folder: Path | None, data: Any) -> str:
    """Why a figure cannot be drawn of data, a sentence; "" if it can.

    A figure of one's own may not say so itself, and is tried.
    """
    chosen = figure_named(name, folder)
    reason = chosen.left_out(data)
    if not reason and own_file(name, folder):
        try:
            chosen.rows(data, **{"panel": 0} if chosen.panels else {})
        except ReportError as error:
            return str(error)
    return reason


def _reason(name, folder, data):
    """The same, also for a file that is no figure."""
    try:
        return _left_out(name, folder, data)
    except ReportError as error:
        return str(error)


def _specification(chosen: Figure, data: Any, state: dict) -> dict:
    """The specification of one chart of a figure, with its data."""
    if not chosen.panels:
        return still.specification(chosen, data, **state)
    titles = chosen.panels(data)
    views = [box.view for box in chosen.boxes(data)]
    if all(views) and "panel" not in state:
        state |= {"panel": views.index(state["view"]) if state.get("view") in views else 0}
    if state.get("panel", 0 if len(titles) == 1 else None) not in range(len(titles)):
        controls = chosen.controls(data)
        named = [f"{n} ({choices.filled(title, controls)})" for n, title in enumerate(titles)]
        raise ReportError(
            f"figure {chosen.name!r} has {len(titles)} charts; say which: panel={', '.join(named)}."
        )
    return still.specification(chosen, data, **{"panel": 0} | state)
