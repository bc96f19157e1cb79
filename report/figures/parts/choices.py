"""What a reader may change in a figure: sliders and switches, drawn by the page, not by Vega."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Protocol

import altair

from report.errors import ReportError


@dataclass(frozen=True)
class Control:
    """A slider over integers."""

    param: str
    """Name in the URL, of the Vega param if the figure has one, and in the dataset's address."""
    label: str
    minimum: int
    maximum: int
    value: int
    labels: list[str] | None = None
    """What a reader sees of each value instead, from the minimum on."""
    labels_of: dict[str, list[str]] | None = None
    """The same by model, where a figure has a switch between models whose labels differ."""
    seldom: bool = False
    """True if it stands behind "More controls": its words are explained below the figure."""

    @property
    def shown(self) -> str:
        """What a reader sees of the value."""
        if self.labels:
            return self.labels[self.value - self.minimum]
        return str(self.value)

    @property
    def fixed(self) -> bool:
        """True if there is nothing to choose."""
        return self.minimum == self.maximum

    def check(self, value: int) -> int:
        """The value itself.

        raises: ReportError if the slider does not reach it
        """
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not self.minimum <= value <= self.maximum:
            raise ReportError(
                f"{self.param}={value!r} is not allowed; "
                f"give a whole number from {self.minimum} to {self.maximum}."
            )
        return value


MANY = 8
"""Options of a switch; more have no room in a row."""


@dataclass(frozen=True)
class Switch:
    """A choice between a few named values."""

    param: str
    label: str
    options: dict[str, str]
    """Value of the param -> what the reader reads."""
    value: str
    look: bool = False
    """True if it changes how a chart looks, and not what there is to see in it."""
    wide: bool = False
    """True if a phone has no room for it; it stays as it is there."""
    seldom: bool = False
    """As of a slider."""
    fixed = False

    @property
    def many(self) -> bool:
        """Whether its options are a list that opens, and not a row."""
        return len(self.options) > MANY

    def check(self, value: str) -> str:
        """The value itself.

        raises: ReportError if it is none of the options
        """
        if value not in self.options:
            allowed = ", ".join(self.options)
            raise ReportError(f"{self.param}={value!r} is not allowed; give one of: {allowed}.")
        return value


class Heads(Protocol):
    """Data of a model with a number of layers, and of heads a layer."""

    layers: int
    heads: int


State = dict[str, int | str]
"""Where controls stand: dict of param to value."""


def layer_control(data: Heads) -> Control:
    """Slider over the layers, in the middle at first."""
    return Control("layer", "Layer", 0, data.layers - 1, data.layers // 2)


def head_control(data: Heads) -> Control:
    """Slider over the heads of a layer."""
    return Control("head", "Head", 0, data.heads - 1, 0)


def at_state(controls: Iterable[Control | Switch], state: State) -> list[Control | Switch]:
    """The controls with the values of `state`.

    raises: ReportError if a param is unknown or a value is out of reach
    """
    known = [control.param for control in controls]
    for param in state:
        if param not in known:
            allowed = ", ".join(known) or "none"
            raise ReportError(f"unknown control {param!r}; this figure has: {allowed}.")
    return [replace(c, value=c.check(state.get(c.param, c.value))) for c in controls]


def values(controls: Iterable[Control | Switch], state: State) -> State:
    """`state`, with the values of the controls where it says nothing.

    raises: ReportError if a param is unknown or a value is out of reach
    """
    return {control.param: control.value for control in at_state(controls, state)}


def params(state: State) -> list[altair.Parameter]:
    """The params of a chart that controls set."""
    return [altair.param(name=name, value=value) for name, value in state.items()]


def filled(text: str, controls: Iterable[Control | Switch]) -> str:
    """A text with {param} replaced by what a reader sees of that slider, or of that switch."""
    for control in controls:
        slider = isinstance(control, Control)
        shown = control.shown if slider else control.options[control.value]
        text = text.replace("{" + control.param + "}", shown)
    return text


def is_look(control: Control | Switch) -> bool:
    """Whether a control changes how a chart looks, and not what there is to see in it."""
    return isinstance(control, Switch) and control.look


def is_behind(control: Control | Switch) -> bool:
    """Whether a control stands behind "More controls", after all others."""
    return control.seldom and not control.fixed


def said(controls: Iterable[Control | Switch]) -> str:
    """Where the controls stand, in words: "layer 3, head 2; current tokens: the last one only".

    Controls that leave no choice are not mentioned, nor are those of a look.
    """
    free = [control for control in controls if not (control.fixed or is_look(control))]
    numbers = [
        f"{_lower(control.label.partition(' (')[0])} {control.shown}"
        for control in free
        if isinstance(control, Control)
    ]
    choices = [
        f"{_lower(control.label)}: {control.options[control.value]}"
        for control in free
        if isinstance(control, Switch)
    ]
    return "; ".join([*([", ".join(numbers)] if numbers else []), *choices])


def _lower(label):
    return label[:1].lower() + label[1:]


def as_json(controls: Iterable[Control | Switch]) -> list[dict]:
    """The controls as the page's script reads them."""
    return [
        {
            name: value
            for name, value in asdict(control).items()
            if value is not None and name != "seldom"
        }
        for control in controls
    ]


def chosen(param: str, texts: dict[str, str]) -> str:
    """A Vega expression: the text of the option at which a switch stands.

    texts: option -> text
    """
    return f"{json.dumps(texts)}[{param}]"
