"""How well two tables of heads agree, head by head: an atlas, and a file of somebody else's.

The file is HeadVis' `scatter_data.json`, or a table as `report.kinds.atlas.release` writes it, of
another model of the same shape or over other texts.
source: HeadVis, Luger et al. 2026; the file and its six numbers as Neuronpedia writes them,
    `compute-head-metrics.py` in hijohnnylin/neuronpedia, commit ebb8426
"""

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import altair
import numpy as np
from jinja2 import Environment

from report.datasets import store
from report.datasets.formats import columnar
from report.datasets.formats.head_statistics import STEP
from report.errors import ReportError
from report.figures.build import still
from report.figures.parts import theme
from report.figures.parts.heads import Head
from report.inputs import records
from report.inputs.records import Bare, Records
from report.kinds.atlas.data import AtlasData
from report.kinds.atlas.findings import ranks
from report.kinds.atlas.release import TABLE
from report.measures import Measure
from report.text import count, number, percent, quoted

MOST = 10
"""Heads that differ most, of each measure."""

NAMED = 3
"""How many of them are named in the picture."""

HEADS = 100_000
"""Most heads of a file; no model has as many."""

INDEX = re.compile(r"\d{1,6}", re.ASCII)

PANEL = 230
"""Pixels of a scatter plot, each way."""


@dataclass(frozen=True)
class Column:
    """A number of HeadVis."""

    measure: str
    """Which of ours it is compared with."""
    converted: Callable[[np.ndarray], np.ndarray]
    """From its unit to ours."""
    differs: str
    """In what it is another number, a sentence."""


def _same(values):
    return values


FIRST = "HeadVis also counts the first token of a text, which sees only itself."

HEADVIS = {
    "self_attention_score": Column("to_itself", _same, FIRST),
    "prev_token_score": Column(
        "to_previous_token",
        _same,
        "HeadVis also counts the second token, for which the token before is the first one.",
    ),
    "pattern_entropy": Column(
        "entropy", lambda nats: nats / math.log(2), f"HeadVis’ nats are turned into bits. {FIRST}"
    ),
    "qk_distance": Column("distance", _same, FIRST),
    "qk_distance_variance": Column(
        "distance_spread",
        lambda variance: np.sqrt(np.where(variance < 0, np.nan, variance)),
        "The root of HeadVis’ variance, which is of all tokens together; here it is the mean of "
        "every token’s own spread, so both may differ much.",
    ),
    "induction_score": Column(
        "prefix_matching",
        _same,
        "HeadVis adds up all earlier occurrences, without what is below 1 %; here it is the last "
        "one.",
    ),
}
"""HeadVis' name of a number -> what it is compared with."""


@dataclass(frozen=True)
class Difference:
    """A head, and both values of it."""

    head: Head
    ours: float
    theirs: float

    def __bool__(self) -> bool:
        """Whether they differ by more than rounding."""
        return abs(self.ours - self.theirs) > STEP / 2


@dataclass(frozen=True)
class Agreement:
    """How well a measure agrees over all heads that both have a value of."""

    words: Measure
    heads: int
    """How many these are."""
    pearson: float
    """Of the values, -1 to 1; NaN for fewer than 3 heads, or if all values of one are equal."""
    rank: float
    """Of their ranks; Spearman 1904."""
    difference: float
    """Mean of the absolute differences, in the measure's unit."""
    differences: tuple[Difference, ...]
    """Of every such head, the largest first."""
    differs: str
    """In what both are defined otherwise; "" for the same measure."""

    @property
    def sentence(self) -> str:
        """Both correlations and the mean difference."""
        away = self._text(self.difference).removeprefix("+")
        return (
            f"Pearson {number(self.pearson)}, rank {number(self.rank)}, mean difference {away}, "
            f"{count(self.heads, 'head')}."
        )

    @property
    def most(self) -> str:
        """The heads that differ most, with both values; "none" if all are equal."""
        return "; ".join(self._pair(each) for each in self.differences[:MOST] if each) or "none"

    def _pair(self, each):
        return f"{each.head.label} {self._text(each.ours)}, there {self._text(each.theirs)}"

    def _text(self, value):
        return percent(value, 1) if "%" in self.words.number else self.words.as_text(value)


def agreement(path: Path, data: AtlasData) -> list[Agreement]:
    """How well a file agrees with an atlas, a measure after the other, as the atlas has them.

    raises: ReportError for a file that cannot be read, is of another number of layers or heads, or
        has no measure of the atlas
    """
    table = _table(path)
    columns = _columns(path, table, data)
    pairs = {name: (values, "") for name, values in columns.items() if name in data.words}
    for theirs, column in HEADVIS.items():
        if theirs in columns and column.measure in data.words:
            pairs[column.measure] = column.converted(columns[theirs]), column.differs
    if not pairs:
        raise ReportError(
            f"{path}: has no measure of the atlas of {data.name}; its columns are "
            f"{records.listed(table.columns)}, those that can be compared "
            f"{', '.join([*data.words, *HEADVIS])}"
        )
    with np.errstate(all="ignore"):  # numbers beyond any measure give none
        return [
            _agreement(data.words[name], data.of_heads(name, name, "corpus"), *pairs[name])
            for name in data.words
            if name in pairs
        ]


def _agreement(words, ours, theirs, differs):
    both = np.argwhere(~np.isnan(ours) & ~np.isnan(theirs)).tolist()
    heads = [
        Difference(Head(*place, math.nan), float(ours[*place]), float(theirs[*place]))
        for place in both
    ]
    heads.sort(key=lambda each: -abs(each.ours - each.theirs))
    values = np.array([(each.ours, each.theirs) for each in heads]).reshape(-1, 2).T
    away = float(np.abs(values[0] - values[1]).mean().round(9)) if heads else math.nan
    pearson, rank = _correlation(values), _correlation([ranks(each) for each in values])
    return Agreement(words, len(heads), pearson, rank, away, tuple(heads), differs)


def _correlation(pairs):
    if len(pairs[0]) < 3 or min(map(np.ptp, pairs)) == 0:
        return math.nan
    return float(np.corrcoef(pairs)[0, 1])


def _table(path):
    """The rows of a file; of a table/1 dataset, those of its heads."""
    if not records.is_file(path.name):
        raise ReportError(
            f"{path}: is no table of heads by its ending; give HeadVis’ scatter_data.json, or the "
            "CSV or JSON file of an atlas"
        )
    table = records.of_file(str(path))
    if table.columns[:1] != ("schema",) or len(table.rows) != 1:
        return table
    try:
        decoded = columnar.decode(store.check(table.plain[0], path))[TABLE]
    except (ReportError, KeyError) as error:
        raise ReportError(
            f"{path}: is a dataset, but no table/1 of heads that is whole; download it again"
        ) from error
    rows = [dict(zip(decoded, row, strict=True)) for row in zip(*decoded.values(), strict=True)]
    return Records(path.name, str(path), str(path), tuple(decoded), rows)


def _columns(path, table, data):
    """Name of each column that can be compared -> float [layer, head], NaN for no number."""
    shape = data.layers, data.heads
    table.require(["layer", "head"])
    if len(table.rows) > HEADS:
        raise ReportError(f"{path}: has {len(table.rows):,} rows, more than any model has heads")
    places = [tuple(_index(path, row, name) for name in ("layer", "head")) for row in table.rows]
    theirs = tuple(max(place[axis] for place in places) + 1 for axis in (0, 1))
    if theirs != shape:
        raise ReportError(
            f"{path}: has {theirs[0]} layers of {theirs[1]} heads, the atlas of {data.name} "
            f"{shape[0]} of {shape[1]}; compare models of one shape"
        )
    missing = sorted(set(np.ndindex(shape)) - set(places))
    twice = [place for place, number in Counter(places).items() if number > 1]
    if missing or twice:
        layer, head = [*missing, *twice][0]
        what = "lacks" if missing else "has two rows of"
        raise ReportError(f"{path}: {what} layer {layer}, head {head}; it must have each head once")
    wanted = [name for name in table.columns if name in data.words or name in HEADVIS]
    columns = {name: np.full(shape, np.nan) for name in wanted}
    for place, row in zip(places, table.rows, strict=True):
        for name in wanted:
            columns[name][place] = _number(path, row.get(name), name, place)
    return columns


def _index(path, row, name):
    value = row.get(name)
    if isinstance(value, Bare | np.integer) and INDEX.fullmatch(str(value)):
        return int(value)
    raise ReportError(
        f"{path}: a row has {quoted(records.spelled(value))} where {name!r} should be an index "
        "from 0"
    )


def _number(path, value, name, place):
    if value is None or value == "":
        return math.nan
    if isinstance(value, bool) or not isinstance(value, Bare | int | float | np.number):
        layer, head = place
        raise ReportError(
            f"{path}: layer {layer}, head {head} has {quoted(records.spelled(value))} where "
            f"{quoted(name)} should be a number"
        )
    return float(value)


def chart(agreements: list[Agreement]) -> altair.FacetChart:
    """A scatter plot for each measure, a point a head: ours to the right, theirs upwards."""
    rows, order = [], []
    for each in agreements:
        label = f"{each.words.title}|Pearson {number(each.pearson)}, rank {number(each.rank)}"
        order.append(label)
        for place, pair in enumerate(each.differences):
            about = {
                "layer": pair.head.layer,
                "named": pair.head.label if pair and place < NAMED else "",
            }
            rows.append({"measure": label, "ours": pair.ours, "theirs": pair.theirs, **about})
        values = [value for pair in each.differences for value in (pair.ours, pair.theirs)]
        ends = {min(values, default=0), max(values, default=1)}
        rows += [{"measure": label, "ours": end, "theirs": end, "layer": None} for end in ends]
    place = {
        axis: channel(f"{field}:Q", title=title, scale=altair.Scale(zero=False, nice=True))
        for axis, channel, field, title in (
            ("x", altair.X, "ours", "this atlas"),
            ("y", altair.Y, "theirs", "the file"),
        )
    }
    colour = altair.Color("layer:Q", scale=altair.Scale(range=theme.RANK_RAMP["light"]))
    every = altair.Chart(width=PANEL, height=PANEL)
    heads = every.transform_filter("isValid(datum.layer)")
    diagonal = every.transform_filter("!isValid(datum.layer)").mark_line(
        color=theme.SOFT["light"], strokeDash=[3, 3]
    )
    names = heads.transform_filter("datum.named").mark_text(dy=-8, fontSize=theme.TICK)
    layers = altair.layer(
        diagonal.encode(**place),
        heads.mark_circle(size=26, opacity=0.8).encode(**place, color=colour),
        names.encode(**place, text="named:N"),
        data=altair.InlineData(rows),
    )
    label = altair.Header(title=None, labelExpr="split(datum.label, '|')", labelFontWeight=500)
    facets = layers.facet(altair.Facet("measure:N", sort=order, header=label), columns=3)
    return (
        facets.resolve_scale(x="independent", y="independent")
        .configure(font=theme.FONT, background=theme.PAPER["light"], axis={"titleFontWeight": 500})
        .properties(usermeta={"report": {"figure": "compare"}})
    )


def page(agreements: list[Agreement], data: AtlasData, path: Path) -> str:
    """The same as a page of HTML that asks no server for anything, with the picture in it."""
    template = Environment(autoescape=True).from_string(
        Path(__file__).with_name("agreement.html.j2").read_text("utf-8")
    )
    picture = still.drawn(chart(agreements).to_dict(context={"pre_transform": False}))
    about = {"model": data.name, "key": data.manifest["key"], "file": path.name}
    return template.render(agreements=agreements, picture=picture, **about)
