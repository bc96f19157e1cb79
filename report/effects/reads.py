"""What an attention makes of chosen states: what enters it, its queries, keys and values.

States are put before a module, and the model runs no further than what is asked for.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from report.effects.anatomy import random_tokens
from report.effects.replay import entering
from report.errors import ReportError
from report.measurements.factors import Factors, Scores
from report.models.attention.capture import attached
from report.models.attention.modes import hooked, run_base
from report.models.attention.probe import architecture
from report.models.attention.recorder import Recorder
from report.models.attention.structure import structure

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

AT_ONCE = 256
"""States that a layer is asked about at once, at most."""


def at_once(loaded: "LoadedModel") -> int:
    """How many states a layer may be asked about at once."""
    context = loaded.identity["context"] or AT_ONCE
    return min(AT_ONCE, context - 1)


class CaughtError(Exception):
    """What was asked for is there, and the model need not go on: its argument."""


class Stopping(Recorder):
    """Stops a run at the attention of a layer: `CaughtError` with its factors and its values."""

    wants_factors = False

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """See `Recorder`."""
        raise CaughtError((factors, value))


class _Projections(Stopping):
    wants_factors = True


def what_enters(loaded: "LoadedModel", layer: int, states: torch.Tensor) -> torch.Tensor:
    """What the attention of a layer reads if these states enter the layer, float [rows, size]."""
    part = structure(loaded.model)[layer]

    def catch(_, args, kwargs):
        raise CaughtError(args[0] if args else kwargs["hidden_states"])

    hook = part.attention.register_forward_pre_hook(catch, with_kwargs=True)
    with hooked([hook]), instead(part.module, states):
        return run_to_hook(loaded, layer, states)[0]


def projections(loaded: "LoadedModel", layer: int, states: torch.Tensor) -> list[torch.Tensor]:
    """What an attention makes of the states that it reads, without its biases, as if all of them
    were of the first token.

    states: float [rows, hidden_size]
    returns: queries, keys and values, each float64 [heads or key_heads, rows, head_dim]
    raises: ReportError if it shows scores alone
    """
    part, factor = structure(loaded.model)[layer], loaded.identity["alibi_factor"]
    states = torch.cat([torch.zeros_like(states[:1]), states])
    with (
        instead(part.attention, states),
        attached(loaded.model, _Projections(), [layer], factor),
    ):
        factors, value = run_to_hook(loaded, layer, states)
    if isinstance(factors, Scores) or value is None:
        raise ReportError(
            f"architecture {architecture(loaded.model)}, layer {layer}: its attention modules show "
            "no more than their scores, so what heads read by is not known"
        )
    query, key = factors.unrotated_query, factors.unrotated_key
    query, key = (factors.query, factors.key) if query is None else (query, key)
    return [(each[:, 1:] - each[:, :1]).double() for each in (query, key, value)]


@contextmanager
def instead(module: nn.Module, states: torch.Tensor) -> Iterator[None]:
    """Within the context, a module gets these states, float [rows, hidden_size]."""

    def give(_, args, kwargs):
        if args:
            return (states[None], *args[1:]), kwargs
        return args, kwargs | {"hidden_states": states[None]}

    with hooked([module.register_forward_pre_hook(give, with_kwargs=True)]):
        yield


def run_to_hook(
    loaded: "LoadedModel",
    layer: int,
    states: torch.Tensor,
    ids: Sequence[int] | None = None,
    run: Callable = run_base,
) -> Any:
    """What a hook caught while a layer ran on so many tokens; no layer before it is computed.

    ids: the tokens, where they matter; run: perhaps `run_as_it_is`
    """
    ids = ids or (random_tokens(loaded) * len(states))[: len(states)]
    try:
        with entering(loaded.model, layer, states[None]):
            run(loaded.model, ids)
    except CaughtError as caught:
        return caught.args[0]
    raise AssertionError("no attention was reached")
