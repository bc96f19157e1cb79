"""Attach to a model so that every layer's attention is measured, and undo everything afterwards.

Attention is reached by one of four routes, chosen by what ran in the model's first layer:

    interface    the attention interface of transformers (most families): a function is registered
                 under a name of our own, together with the mask that belongs to it
    own forward  families with a file in `own` (falcon, bloom, mpt): it makes a new forward for an
                 attention module
    sdpa         modules that call torch's scaled_dot_product_attention: `sdpa_spy`
    softmax      modules that call torch's softmax: `softmax_spy`; scores and probabilities only

All but the first replace the forward of the attention modules. Each hands a layer's attention to
the recorder, see `Recorder`.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

import torch
from transformers import PreTrainedModel

from report.errors import ReportError
from report.measurements.decomposition import probability, score
from report.measurements.factors import Factors, Scores
from report.measurements.visible import Visible
from report.models.attention import positions, sdpa_spy, softmax_spy
from report.models.attention.completion import Completion
from report.models.attention.kernel import streaming_attention
from report.models.attention.modes import (
    evaluating,
    forwards,
    hooked,
    implementation,
    interface,
)
from report.models.attention.own_forwards import OWN_FORWARDS, WITHOUT_MASK
from report.models.attention.probe import architecture, text_config
from report.models.attention.recorder import Recorder
from report.models.attention.structure import route_of, structure

UNMASKED = "report_unmasked"
"""A name under which transformers knows no mask: the model then builds no [1, heads, T, T] mask."""


@contextmanager
def attached(
    model: PreTrainedModel,
    recorder: Recorder,
    layers: Iterable[int] | None = None,
    alibi_factor: float = 1,
) -> Iterator[list[int]]:
    """Within the context, every layer's attention of `model` is computed by `recorder`.

    recorder: Recorder
    layers: indices to attach to (others run as they are); None attaches to all
    alibi_factor: what ALiBi is multiplied by; 2 is what transformers' eager Falcon computes
    yields: the list of layers measured so far, in the order of the calls
    The model is as before afterwards, also when an exception passes: forwards, hooks, attention
    implementation, and every module's training mode (within, the model is in evaluation mode).
    raises: ReportError for an ALiBi factor that the model has no use for; or, while a text runs,
        for a layer with another number of heads, or a hidden state that is NaN or infinite
    """
    parts, route = structure(model), route_of(model)
    if alibi_factor != 1 and route != "own forward":
        raise ReportError(
            f"alibi_factor={alibi_factor:g} is for models with ALiBi reached by a forward of ours "
            f"({', '.join(sorted(OWN_FORWARDS))}), not for {architecture(model)}; leave it at 1"
        )
    chosen = {index: parts[index] for index in (range(len(parts)) if layers is None else layers)}
    calls = []
    with ExitStack() as undo:
        undo.enter_context(evaluating(model))
        completion = undo.enter_context(_completion(model, chosen, recorder))
        if recorder.wants_factors:
            undo.enter_context(positions.watched(model))

        def attention(layer, factors, value):
            if factors.heads != parts[layer].heads:
                raise ReportError(
                    f"architecture {architecture(model)}: layer {layer} has {factors.heads} heads, "
                    f"layer 0 has {parts[0].heads}; only models with as many heads in every "
                    "layer are measured"
                )
            completed = completion.completed(layer, factors)
            calls.append(layer)
            if isinstance(completed, Factors):
                return recorder.attention(layer, completed, value)
            recorder.attention(layer, completed, None)
            return None if value is None else _context(completed, value)

        if recorder.updates is not None:
            undo.enter_context(_updates(chosen, recorder.updates))
        reached = _ROUTES[route](model, chosen, attention, alibi_factor=alibi_factor)
        undo.enter_context(reached)
        yield calls


def _completion(model, chosen, recorder):
    """What fills in the factors that a route has found."""
    parts = structure(model)
    if not recorder.wants_factors:
        return Completion(parts, [])
    given = route_of(model) == "own forward"
    known = partial(positions.embedded, model)
    return Completion(parts, chosen, recorder.wants_rotary_terms, given, known)


@contextmanager
def _through_interface(model, chosen, attention, **_):
    index_of = {part.attention: index for index, part in chosen.items()}
    eager = model.config._attn_implementation == "eager"
    ranges = {}  # the layers of a pass share their masks: id to (mask, Visible)

    def function(
        module,
        query,
        key,
        value,
        attention_mask,
        scaling=None,
        **options,
    ):
        is_causal = options.get("is_causal")
        if is_causal is None:
            is_causal = getattr(module, "is_causal", True)
        if attention_mask is None and eager:  # which adds nothing where it gets no mask
            is_causal = False
        sink, position_bias = options.get("s_aux"), options.get("position_bias")
        factors = Factors(
            query[0],
            key[0],
            query_bias=None,
            key_bias=None,
            position=None,
            scale=query.shape[-1] ** -0.5 if scaling is None else scaling,
            softcap=options.get("softcap"),
            sink=None if sink is None else sink.detach(),
        )
        _require_known(model, options)
        factors = _masked(factors, attention_mask, is_causal, ranges)
        if position_bias is not None:  # learned, one for every pair of tokens and every head
            factors = Scores(score(factors) + position_bias[0], factors.range())
        if module in index_of:
            context = attention(index_of[module], factors, value[0])
        else:
            context = _unseen(factors, value[0])
        return context.transpose(0, 1)[None].contiguous(), None  # [1, T, heads, value_dim]

    with interface(model, function):
        yield


def _require_known(model, options):
    """Refuse what an architecture hands to its attention besides, if it may change the scores."""
    for name, option in options.items():
        numbers = isinstance(option, torch.Tensor) and option.is_floating_point()
        if numbers and name not in ("s_aux", "position_bias"):
            raise ReportError(
                f"architecture {architecture(model)} is not supported: its attention computes with "
                f"'{name}', which is not measured; choose another model"
            )


def _unseen(factors, value):
    """The context of a layer that is not measured."""
    if isinstance(factors, Scores):
        return _context(factors, value)
    return streaming_attention(factors, value)


def _context(scores, value):
    """The context of `Scores`, float [heads, T, value_dim]; value as of `Factors`."""
    shared = scores.heads // value.shape[0]
    return probability(scores).to(value.dtype) @ value.repeat_interleave(shared, 0)


def _masked(factors, mask, is_causal, ranges):
    """The factors under a mask: what it hides, and what it adds if that is like ALiBi; else Scores.

    mask: bool (true where a target is visible) or float (added to the scores), [1, heads or 1, T or
        1, T]; None is causal, or full attention
    ranges: dict that remembers what bool masks leave visible, as the layers of a pass share them
    """
    if mask is None:
        visible = None if is_causal else Visible.full(factors.length, factors.query.device)
        return replace(factors, visible=visible)
    cells = mask[0].expand(-1, factors.length, -1)
    if mask.dtype != torch.bool:
        return sdpa_spy.with_added(factors, cells, value=None)[0]
    if id(mask) not in ranges:
        visible = sdpa_spy.common_targets(cells)
        ranges.clear()  # an id is the mask's own only while the mask is kept
        ranges[id(mask)] = mask, None if visible.is_causal else visible
    return replace(factors, visible=ranges[id(mask)][1])


@contextmanager
def _own_forward(model, chosen, attention, alibi_factor):
    family = text_config(model).model_type

    def make(part, record):
        return OWN_FORWARDS[family](part.attention, record, alibi_factor=alibi_factor)

    # Without a mask no layer can run as it is, so those not measured run by our forward too.
    others = dict(enumerate(structure(model)))
    others = {index: part for index, part in others.items() if index not in chosen}
    with ExitStack() as undo:
        if family in WITHOUT_MASK:
            undo.enter_context(implementation(model, UNMASKED))
        undo.enter_context(_forwards(chosen, attention, make))
        undo.enter_context(_forwards(others, lambda _, *given: _unseen(*given), make))
        yield


def _sdpa(_, chosen, attention, **__):
    def make(part, record):
        return sdpa_spy.measured_forward(part.attention, record)

    return _forwards(chosen, attention, make)


def _softmax(_, chosen, attention, **__):
    def make(part, record):
        return softmax_spy.measured_forward(part.attention, record, part.heads)

    return _forwards(chosen, attention, make)


_ROUTES = {
    "interface": _through_interface,
    "own forward": _own_forward,
    "sdpa": _sdpa,
    "softmax": _softmax,
}


def _forwards(chosen, attention, make):
    """Replace the forward of every chosen attention module by make(part, record)."""
    made = ((part.attention, make(part, partial(attention, at))) for at, part in chosen.items())
    return forwards(dict(made))


def _updates(chosen, updates):
    """Within the context, `updates` is told of every chosen layer that is run, see `Recorder`."""
    entering = {}

    def remember(index, _, args, kwargs):
        hidden_state = (args[0] if args else kwargs["hidden_states"])[0]
        # A sum is quicker than a test of every value, but in half precision it can overflow.
        if not (torch.isfinite(hidden_state.sum()) or torch.isfinite(hidden_state).all()):
            raise ReportError(
                f"layer {index}, every head: the hidden state that enters the layer is NaN or "
                "infinite; check the weights, and measure in float32"
            )
        entering[index] = hidden_state

    def tell(index, heads, _, args, output):
        if index not in entering:
            raise ReportError(
                f"layer {index} computes more than one attention, which is not measured; only "
                "models whose layers compute one are"
            )
        size = args[0].shape[-1]
        parts = heads if size % heads == 0 else 1  # the self-check sees that it is no context
        context = args[0].reshape(-1, parts, size // parts).transpose(0, 1)
        # A model spread over GPUs moves it to the layer's own only after the hook has seen it.
        hidden_state = entering.pop(index).to(output.device)
        updates(index, hidden_state, context, output.reshape(-1, output.shape[-1]))

    hooks = []
    for index, part in chosen.items():
        if part.measures_updates:
            enter, leave = partial(remember, index), partial(tell, index, part.heads)
            hooks.append(part.module.register_forward_pre_hook(enter, with_kwargs=True))
            hooks.append(part.output_projection.register_forward_hook(leave))
    return hooked(hooks)
