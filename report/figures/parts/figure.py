"""A figure as a value: what its file says of it, and what the build fills in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import altair

from report.figures.parts.choices import Control, Switch
from report.figures.parts.grid import Box

Data = Any
"""What a figure is drawn of, as the article hands it over: a `PassageData`, `TableData`,
`SweepData`, `ModelAnswers` or `PassageModels` of `report.datasets.read`, or the
`parts.received.Panels` of a study of prompts."""

Rows = list[dict[str, Any]]
"""Rows of a table, each a dict of column to value."""

Spec = dict[str, Any]
"""A Vega-Lite specification."""


def _no_text(data: Data, **state: int | str) -> str:
    return ""


def _nothing(data: Data) -> list:
    return []


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure. Only `shows`, `chart` and `rows` must be given.

    `data` is what the article hands over, see `Data`. `state` are values of the controls, e.g.
    layer=3: indices from 0. Its functions get the values of all of them, checked.
    """

    shows: str
    """What it shows; of a docstring the first paragraph counts."""

    chart: Callable[..., altair.TopLevelMixin | Spec]
    """`chart(data, **state)`: an Altair chart of `altair.NamedData("rows")`.

    Where a dataset of the site already has what is shown, it ends in `theme.frame`, which names
    the dataset and the decoder in `report/web/data`.
    """

    rows: Callable[..., Rows | dict[str, Rows]]
    """`rows(data, **state)`: the chart's rows at a state.

    They are written into files, one a state. A figure whose chart ends in `theme.frame` gives a
    dict of the name of each dataset to its rows.
    """

    name: str = ""
    """Its file's name, by which articles place it; the finder gives it."""

    title: Callable[[Data], str] | None = None
    """Heading, adapted to what the model has. Default: the name.

    {param} in it follows that slider or switch.
    """

    caption: Callable[[Data], str] | None = None
    """How it is read, what is left out and why, as plain text. Default: what it shows.

    The first sentence says what a point is and stands under the figure, the others are folded. With
    the first one of `seen` it has at most 30 words. A line that an earlier figure
    of the article has too is replaced by a reference to that figure.
    """

    use: Callable[[Data], str] = _no_text
    """What a reader can do with it: point, click, choose. Pictures are shown without it."""

    controls: Callable[[Data], list[Control | Switch]] = _nothing
    """What a reader may change: sliders and switches."""

    finds: Callable[[Data], list[dict]] = _nothing
    """What a field finds heads by: of each measure its "name", a column of `rows`, its "title",
    "also", other words for it, "percent" and "number", decimals; `report/web/figure/find.js`."""

    texts: bool = False
    """Whether a text stands below the chart, "tokens" of `rows`: of those whose "example" is that
    of the control, each with its "word", "strength" from 0 to 1, and "target", the place of the
    token that it looks at most, among these; `report/web/figure/texts.js`."""

    seen: Callable[..., str] = _no_text
    """`seen(data, **state)`: what there is to see; sentences after the first are folded.

    They follow the controls. A figure that has too many states (`report.pages.sentences`) has them
    of the one in which it opens, and they go when another is chosen.
    """

    alt: Callable[..., str] | None = None
    """`alt(data, **state)`: what is drawn, for those who do not see it.

    Default: title, state, what it shows and what there is to see; a grid says what a chart has.
    """

    left_out: Callable[[Data], str] = _no_text
    """Why it cannot be drawn of these data, one sentence; "" if it can."""

    aspect: float | None = None
    """Width / height of the chart's box. Default: 1.6."""

    phone_aspect: float | None = None
    """The same on a phone. Default: `aspect`, or 1.05 if that is left out too."""

    boxes: Callable[[Data], list[Box]] | None = None
    """The room of each chart, where it depends on the model; else `aspect` decides."""

    of_models: bool = False
    """Whether it shows all models of an article at once.

    Its `data` is then a `PassageModels`. Any other figure gets a switch between the models.
    """

    paints_pixels: bool = False
    """Whether `rows` paints with colours of its own, so that it must be told `dark`."""

    panels: Callable[[Data], list[str]] | None = None
    """The title of each chart of a grid, row by row; None for a figure that is one chart.

    In a title {layer} and the like follow the controls. `chart`, `rows` and `alt` of a grid get the
    number of the chart, from 0, as `panel`.
    """

    columns: Callable[[Data], int] | int = 1
    """How many charts of a grid stand side by side where there is room."""

    legends: Callable[[Data], list[list[dict[str, str]]]] = _nothing
    """For each row of a grid what its lines are.

    An entry has label, mark ("line", "dash", "dots" or "span"), light and dark (colours).
    """

    of: tuple[type, ...] = ()
    """Classes of the data that it can be drawn of, see `Data`; (): of any.

    Default: as `chart` annotates its `data`. Of other data it says so, before a model is measured.
    """

    one_model: "Figure | None" = None
    """The figure of one model that this one has a switch for; see `build/per_model.py`."""


def of_other(data: Data, *kinds: str) -> str:
    """Why a figure that shows these kinds of data cannot be drawn of others; "" if it can.

    kinds: values of `data.kind`, such as "passage"
    """
    if data.kind in kinds:
        return ""
    return f"It shows what was measured of a {' or a '.join(kinds)}."
