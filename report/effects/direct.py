"""Direct effects: what each part adds to a logit, or to the difference of two, by itself.

    effect = (output's weight of the token) . (last norm's gain * the part's update) / its scale

with the scale that the norm had for the whole hidden state, so the effects of all parts sum to the
logit. That is checked on every text. What a part changes by way of later layers is not in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.effects.anatomy import Anatomy, anatomy
from report.effects.asked import Asked, chosen, of_rows, rows_of
from report.effects.frozen import Frozen
from report.effects.parts import value_bias
from report.effects.passing import RowRecorder, kept, logits_of
from report.errors import ReportError
from report.measurements.precision import tolerance
from report.models.attention.capture import attached

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


@dataclass(frozen=True)
class Direct:
    """What each part adds to what is asked, row by row; all float64.

    asked: the rows
    heads: [rows, layers, heads], without their value biases
    attention_bias: [rows, layers], of the output projection and of the heads' values
    feed_forward: [rows, layers], with its biases
    embedding: [rows], of all that enters the first layer, positions too
    norm_bias, output_bias: [rows], of the last norm, and of the output
    logit: [rows], what is asked as the model computes it, before a cap
    cap: logits become cap * tanh(logit / cap) last, which no part can be given a share of; or None
    off: how far the sum of all is from `logit`, at most
    """

    asked: tuple[Asked, ...]
    heads: np.ndarray
    attention_bias: np.ndarray
    feed_forward: np.ndarray
    embedding: np.ndarray
    norm_bias: np.ndarray
    output_bias: np.ndarray
    logit: np.ndarray
    cap: float | None
    off: float

    @property
    def total(self) -> np.ndarray:
        """The sum of all parts, float64 [rows]."""
        layers = self.heads.sum((1, 2)) + self.attention_bias.sum(1) + self.feed_forward.sum(1)
        return layers + self.embedding + self.norm_bias + self.output_bias


@dataclass(frozen=True, eq=False)
class Directed:
    """A pass over a text, and the directions in which it is looked at.

    parts: of the model
    states: what was kept of the pass at the rows, see `kept`
    logits: float [T, vocabulary], the model's own
    direction: float64 [rows, hidden_size], in which the last hidden state makes what is asked
    into: for each layer, float64 [rows, heads * value_dim]: what a head's context is worth there
    norm: the last norm at the rows
    recorder: what was seen of the attention; None where nothing was to be
    fixed: float64 [rows] each, what the last norm's shift and the output's bias add
    """

    parts: Anatomy
    rows: list[int]
    states: dict
    logits: torch.Tensor
    direction: torch.Tensor
    into: list[torch.Tensor]
    norm: Frozen
    recorder: RowRecorder | None
    fixed: tuple[torch.Tensor, torch.Tensor]


def direct_effects(
    loaded: "LoadedModel", token_ids: Sequence[int], asked: Sequence[Asked]
) -> Direct:
    """What every part of a model adds to logits of next tokens.

    token_ids: the text; asked: one or more logits or differences, each a row of the result
    raises: ReportError if the parts cannot be told apart, or do not sum to the logit
    """
    return effects_of(asked, directed(loaded, token_ids, asked), len(token_ids))


def directed(
    loaded: "LoadedModel",
    token_ids: Sequence[int],
    asked: Sequence[Asked],
    attention: bool = False,
) -> Directed:
    """Run a text, and find the directions in which parts make what is asked.

    attention: whether probabilities and values are kept; they are for models with sinks, too
    """
    parts, model = anatomy(loaded), loaded.model
    rows = rows_of(asked, len(token_ids), parts.output.weight.shape[0])
    sinks = any(layer.sink for layer in parts.layers)
    recorder = RowRecorder(rows) if attention or sinks else None
    with kept(_wanted(parts), len(token_ids), rows) as states:
        if recorder is None:
            logits = logits_of(model, token_ids)
        else:
            with attached(model, recorder, alibi_factor=loaded.identity["alibi_factor"]):
                logits = logits_of(model, token_ids)
    norm = parts.norm_shape.frozen(states["last"], states["normed"], "the last norm")
    towards = chosen(parts.output.weight.detach(), asked).double() * parts.scale
    towards *= parts.norm_factor
    direction = norm.back(towards)
    bias = parts.output.bias
    output_bias = torch.zeros(len(rows), dtype=torch.float64)
    if bias is not None:
        output_bias = chosen(bias.detach(), asked).double() * parts.scale
    into = [_into(layer, index, states, direction) for index, layer in enumerate(parts.layers)]
    fixed = (towards @ norm.shift, output_bias)
    return Directed(parts, rows, states, logits, direction, into, norm, recorder, fixed)


def effects_of(asked: Sequence[Asked], run: Directed, length: int) -> Direct:
    """The direct effects of a pass over `length` tokens, whose sum is compared with its logits.

    raises: ReportError where they do not sum to these
    """
    heads, biases, forwards = [], [], []
    for index, layer in enumerate(run.parts.layers):
        context, bias = run.states["context", index].double(), _bias(run, index)
        count = layer.part.heads
        heads.append((run.into[index] * (context - bias)).unflatten(1, (count, -1)).sum(-1))
        biases.append((run.into[index] * bias).sum(-1) + _projection_bias(run, index))
        forward = layer.factor * run.states["feed-forward", index].double()
        forwards.append((run.direction * forward).sum(-1))
    logit = _logit(run, asked)
    found = Direct(
        tuple(asked),
        torch.stack(heads, 1).cpu().numpy(),
        torch.stack(biases, 1).cpu().numpy(),
        torch.stack(forwards, 1).cpu().numpy(),
        (run.direction * run.states["first"].double()).sum(-1).cpu().numpy(),
        *(values.cpu().numpy() for values in run.fixed),
        logit.cpu().numpy(),
        run.parts.cap,
        0.0,
    )
    return _checked(found, run, length)


def _wanted(parts):
    wanted = {
        "first": (parts.layers[0].part.module, "in"),
        "last": (parts.layers[-1].part.module, "out"),
        "normed": (parts.norm, "out"),
    }
    if parts.cap is not None:
        wanted["output"] = parts.output, "out"
    for index, layer in enumerate(parts.layers):
        wanted["context", index] = layer.part.output_projection, "in"
        wanted["feed-forward", index] = layer.feed_forward, "out"
        if layer.norm_after is not None:
            wanted["attention", index] = layer.part.output_projection, "out"
            wanted["attention normed", index] = layer.part.norm_after, "out"
    return wanted


def _norm_after(layer, index, states) -> Frozen | None:
    if layer.norm_after is None:
        return None
    before, after = states["attention", index], states["attention normed", index]
    return layer.norm_after.frozen(before, after, f"layer {index}: the norm after the attention")


def _into(layer, index, states, direction):
    """What a number of the joined contexts is worth: float64 [rows, heads * value_dim]."""
    norm = _norm_after(layer, index, states)
    through = direction if norm is None else norm.back(direction)
    states["through", index] = through, norm
    weight = layer.part.output_weight()
    wide = torch.promote_types(weight.dtype, torch.float32)
    return layer.part.residual_multiplier * (through.to(wide) @ weight.to(wide)).double()


def _bias(run, index):
    """What the value biases make of the contexts, float64 [rows, heads * value_dim]."""
    layer = run.parts.layers[index]
    given = run.recorder.probability[index].double().sum(-1).T if layer.sink else None
    bias = value_bias(layer, given)
    like = run.into[index]
    return torch.zeros_like(like) if bias is None else bias.flatten(1).expand_as(like)


def _projection_bias(run, index):
    """Of the output projection, and of the norm after it, float64 [rows]."""
    layer = run.parts.layers[index].part
    through, norm = run.states["through", index]
    total = torch.zeros(len(run.rows), dtype=torch.float64, device=run.direction.device)
    if layer.output_projection.bias is not None:
        total = total + through @ layer.output_projection.bias.detach().double()
    if norm is not None:
        total = total + run.direction @ norm.shift
    return layer.residual_multiplier * total


def _logit(run, asked):
    """What is asked, as the model computes it, before a cap: float64 [rows]."""
    if run.parts.cap is None:
        return of_rows(run.logits, asked, run.rows)
    return of_rows(run.states["output"], asked) * run.parts.scale


def _checked(found: Direct, run: Directed, length: int) -> Direct:
    """The same with how far its sum is off.

    raises: ReportError where that is more than rounding explains
    """
    off = float(np.abs(found.total - found.logit).max())
    layers = [np.abs(found.heads).sum((1, 2)), np.abs(found.feed_forward).sum(1)]
    layers += [np.abs(found.attention_bias).sum(1), np.abs(found.embedding), np.abs(found.logit)]
    size = max(1.0, float(max(one.max() for one in layers)))
    most = tolerance(run.parts.summed(length), size, run.logits.dtype)
    if not off <= most:
        raise ReportError(
            f"direct effects do not sum to the logit: they are off by {off:.3g}, allowed is "
            f"{most:.3g}; measure in float32, or report the architecture"
        )
    return replace(found, off=off)
