"""Average attention weight by position, under several conditions: the panels of such a figure, and
the words that they share. `received_numbers` has the numbers of a panel, `received_chart` draws it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from report.errors import ReportError
from report.figures.parts import choices, grid, score_terms
from report.figures.parts.heads import head_label
from report.kinds.conditions.data import ModelConditions
from report.text import slug, told_apart

ASPECTS = {1: 2, 2: 1.6, 3: 1.3, 4: 1.1}
"""How many panels stand side by side -> width / height of each. More would be too narrow."""

PHONE_ASPECT = 1.35
"""Width / height of panels below each other."""

Y_TITLE = "Average Attention Weight"

REDUCTIONS = {"mean": "all that see the position", "last": "the last one only"}
"""Current tokens that a weight is the average over -> what the reader reads."""

SPAN = ("#dde0e6", "#3a404d")
"""Grey behind what a condition adds, on light and on dark."""


@dataclass(frozen=True)
class Style:
    """How a line looks; its dash tells it apart without colours."""

    mark: str
    """"line" or "dash", as in a legend."""
    light: str
    dark: str

    @property
    def dash(self) -> list[int]:
        """Lengths of dashes and gaps, as Vega has them."""
        return [6, 3] if self.mark == "dash" else [1, 0]

    @property
    def shape(self) -> str:
        """The shape of a point on the line."""
        return "square" if self.mark == "dash" else "circle"


BLUE = Style("line", "#1f5fc4", "#7fb0ff")
RED = Style("dash", "#c62a35", "#ff8b86")
ORANGE = Style("line", "#b65c00", "#ffb45e")


@dataclass(frozen=True)
class Place:
    """One head of one model."""

    model: ModelConditions
    layer: int
    """Index from 0."""
    head: int
    """Index from 0."""

    @property
    def title(self) -> str:
        """What a reader calls it."""
        return f"{self.model.name} {head_label(self.layer, self.head)}"


@dataclass(frozen=True)
class Line:
    """What is drawn of one condition."""

    condition: str
    label: str
    style: Style


@dataclass(frozen=True)
class Panels:
    """What a grid is drawn of; `panels` makes it."""

    places: tuple[Place, ...]
    """One a column."""
    lines: dict[str, str]
    """Name of a condition -> what the legend calls it; where two are compared, both."""
    added: str
    """What the article calls the segment that the last of these conditions adds to the prompt, e.g.
    "Meaningless tokens". "": by the condition's label."""
    noun: str
    """What such a segment is called after "the": "filler"."""
    rules: bool
    """Whether dashed rules stand at both ends of that segment."""

    kind = "panels"
    address = ""
    """Folder of the datasets below those of the article: each model has one of its own there."""

    @property
    def label(self) -> str:
        """What legends call what the last condition adds."""
        last = list(self.lines)[-1]
        return self.added or self.places[0].model.condition(last).label

    @property
    def adds(self) -> bool:
        """Whether the last condition adds a segment to the prompt, in every panel."""
        last = list(self.lines)[-1]
        return all(place.model.condition(last).new for place in self.places)


@dataclass(frozen=True)
class PanelsByModel:
    """Panels of several models, of which a figure shows one at a time, chosen by a switch."""

    by_name: dict[str, Panels]
    """Name of a model, as addresses have it -> its panels."""

    kind = Panels.kind
    address = Panels.address

    @property
    def models(self) -> list[Panels]:
        return list(self.by_name.values())

    @property
    def names(self) -> list[str]:
        return list(self.by_name)

    @property
    def labels(self) -> list[str]:
        """What figures call the models."""
        return [panels.places[0].model.name for panels in self.models]


def panels(
    models: Sequence[ModelConditions],
    places: Iterable[tuple[int, int, int]],
    lines: dict[str, str] | Sequence[str],
    added: str = "",
    noun: str = "addition",
    rules: bool = False,
) -> Panels:
    """The panels of some heads.

    places: of each, the model's index in `models`, the layer and the head, all from 0
    lines: names of the conditions, with the labels of the study, or a dict of name to label
    added, noun, rules: see `Panels`
    raises: ReportError if a model is missing, a layer or head is less than 0, or there are more
         places than fit side by side
    """
    heads = []
    for model, layer, head in places:
        if not 0 <= model < len(models):
            raise ReportError(
                f"there is no model {model}; this study has {len(models)}, counted from 0."
            )
        if min(layer, head) < 0:
            raise ReportError(
                f"there is no layer {layer}, head {head}; both count from 0: give the numbers of "
                "their titles."
            )
        heads.append(Place(models[model], layer, head))
    if len(heads) not in ASPECTS:
        raise ReportError(
            f"{len(heads)} places are named; give 1 to {max(ASPECTS)} of them, each a (model, "
            "layer, head), and place another figure for more."
        )
    if not isinstance(lines, dict):
        labels = {text.name: text.label for text in models[0].conditions}
        lines = {name: labels.get(name, name) for name in lines}
    return Panels(tuple(heads), dict(lines), added, noun, rules)


def by_model(panels: Sequence[Panels]) -> Panels | PanelsByModel:
    """Panels of one model each, as data of a figure with a switch between the models."""
    if len(panels) == 1:
        return panels[0]
    names = (slug(each.places[0].model.name, "model") for each in panels)
    return PanelsByModel(dict(zip(told_apart(names, "-{}"), panels, strict=True)))


def boxes(data: Panels, rows: int) -> list[grid.Box]:
    """The room of each panel, in rows that have a panel for each place."""
    columns = len(data.places)
    width = grid.WIDTH if columns == 1 else grid.GRID_WIDTH // columns
    return [grid.Box(ASPECTS[columns], PHONE_ASPECT, width)] * (columns * rows)


def styled(data: Panels, *styles: Style) -> list[Line]:
    """The conditions of panels as lines in these styles."""
    named = zip(data.lines.items(), styles, strict=True)
    return [Line(condition, label, style) for (condition, label), style in named]


def reduction_control(wide: bool = False, **options: str) -> choices.Switch:
    """Switch between the averages over current tokens; options: other words for them."""
    return choices.Switch(
        "reduction", "Current tokens", REDUCTIONS | options, "mean", wide=wide, seldom=True
    )


def legend(lines: Iterable[Line], span: str = "") -> list[dict[str, str]]:
    """The entries of a row's legend: its lines, and the shaded span if it has a name."""
    entries = [
        {"label": line.label, "mark": line.style.mark}
        | {"light": line.style.light, "dark": line.style.dark}
        for line in lines
    ]
    if span:
        entries.append({"label": span, "mark": "span", "light": SPAN[0], "dark": SPAN[1]})
    return entries


def named(data: Panels) -> str:
    """What the last condition adds, within a sentence: words of the article, or a label quoted."""
    return lower(data.added) if data.added else f"“{data.label}”"


def lower(label: str) -> str:
    """A label within a sentence: its first letter small, unless it is an abbreviation."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


def explained(data: Panels) -> str:
    """What the vertical axis is, and over how many prompts it is averaged."""
    counts = sorted({place.model.prompts for place in data.places})
    prompts = score_terms.listed(counts)
    over = f" and then over {prompts} prompts" if counts[-1] > 1 else ""
    return (
        "The average attention weight of a position is the mean of its probability over the "
        f"current tokens that can see it{over}. Every panel has a scale of its own. "
        f"{counted(data)}"
    )


def counted(data: Panels) -> str:
    """What the name of the first panel's head says, a sentence."""
    layer, head = data.places[0].layer, data.places[0].head
    return f"{head_label(layer, head)} is head {head} of layer {layer}; both count from 0."


def straddling(data: Panels) -> str:
    """Which tokens lie over the edge of two segments, each sentence after a space; "" if none does.

    It belongs to what is seen, beside the numbers, since these are without such tokens.
    """
    return over_edges((place.model for place in data.places), data.lines)


def over_edges(models: Iterable[ModelConditions], conditions: Iterable[str]) -> str:
    """The same of the conditions of these names, of any models."""
    names = list(conditions)
    every = (said for model in dict.fromkeys(models) for said in model.over_edges(names))
    return "".join(f" Of {sentence}" for sentence in every)


def bands(data: Panels, what: str = "Bands") -> str:
    """What the bands are, a space and a sentence that begins with `what`; "" where there are none.

    Captions say it, since no legend has the bands.
    """
    several = any(place.model.prompts > 1 for place in data.places)
    return f" {what} are one standard error over the prompts." if several else ""


def use(data: Panels) -> str:
    """What the switch does, and what pointing at a position does."""
    several = any(place.model.prompts > 1 for place in data.places)
    which = "; its tokens are those of the first prompt" if several else ""
    return (
        "The switch “Current tokens” shows what the last one alone gives to each position. Point "
        "at a "
        "position, or focus a panel and use the arrow keys, to mark it in all panels and to read "
        f"its values{which}."
    )
