"""What an author asks for that is still to be measured."""

from collections.abc import Callable
from typing import Any

from report.authored.guard import StepError


class LaterError(StepError):
    """A number is asked for that is still to be measured."""


def _later(*_):
    raise LaterError


class Later:
    """Stands for a value that is still to be measured: whatever is made of it is, too."""

    __array_ufunc__ = None  # numpy leaves it to this class
    __getattr__ = __getitem__ = __call__ = __iter__ = __len__ = __contains__ = _later
    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _later
    __str__ = __format__ = __float__ = __int__ = __index__ = __round__ = __abs__ = _later
    __neg__ = __pos__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _later
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _later
    __pow__ = __rpow__ = __array__ = _later


def or_later(make: Callable[[], Any]) -> Any:
    """What a function gives, or a `Later` where that asks for what is still to be measured."""
    try:
        return make()
    except LaterError:
        return Later()
