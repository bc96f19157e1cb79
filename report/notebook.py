"""In a notebook: measure a model on a text, have the numbers as pandas frames, draw the figures.

    from report import figure, measure
    m = measure("falcon-8x8", "The lamp on the hill was lit.")
    figure("attention_map", m, layer=3, head=2)

What was measured once is kept in the folder of caches and read from there the next time.
"""

import functools
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair
import numpy as np

from report.datasets.read.study import StudyData, open_study
from report.errors import ReportError
from report.figures import Figure
from report.figures.build import still
from report.figures.build.find import figure_named, figure_names
from report.figures.parts import choices, received, score_terms
from report.inputs.passages import SUFFIXES, passage_names
from report.inputs.records import Records, is_file, of_rows
from report.measuring import kinds
from report.measuring.plan import plans
from report.measuring.run import Run, carry_out, named_anywhere, read, say_fetched
from report.project import Project, nearest_project
from report.study.front_matter import FrontMatter
from report.study.study import Study
from report.text import nearest

if TYPE_CHECKING:
    import pandas

NAME = "notebook"
CACHE = "attention-focus-plots"

TABLES = {
    "passage": ("tokens", "heads", "attention", "updates"),
    "table": ("tokens", "shares", "attention"),
    "conditions": ("tokens", "effects", "received"),
}
"""What was read -> the names of its frames."""


def measure(
    model: str | Path = "falcon-8x8",
    passage: str | dict[str, Any] | None = None,
    *,
    table: "str | list[dict[str, Any]] | pandas.DataFrame | None" = None,
    force: bool = False,
    allow_local: bool = False,
    **options: Any,
) -> "Measurements":
    """Measure every head of a model, or read what was measured before.

    The model reads a passage; or a table, in three renderings; or prompts under `conditions`.

    model: an embedded model, a folder, or "owner/model[@revision]" on the hub
    passage: the text itself, the name of a passage that ships, or the path of a .txt or .md file;
        or, as in front matter, a dict such as {"dataset": "seattle-weather", "row": 3}. Default:
        "the-lamp-on-the-hill"
    table: a data set inside vega_datasets, the path of a file of rows, or rows: dicts or a frame
    force: measure again even if nothing changed
    allow_local: whether a corpus may be fetched from this machine or a private network
    options: layers, dtype, device, chat, corpus, columns, rows, conditions, prompts and the like,
        as in front matter
    raises: ReportError, which says in one sentence what is wrong
    """
    own = None if table is None or isinstance(table, str) else _rows(table)
    texts = {"passage": passage, "table": own.name if own else table}
    wanted = _front_matter(model, {k: v for k, v in texts.items() if v is not None} | options)
    study = Study(NAME, wanted, Path(NAME), "", allow_local=allow_local)
    inputs = kinds.kind("table").given(own, wanted) if own else read(study)
    say_fetched(study, inputs, print)
    kept = Project(_cache())
    chosen = plans(study, kept, inputs, force)
    again = _command(wanted, chosen[0], options, own)
    run = Run(kept, lambda *_: None, force=force)
    (done,) = carry_out(chosen, study, inputs, run, again)
    return Measurements(open_study([done.folder]))


def figure(
    name: str,
    measurements: "Measurements",
    heads: Sequence[tuple[int, int]] = ((0, 0),),
    lines: dict[str, str] | None = None,
    **state: int | str,
) -> altair.Chart:
    """A figure of `measure`'s result as an Altair chart, with its data inside.

    A notebook shows the chart, and its method `save` writes it to a file.

    name: one of `Measurements.figures`
    heads: for conditions, pairs (layer, head), indices from 0, that get a chart each
    lines: for conditions, those that are compared, dict of name to label; default: the first, and
        the first of those that add a segment to it
    state: where its controls stand, e.g. layer=3, head=2; of a figure with several charts also
        which one, e.g. panel=1
    raises: ReportError for an unknown figure, one that these measurements have no data for, or a
        state out of reach
    """
    data, own = measurements.drawn(heads, lines), _own_figures()
    known = figure_names(own)
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ReportError(f"unknown figure {name!r}; {hint}{_drawable(measurements)}")
    if reason := _left_out(name, own, data):
        said = f"figure {name!r} cannot be drawn of these measurements: {reason}"
        raise ReportError(f"{said} {_drawable(measurements)}")
    spec = _specification(figure_named(name, own), data, state)
    spec.pop("usermeta", None)  # is for the script of a page
    return altair.Chart.from_dict(spec)


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
        names = TABLES[self.data.kind]
        if "updates" in names and self.data.capabilities["updates"] is None:
            return [name for name in names if name != "updates"]
        return list(names)

    @property
    def figures(self) -> list[str]:
        """Names of the figures that can be drawn, sorted: those that ship, and those in the folder
        `figures/` of the project that the current folder lies in."""
        own, data = _own_figures(), self.drawn()
        return [name for name in figure_names(own) if not _reason(name, own, data)]

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
        """A row for each token: token (index), id, text, special.

        Of a table, a row for each token of each rendering: also rendering, role, row and column (-1
        outside the cells). Of conditions, a row for each position of the first prompt: condition,
        position, text, segment.
        """
        return _frame(_TOKENS[self.data.kind](self.data))

    @functools.cached_property
    def heads(self) -> "pandas.DataFrame":
        """A row for each head and source (passage or corpus).

        itself and first_token are fractions of tokens: of those whose largest target is the token
        itself, or token 0. concentration is how far the largest probability is above the second,
        on average. rank_… is the head's place in its layer by that measure, 0 the lowest.
        """
        return _frame(self.data.head_statistics)

    @functools.cached_property
    def attention(self) -> "pandas.DataFrame":
        """A row for each head, current token and target token that the current token can see.

        distance is current less target. score is what enters the softmax (uncapped: before a cap,
        for models that have one); its terms content, bias, position and row_constant follow
        probability as far as the model has them. Of a table, those of its first rendering.
        """
        terms = [name for name in self.data.terms if name != "score"]
        cells = []
        for layer, head in np.ndindex(self.data.layers, self.data.heads):
            attention = self.data.attention(layer, head)
            current, target = np.nonzero(attention.visible.mask())
            values = {"score": attention.capped, "probability": attention.probability}
            if attention.softcap:
                values["uncapped"] = attention.score
            values |= {name: score_terms.matrix(attention, name) for name in terms}
            cells.append(
                {"layer": np.full(len(current), layer), "head": np.full(len(current), head)}
                | {"current_token": current, "target_token": target}
                | {name: matrix[current, target] for name, matrix in values.items()}
            )
        joined = _joined(cells)
        texts = {
            "current_token": "current_text",
            "target_token": "target_text",
        }
        columns = {}
        for name, values in joined.items():
            columns[name] = values
            if name in texts:
                columns[texts[name]] = self._texts(values)
            if name == "target_token":
                columns["distance"] = joined["current_token"] - values
        return _frame(columns)

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
        places = [(0, layer + 1, head + 1) for layer, head in heads]  # panels count from 1
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
    fields = ("id", "text", "special")
    columns = {name: [getattr(token, name) for token in data.tokens] for name in fields}
    return {"token": [token.index for token in data.tokens]} | columns


def _tokens_of_table(data):
    rows = [(text.name, token) for text in data.renderings.values() for token in text.tokens]
    fields = ("id", "text", "special", "role", "row", "column")
    columns = {name: [getattr(token, name) for _, token in rows] for name in fields}
    return {
        "rendering": [n for n, _ in rows],
        "token": [token.index for _, token in rows],
    } | columns


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


def _own_figures() -> Path | None:
    """The folder of figures of the project that the current folder lies in, or None."""
    folder = nearest_project().figures
    return folder if folder.is_dir() else None


def _drawable(measurements):
    return f"These can be drawn: {', '.join(measurements.figures)}."


def _left_out(name: str, own: Path | None, data: Any) -> str:
    """Why a figure cannot be drawn of data, a sentence; "" if it can.

    A figure of one's own may not say so itself, and is tried.
    """
    shown = figure_named(name, own)
    reason = shown.left_out(data)
    if not reason and name not in figure_names():
        try:
            shown.rows(data, **{"panel": 0} if shown.panels else {})
        except ReportError as error:
            return str(error)
    return reason


def _reason(name, own, data):
    """The same, also for a file that is no figure."""
    try:
        return _left_out(name, own, data)
    except ReportError as error:
        return str(error)


def _specification(shown: Figure, data: Any, state: dict) -> dict:
    """The specification of one chart of a figure, with its data."""
    if not shown.panels:
        return still.specification(shown, data, **state)
    titles = shown.panels(data)
    if state.get("panel", 0 if len(titles) == 1 else None) not in range(len(titles)):
        controls = shown.controls(data)
        named = [f"{n} ({choices.filled(title, controls)})" for n, title in enumerate(titles)]
        raise ReportError(
            f"figure {shown.name!r} has {len(titles)} charts; say which: panel={', '.join(named)}."
        )
    return still.specification(shown, data, **{"panel": 0} | state)


def _front_matter(model, options):
    from pydantic import ValidationError

    passage = options.get("passage")
    if isinstance(passage, str) and not (
        passage in passage_names() or passage.lower().endswith(SUFFIXES)
    ):
        near = nearest(passage, passage_names(), similarity=0.85)
        if near:
            raise ReportError(f"unknown passage {passage!r}; did you mean {near[0]!r}?")
        options = options | {"passage": {"text": passage}}
    about = {"title": NAME, "date": date.today(), "author": NAME, "summary": NAME}
    try:
        wanted = FrontMatter(**about, model=str(model), **options)
    except (ValidationError, TypeError) as error:
        problem = error.errors()[0] if isinstance(error, ValidationError) else {"msg": str(error)}
        said = ": ".join(map(str, [*problem.get("loc", ())[:1], problem["msg"]]))
        raise ReportError(f"measure: {said}") from None
    if wanted.sweep or len(wanted.all_models) > 1:
        raise ReportError(
            "measure: a notebook measures one model at a time; call measure() for each, or write "
            "an article that compares them"
        )
    return wanted


def _rows(table) -> Records:
    """Rows that were given in memory, dicts or a frame; ReportError if they are neither."""
    try:
        if hasattr(table, "to_json"):
            text = table.to_json(orient="records", date_format="iso", double_precision=15)
        else:
            text = json.dumps(list(table), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ReportError(
            f"measure: table: {error}; give the name of a data set, the path of a file of rows, a "
            "list of dicts, or a frame with a name for each column"
        ) from error
    return of_rows(text)


def _command(wanted, plan, options, own):
    """A shell command that measures the same again; None where nothing is measured.

    options: as given to `measure`; own: rows given in memory, or None
    """
    if plan.state != "measure":
        return None
    listed = [repr(named_anywhere(plan.source))]
    if own:
        options = options | {"table": own.plain}
    elif wanted.kind == "passage":
        listed.append(repr(_anywhere(wanted.passage)))
    else:
        options = {"table": wanted.table} | options if wanted.table else options
    said = options | {name: plan.settings[name] for name in options if name in plan.settings}
    listed += [f"{name}={_anywhere(value)!r}" for name, value in said.items() if name != "passage"]
    code = f"from report import measure; measure({', '.join(listed)})"
    return shlex.join(["python", "-c", code])


def _anywhere(value):
    """A value of front matter, files without the folders of this machine."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(exclude_unset=True)
        return value["text"] if set(value) == {"text"} else _anywhere(value)
    if isinstance(value, dict):
        return {k: _anywhere(v) if k == "file" else v for k, v in value.items()}
    if isinstance(value, str) and (value.lower().endswith(SUFFIXES) or is_file(value)):
        return f"{kinds.SOMEWHERE}/{Path(value).name}"
    return value


def _cache():
    """The folder in which measurements are kept, made if need be."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / CACHE
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(
            f"{folder}: cannot be made ({error.strerror}); set XDG_CACHE_HOME to a folder that can."
        ) from error
    return folder


def _joined(tables):
    """Tables of the same columns, one below the other: dict of name to array."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def _frame(columns):
    import pandas  # slow to import, and only needed here

    return pandas.DataFrame(columns)
