"""Proof, once for every loaded model, that what is measured is what the model computes."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from report.errors import ReportError
from report.measurements import decomposition
from report.measurements.factors import Factors, Scores
from report.measurements.precision import summed_by, tolerance
from report.models.attention.kernel import streaming_attention
from report.models.attention.recorder import Recorder
from report.models.attention.running import (
    Run,
    require_all_tokens,
    require_one_attention,
    require_sound_end,
)
from report.models.attention.structure import LayerStructure, route_of
from report.models.attention.updates import updates
from report.text import count

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

TOKENS = 16
SEED = 20261120
SUMMED = {
    "rows_sum_to_one": ("tokens",),
    "biases": ("hidden",),
    "positions": ("hidden",),
    "terms_sum_to_score": ("head", "head"),
    "probability_from_terms": ("head", "head", "tokens"),
    "updates_sum_to_output": ("context",),
    "updates_sum_to_norm": ("context", "hidden"),
    "update_length": ("context", "hidden"),
    "output": ("model",),
}
"""For each difference, the sizes that its sums run over: the tokens, the dimensions of the hidden
state, of a head's query (once in the score, once in the terms) or of all heads' contexts, or
everything in the measured layers. `limit` makes of them the rounding that is allowed."""
OF_THE_MODEL = ("biases", "positions", "updates_sum_to_output", "updates_sum_to_norm", "output")
"""Those that depend on the precision in which the model itself computes."""
HALF_PRECISION_LIMIT = 0.1
"""Of a model in half precision, which rounds every number on the way by up to 0.004."""

SCORES_ONLY = "its attention modules show no more than their scores"
ENTANGLED = "a norm comes after the biases of queries and keys, so they are in what is compared"
NONE = "it neither rotates nor adds ALiBi"
ADDED = "it adds positions to its embeddings, so they are in every hidden state"


def checked(loaded: "LoadedModel") -> dict[str, Any]:
    """The numbers of `self_check`, computed once per loaded model."""
    if loaded.checked is None:
        loaded.checked = self_check(loaded)
        loaded.identity["capabilities"] = loaded.checked["capabilities"]
    return loaded.checked


def capabilities(loaded: "LoadedModel") -> dict[str, Any]:
    """What is measured on a model, from its self-check: "route" and `Checking.capabilities`."""
    return checked(loaded)["capabilities"]


def recorded(loaded: "LoadedModel", announce: Callable[[str], object]) -> dict:
    """The manifest's entries about a model; says which of its weights are nothing but zeros."""
    found = checked(loaded)
    zeros = sorted(loaded.zeros)
    if zeros:
        announce(
            f"{loaded.identity['name']}: {count(len(zeros), 'weight')} of nothing but zeros, the "
            f"first is {zeros[0]}; if it was not made so, its file is damaged: fetch it again"
        )
    return {
        "model": loaded.identity
        | {"weights_sha256": loaded.weights_sha256}
        | ({"zeros": zeros} if zeros else {}),
        "self_check": {name: found[name] for name in found if name != "capabilities"},
        "seed": SEED,
    }


def self_check(loaded: "LoadedModel") -> dict[str, Any]:
    """Compare a measured forward pass with the untouched model on 16 random tokens (seeded).

    returns: dict with "tokens", "seed", "layers_called", "differences", "limits" and
        "capabilities". differences has those of these that the model has something for:
        rows_sum_to_one: of a row of probabilities and the sink's share, from 1
        biases: twice the hidden state, less once, against once less none (the biases), relative
            to the largest query or key; and the biases of a family's file against the latter
        positions: what positions, and all else, put into queries and keys of layer 0, likewise
        terms_sum_to_score: the sum of the terms and the row constant, capped, against the score,
            relative to the largest score or term where that is above 1
        probability_from_terms: softmax of the sum of the terms, against the probability used for
            the context, likewise relative to the largest score or term
        updates_sum_to_output: sum of the heads' updates + bias against the output of the
            projection, relative to its largest value
        updates_sum_to_norm: the same of effective updates against the output of the norm after it
        update_length: the measured one against that of the update itself, relative
        output: the last attention's against the untouched model's, relative
    raises: ReportError naming the first difference above its limit, or whatever else is wrong
    ALiBi counts once in it, whatever `alibi_factor` is.
    """
    context = loaded.identity["context"]
    length = TOKENS if context is None else min(TOKENS, context)
    rng = np.random.default_rng(SEED)
    token_ids = rng.integers(0, loaded.identity["vocabulary"], length).tolist()
    checking = Checking(loaded.structure)
    runs = [
        Run(token_ids, attention=_other(loaded.model)),
        Run(token_ids),
        Run(token_ids, checking),
    ]
    other, plain, measured = loaded.run(runs)
    differences = checking.differences | {"output": _difference(measured, plain, 0.0)}
    require_all_tokens(loaded.model, plain, length)
    measured_layers = [part.module for part in checking.structure[: len(checking.layers)]]
    sizes = checking.sizes | {"tokens": length, "model": summed_by(measured_layers, length)}
    limits = {name: limit(name, sizes, plain.dtype) for name in SUMMED if name in differences}
    _require_within_limits(differences, limits)
    require_one_attention(loaded.model, plain, other, limits["output"])
    if loaded.partial is None:
        require_sound_end(loaded.model, token_ids)
    return {
        "tokens": length,
        "seed": SEED,
        "layers_called": len(checking.layers),
        "differences": {name: differences[name] for name in limits},
        "limits": limits,
        "capabilities": {"route": route_of(loaded.model), **checking.capabilities()},
    }


def _other(model):
    """ "eager", or None where nothing is known of it (code that is no transformers') or that it is
    wrong (Falcon's adds ALiBi twice)."""
    own = type(model).__module__.startswith("transformers.")
    return "eager" if own and route_of(model) != "own forward" else None


def limit(name, sizes, dtype):
    """The largest difference that rounding explains.

    name: of the difference, as in `SUMMED`
    sizes: dict of what `SUMMED` names to how many there are
    dtype: in which the model computes; everything else is computed in torch's default, float32
    """
    if name in OF_THE_MODEL and dtype.itemsize < 4:
        return HALF_PRECISION_LIMIT
    return tolerance(sum(sizes[what] for what in SUMMED[name]), dtype=torch.get_default_dtype())


def _require_within_limits(differences, limits):
    for name, limit in limits.items():
        if not differences[name] <= limit:
            raise ReportError(
                f"self-check failed: {name.replace('_', ' ')} is off by {differences[name]:.3g}, "
                f"allowed is {limit:.3g}; nothing measured on this model would be right"
            )


class Checking(Recorder):
    """A recorder that keeps the largest differences over all layers; see `self_check`."""

    wants_rotary_terms = True

    def __init__(self, structure: list[LayerStructure]):
        self.structure = structure
        self.layers = []
        self.differences = {}
        self.terms = []
        self.rotary_terms = False
        self.updates_seen = None
        self.reasons = {}
        self.context_shape = None
        self.sizes = {"head": 1}

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """See `Recorder`."""
        self.layers.append(layer)
        weight = self.structure[layer].output_weight()
        self.sizes |= {"hidden": weight.shape[0], "context": weight.shape[1]}
        blocks = []
        context = streaming_attention(factors, value, blocks.append, layer)
        self._note(_score_differences(_wide(factors), blocks))
        learned = self.structure[layer].learned
        if learned is not None and learned.bias_difference is not None:
            self._note({"biases": learned.bias_difference})
        self.context_shape = None if value is None else (factors.heads, *value.shape[1:])
        names = [term.name for term in decomposition.terms(factors)]
        self.terms += [name for name in names if name not in self.terms]
        if isinstance(factors, Factors):
            self.sizes["head"] = factors.query.shape[-1]
            if factors.query_place is not None:
                self._note({"positions": learned.place_difference})
            self.rotary_terms |= decomposition.rotary_terms(factors) is not None
        return context

    def updates(
        self,
        layer: int,
        hidden_state: torch.Tensor,
        context: torch.Tensor,
        attention_output: torch.Tensor,
    ) -> None:
        """See `Recorder`."""
        part = self.structure[layer]
        part.measures_updates = False
        if hidden_state.shape != attention_output.shape:
            self.reasons["updates"] = "its attention writes to something of another size"
        elif self.context_shape not in (None, context.shape):
            self.reasons["updates"] = "more than its heads' contexts enters the output projection"
        else:
            self._note(_update_differences(part, layer, hidden_state, context, attention_output))
            self.updates_seen = "raw" if part.norm_after is None else "effective"
            part.measures_updates = True

    def capabilities(self) -> dict[str, Any]:
        """What the run has shown to be measured, and why the rest is not.

        returns: dict of "terms" (list of names, in the order of a breakdown), "probabilities"
            (True), "updates" ("raw", "effective": as a norm after the attention leaves them, or
            None), "rotary_terms" (whether scores split four ways too) and "reasons" (dict of what
            is missing to why)
        """
        if "score" in self.terms:
            self.terms = ["score"]
        if "content_position" in self.terms:  # together these are what other layers have
            self.terms.append("mixed")
        order = ("score", *decomposition.PLACED, "mixed", "bias", "position", "row_constant")
        return {
            "terms": [name for name in order if name in self.terms],
            "probabilities": True,
            "updates": None if "updates" in self.reasons else self.updates_seen,
            "rotary_terms": self.rotary_terms,
            "reasons": self._reasons(),
        }

    def _reasons(self):
        reasons = dict(self.reasons)
        if "score" in self.terms:
            return reasons | {"terms": SCORES_ONLY, "rotary_terms": SCORES_ONLY}
        if "bias" not in self.terms:
            entangled = any(part.learned and part.learned.entangled for part in self.structure)
            reasons["bias"] = ENTANGLED if entangled else "its queries have no bias"
        if "position" not in self.terms:
            reasons["position"] = ADDED if "mixed" in self.terms else NONE
        if not self.rotary_terms:
            reasons["rotary_terms"] = "it takes rotation, and biases of queries and of keys"
        return reasons

    def _note(self, found):
        for name, difference in found.items():
            self.differences[name] = max(self.differences.get(name, 0.0), difference)


def _wide(factors):
    """The same factors or scores in float64, in which the terms of a passage are computed."""
    values = vars(factors).items()
    return replace(factors, **{name: one.double() for name, one in values if torch.is_tensor(one)})


def _score_differences(factors, blocks):
    score, probability = _joined(factors, blocks)
    visible = factors.range().mask()
    terms = decomposition.terms(factors)
    kept = sum(term.matrix() for term in terms)
    row_constant = 0
    if isinstance(factors, Factors) and "row_constant" not in [term.name for term in terms]:
        row_constant = decomposition.row_constant(factors)[..., None]
    from_terms, sink_share = _softmax(_capped(kept, factors), visible, factors.sink)
    rows = probability.sum(-1) + sink_share
    total = _capped(kept + row_constant, factors)
    parts = [score, *(term.matrix() for term in terms)]
    size = max(1.0, *(float(part[:, visible].abs().max()) for part in parts))
    return {
        "rows_sum_to_one": _difference(rows, torch.ones_like(rows)),
        "terms_sum_to_score": _difference(total[:, visible], score[:, visible]) / size,
        "probability_from_terms": _difference(from_terms, probability) / size,
    }


def _joined(factors, blocks):
    """Scores and probabilities that the kernel has shown, float [heads, T, T]; 0 elsewhere."""
    shape = factors.heads, factors.length, factors.length
    found = [torch.zeros(shape, device=blocks[0].score.device) for _ in range(2)]
    for block in blocks:
        keys = slice(block.first_key, block.first_key + block.score.shape[-1])
        for whole, part in zip(found, (block.score, block.probability), strict=True):
            whole[block.heads, block.rows, keys] = part
    return found


def _capped(score, factors):
    return score if (cap := factors.softcap) is None else cap * torch.tanh(score / cap)


def _softmax(score, visible, sink):
    """Probabilities [heads, T, T], and the sink's share of each row, [heads, T]."""
    score = score.masked_fill(~visible, -torch.inf)
    if sink is None:
        return score.softmax(-1), 0
    beside = sink[:, None, None].expand(*score.shape[:-1], 1)
    probability = torch.cat([score, beside], -1).softmax(-1)
    return probability[..., :-1], probability[..., -1]


def _update_differences(part, layer, hidden_state, context, attention_output):
    found = updates(part, layer, hidden_state, context, attention_output)
    hidden_state, context, output, weight = (
        one.float() for one in (hidden_state, context, attention_output, part.output_weight())
    )
    slices = weight.unflatten(1, (part.heads, -1)).transpose(0, 1)  # [heads, hidden, value_dim]
    raw = context @ slices.transpose(1, 2)  # [heads, T, hidden], affordable for 16 tokens
    bias = part.output_projection.bias
    total = raw.sum(0) if bias is None else raw.sum(0) + bias.float()
    differences = {"updates_sum_to_output": _difference(total, output, 0.0)}
    reaching = raw
    if part.norm_after is not None:
        gain = part.norm_scale(attention_output).float()[:, None] * part.norm_weight().float()
        normed = part.norm_after(attention_output).float()
        differences["updates_sum_to_norm"] = _difference(gain * total, normed, 0.0)
        reaching = gain * raw
    length = (part.residual_multiplier * reaching).norm(dim=-1)
    magnitude = found.magnitude * hidden_state.norm(dim=-1)
    return differences | {"update_length": _difference(magnitude, length, 0.0)}


def _difference(measured, reference, relative_above=None):
    """Largest absolute difference, as a fraction of the largest |reference| above a floor."""
    difference = (measured - reference).abs().max()
    if relative_above is not None:
        largest = reference.abs().max().clamp(min=relative_above)
        difference = difference / largest if largest > 0 else difference
    return float(difference)
