"""Where controls of a figure can stand, as far as that is known before anything is measured."""

from collections.abc import Mapping
from typing import ClassVar

from report.errors import ReportError
from report.figures import Figure
from report.figures.build.per_model import PARAM as MODEL
from report.figures.parts import target_classes
from report.figures.parts.choices import Switch
from report.text import nearest

SIZES = {"layer": "layers", "head": "heads"}
"""Control -> what a model has so many of."""


class _Unknown:
    """What is not measured yet. Whatever is made of it is not known either."""

    certain = True
    """Of the object that stands for all data: False once a plain value was made of this."""

    def __init__(self, data=None):
        self._data = data if data is not None else self

    def _again(self, *_, **__):
        return _Unknown(self._data)

    def _plain(self, value):
        self._data.certain = False
        return value

    __call__ = __getitem__ = __add__ = __radd__ = __sub__ = __rsub__ = _again
    __mul__ = __rmul__ = __floordiv__ = __truediv__ = __mod__ = __neg__ = _again

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Unknown(self._data)

    def __len__(self):
        return self._plain(1)

    __index__ = __int__ = __len__

    def __iter__(self):
        return self._plain(iter([_Unknown(self._data)]))

    def __lt__(self, _):
        return self._plain(False)

    __le__ = __gt__ = __ge__ = __contains__ = __lt__

    def __format__(self, _):
        return self._plain("?")


class _Data(_Unknown):
    """Data of a model of which only the size is known."""

    SOME: ClassVar = {"targets": tuple(target_classes.NAMES), "renderings": {"": _Unknown()}}
    """What is of a kind that is known, while nobody knows yet which of it there are."""

    def __init__(self, size):
        super().__init__()
        for name in SIZES.values():
            if size.get(name) is not None:
                setattr(self, name, size[name])

    def __getattr__(self, name):
        return self._plain(self.SOME[name]) if name in self.SOME else super().__getattr__(name)


def check_state(
    figure: Figure, state: Mapping[str, object], size: Mapping[str, int | None], several: bool
) -> None:
    """Stop for a control that a figure does not have, or a value that it does not reach.

    state: of the controls; None for a value that is not written down
    size: "layers" and "heads" of the model, None for what is not known
    several: whether the figure has a switch between models besides
    raises: ReportError with the nearest control, or what is allowed
    """
    data = _Data(size)
    try:
        controls = figure.controls(data)
        known = [control.param for control in controls] + [MODEL] * several
    except Exception:  # it asks for what only a measurement has
        return
    for param in state:
        if param not in known:
            near = nearest(param, known)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ReportError(
                f"unknown control {param!r}; {hint}{figure.name} has: {', '.join(known) or 'none'}."
            )
    for control in controls:
        value = state.get(control.param)
        if value is not None and _is_known(control, data, size):
            control.check(value)


def _is_known(control, data, size):
    """Whether the values of a control are known already."""
    if isinstance(control, Switch):
        return data.certain and isinstance(control.options, dict)
    number = size.get(SIZES.get(control.param))
    if number is not None and control.maximum == number - 1:
        return True
    return data.certain and {type(control.minimum), type(control.maximum)} == {int}
