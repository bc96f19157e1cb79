"""The parts of a model whose updates add up to what its last norm gets, checked on random tokens.

    last hidden state = embedding + sum over layers of (heads + attention's biases + feed-forward)
    logits = scale * (output's weight . a norm of it + output's bias), perhaps capped

Where that is not what a model computes, it is refused with a sentence that says which part is not.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel

from report.effects import found
from report.effects.frozen import NormShape, shape_of
from report.effects.passing import kept, logits_of
from report.errors import ReportError
from report.measurements.precision import summed_by, tolerance
from report.models.attention.probe import architecture, text_config
from report.models.attention.structure import LayerStructure, require_layers, state_of, structure

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

TOKENS = 16
SEED = 20261120
_KNOWN = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class LayerParts:
    """What a layer adds to the hidden state.

    part: its attention, see `LayerStructure`
    norm_after: what the norm after the attention does; None without one
    feed_forward: the module whose output is added, multiplied by `factor`; a mixture of experts is
        one part, as each token's experts are one sum
    value_bias: float [heads * value_dim], what heads write whatever they look at; None if 0
    sink: whether its softmax has a sink, which leaves a row's probabilities to sum to less than 1
    """

    part: LayerStructure
    norm_after: NormShape | None
    feed_forward: nn.Module
    factor: float
    value_bias: torch.Tensor | None
    sink: bool


@dataclass(frozen=True, eq=False)
class Anatomy:
    """The parts of a model.

    norm: the last norm; norm_shape: what it does
    output: the projection to the vocabulary (Linear)
    norm_factor: what multiplies what the norm puts out, 1.0 in most models
    scale: what multiplies the logits (Cohere, Granite)
    cap: logits become cap * tanh(logit / cap) last (Gemma 2); effects are of those before. Or None
    terms: how many terms a logit is summed of, and how many more for every token
    """

    layers: list[LayerParts]
    norm: nn.Module
    norm_shape: NormShape
    output: nn.Module
    norm_factor: float
    scale: float
    cap: float | None
    terms: tuple[int, int]

    def summed(self, tokens: int) -> int:
        """How many terms a logit is summed of, see `summed_by`; for that looks at every weight."""
        return self.terms[0] + self.terms[1] * tokens

    @property
    def heads(self) -> int:
        """Of each layer."""
        return self.layers[0].part.heads


def require_whole(loaded: "LoadedModel") -> None:
    """Stop for a model that is not run up to its logits.

    raises: ReportError
    """
    model = loaded.model
    parts = structure(model)
    if loaded.partial is not None:
        raise ReportError(
            f"model '{loaded.identity['name']}' is loaded in part or layer by layer, and effects "
            "on a prediction need all of it; load all its layers, in memory"
        )
    require_layers(model, text_config(model).num_hidden_layers)
    if model.get_output_embeddings() is None:
        raise ReportError(
            f"architecture {architecture(model)} has no projection to a vocabulary, so it predicts "
            f"no next token; load the class that does ({len(parts)} layers were found)"
        )


def anatomy(loaded: "LoadedModel") -> Anatomy:
    """The parts of a model, found and checked once for its weights.

    raises: ReportError naming what cannot be told apart, for encoders and other models without a
        next token, or for one that is loaded in part
    """
    require_whole(loaded)
    state = state_of(loaded.model.parameters())
    before, known = _KNOWN.get(loaded.model, (None, None))
    if before != state:
        known = _found(loaded.model, random_tokens(loaded))
        _KNOWN[loaded.model] = state, known
    return known


def random_tokens(loaded: "LoadedModel") -> list[int]:
    """Token ids from a fixed seed to try a model on."""
    context = loaded.identity["context"]
    length = TOKENS if context is None else min(TOKENS, context)
    rng = np.random.default_rng(SEED)
    return rng.integers(0, loaded.identity["vocabulary"], length).tolist()


def _found(model: PreTrainedModel, token_ids: list[int]) -> Anatomy:
    parts = structure(model)
    wanted = {("in", index): (part.module, "in") for index, part in enumerate(parts)}
    for index, part in enumerate(parts):
        wanted |= {(index, name): (one, "out") for name, one in part.module.named_modules()}
    output = model.get_output_embeddings()
    wanted |= {"head in": (output, "in"), "head out": (output, "out")}
    with kept(wanted, len(token_ids)) as states:
        logits = logits_of(model, token_ids)
    found.require_one_way(model, token_ids, logits)
    biases, sinks = found.value_biases(model, parts, token_ids)
    layers = [
        _layer(index, part, states, biases[index], index in sinks)
        for index, part in enumerate(parts)
    ]
    last = states[len(parts) - 1, ""]
    norm = found.final_norm(model, [part.module for part in parts], last, token_ids)
    shape = shape_of(norm, last[0])
    with torch.no_grad():
        normed = norm(last[None])[0]
    shape.frozen(last, normed, "the last norm")
    fixed = summed_by([model], 0)
    terms = fixed, summed_by([model], 1) - fixed
    return Anatomy(layers, norm, shape, output, *_scaling(model, states, normed, logits), terms)


def _layer(index, part, states, value_bias, sink):
    own = {
        module: states[index, name]
        for name, module in part.module.named_modules()
        if (index, name) in states and name
    }
    entered, left = states["in", index].double(), states[index, ""].double()
    after, shape = own[part.output_projection], None
    if part.norm_after is not None:
        shape = shape_of(part.norm_after, after[0])
        shape.frozen(after, own[part.norm_after], f"layer {index}: the norm after the attention")
        after = own[part.norm_after]
    if after.shape != entered.shape:
        raise ReportError(
            f"layer {index}: its attention writes to something of another size than its input, so "
            "heads' effects cannot be told apart"
        )
    rest = left - entered - part.residual_multiplier * after.double()
    size = max(float(one.abs().max()) for one in (entered, left, after))
    limit = tolerance(summed_by([part.module], len(left)), size, states[index, ""].dtype)
    # The projection and norm of the attention are counted already.
    others = {one: value for one, value in own.items() if one is not part.output_projection}
    module, factor = found.feed_forward_of(part, index, others, rest, limit)
    return LayerParts(part, shape, module, factor, value_bias, sink)


def _scaling(model, states, normed, logits):
    """What multiplies the norm's output and the logits, and what caps these: see `Anatomy`.

    raises: ReportError if something else happens between the last norm and the logits
    """
    limit = tolerance(summed_by([model], len(logits)), 1.0, logits.dtype)
    cap = getattr(text_config(model), "final_logit_softcapping", None)
    raw = states["head out"]
    first = found.factor_between(normed, states["head in"], limit)
    uncapped = raw
    if cap is not None:
        uncapped = cap * torch.tanh(raw / cap)
    second = found.factor_between(uncapped, logits, limit)
    if first is None or second is None or (cap is not None and second != 1.0):
        raise ReportError(
            f"architecture {architecture(model)}: its logits are not its last norm's output times "
            "the output's weight, a number, and perhaps a cap; direct effects are not measured"
        )
    return first, second, cap
