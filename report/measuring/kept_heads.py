"""Which heads of each layer articles about a passage or a table keep: `heads` in front matter.

All heads are measured, since they all work in the model. Those that are not kept are dropped before
anything is written, so that figures, prose and sliders are of the others alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from report.errors import ReportError

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


class OfHeads(Protocol):
    """Numbers of all heads of some layers."""

    def first_heads(self, number: int) -> Self:
        """The same of the first heads of each layer."""


Numbers = TypeVar("Numbers", bound=OfHeads)


def require_heads(name: str, there: int | None, asked: int | None) -> None:
    """Refuse more heads of a layer than a model has; ReportError.

    there: None where it is not known yet
    """
    if asked is not None and there is not None and asked > there:
        raise ReportError(
            f"model '{name}' has {there} heads a layer (0 to {there - 1}), asked for were the "
            f"first {asked}; ask for fewer, or leave `heads` out"
        )


def require(loaded: LoadedModel, number: int | None) -> None:
    """Stop for more heads than the model has; ReportError."""
    require_heads(loaded.identity["name"], loaded.structure[0].heads, number)


def of(measured: Numbers, number: int | None) -> Numbers:
    """What was measured, of the heads that are kept; None: all."""
    return measured if number is None else measured.first_heads(number)


def parts(number: int | None) -> dict:
    """What the datasets depend on."""
    return {} if number is None else {"heads": number}


def words(number: int | None) -> list[str]:
    """Options of a command."""
    return [] if number is None else ["--heads", f"0-{number - 1}"]


def told(number: int | None) -> dict:
    """What a manifest says."""
    return {} if number is None else {"heads_kept": number}
