"""Proof, on every attach, that what is measured is what the model computes."""

import numpy as np
import torch

from report.errors import ReportError
from report.measurements import decomposition
from report.measurements.updates import HeadUpdate
from report.models.capture import family_of, run_measured
from report.models.kernel import streaming_attention

TOKENS = 16
SEED = 20261120
LIMITS = {
    "rows_sum_to_one": 1e-5,
    "biases": 1e-6,
    "terms_sum_to_score": 1e-5,
    "probability_from_terms": 2e-5,
    "updates_sum_to_output": 1e-5,
    "update_length": 1e-5,
    "logits": 1e-4,
}
"""Largest difference allowed, in float32; see `self_check` for what each is relative to."""


def checked(loaded):
    """The numbers of `self_check`, computed once per loaded model."""
    if loaded.checked is None:
        loaded.checked = self_check(loaded)
    return loaded.checked


def self_check(loaded):
    """Compare a measured forward pass with the untouched model on 16 random tokens (seeded).

    returns: dict with "tokens", "seed", "layers_called", "differences" and "limits"; differences:
        rows_sum_to_one: of a row of probabilities, from 1
        biases: query and key of an input of zeros against the biases taken off (no sum of terms
            would show a wrong split)
        terms_sum_to_score: content + bias + position + row constant (+ A_i) against the score,
            relative to the largest score where that is above 1
        probability_from_terms: softmax(content + bias + position), without the row constant,
            against the probability used for the context
        updates_sum_to_output: sum of the heads' updates + bias against the output of the
            projection, relative to its largest value
        update_length: |R c| against the length of the update itself, relative
        logits: against the untouched model's (plain sdpa forward), relative where above 1
    raises: ReportError naming the first difference above its limit, or whatever else is wrong
    """
    model = loaded.model
    length = min(TOKENS, loaded.identity["context"])
    rng = np.random.default_rng(SEED)
    token_ids = rng.integers(0, model.config.vocab_size, length).tolist()
    worst = dict.fromkeys(LIMITS, 0.0)
    layers_called = []
    family = family_of(model.config)
    layers = family.layers(model)

    def record(layer, hidden_state, factors, value):
        layers_called.append(layer)
        seen = []
        context = streaming_attention(factors, value, lambda *block: seen.append(block), layer)
        (_, score, probability) = seen[0]  # 16 tokens are one block
        found = {
            **_score_differences(factors, score, probability),
            **_update_differences(family.output_projection(layers[layer]), context, hidden_state),
        }
        for name, difference in found.items():
            worst[name] = max(worst[name], difference)
        return context

    logits = run_measured(model, token_ids, record, logits=True)
    reference = _plain_logits(model, token_ids)
    worst["biases"] = _bias_difference(model, family, layers, token_ids)
    worst["logits"] = _difference(logits, reference, relative_above=1.0)
    _require_within_limits(worst)
    return {
        "tokens": length,
        "seed": SEED,
        "layers_called": len(layers_called),
        "differences": worst,
        "limits": dict(LIMITS),
    }


def _require_within_limits(differences):
    for name, difference in differences.items():
        if not difference <= LIMITS[name]:
            raise ReportError(
                f"self-check failed: {name.replace('_', ' ')} is off by {difference:.3g}, allowed "
                f"is {LIMITS[name]:.3g}; nothing measured on this model would be right"
            )


def _plain_logits(model, token_ids):
    """Logits [T, vocabulary] of the untouched model in evaluation mode: the truth."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            input_ids = torch.as_tensor(token_ids, device=model.device)[None]
            return model(input_ids=input_ids, use_cache=False).logits[0]
    finally:
        model.train(training)


def _bias_difference(model, family, layers, token_ids):
    """Largest |projection of zeros - bias|, with zeros in place of every attention's input."""
    worst = []

    def zeros(_, args, kwargs):
        if args:
            return (torch.zeros_like(args[0]), *args[1:]), kwargs
        return args, kwargs | {"hidden_states": torch.zeros_like(kwargs["hidden_states"])}

    def record(layer, _, factors, value):
        worst.append(_difference(factors.query, factors.query_bias[:, None].expand_as(value)))
        worst.append(_difference(factors.key, factors.key_bias[:, None].expand_as(value)))
        return streaming_attention(factors, value, lambda *_: None, layer)

    modules = [family.attention(layer) for layer in layers]
    hooks = [module.register_forward_pre_hook(zeros, with_kwargs=True) for module in modules]
    try:
        run_measured(model, token_ids, record)
    finally:
        for hook in hooks:
            hook.remove()
    return max(worst)


def _score_differences(factors, score, probability):
    content, bias = decomposition.content(factors), decomposition.bias(factors)
    position = decomposition.position(factors)
    kept = content + bias[:, None, :] + position[:, None, :] - position[:, :, None]
    row = decomposition.row_constant(factors) + position
    visible = torch.ones_like(score[0], dtype=torch.bool).tril()
    from_terms = kept.masked_fill(~visible, -torch.inf).softmax(-1)
    total = kept + row[:, :, None]
    return {
        "rows_sum_to_one": _difference(probability.sum(-1), torch.ones_like(score[..., 0])),
        "terms_sum_to_score": _difference(total[:, visible], score[:, visible], 1.0),
        "probability_from_terms": _difference(from_terms, probability),
    }


def _update_differences(projection, context, hidden_state):
    heads = context.shape[0]
    slices = projection.weight.unflatten(1, (heads, -1)).transpose(0, 1)  # [heads, hidden, d]
    updates = context @ slices.transpose(1, 2)  # [heads, T, hidden], affordable for 16 tokens
    output = projection(context.transpose(0, 1).flatten(1))
    bias = 0 if projection.bias is None else projection.bias
    magnitude, _ = HeadUpdate.of_projection(projection.weight, heads).magnitude_and_alignment(
        context, hidden_state
    )
    length = updates.norm(dim=-1)
    return {
        "updates_sum_to_output": _difference(updates.sum(0) + bias, output, 0.0),
        "update_length": _difference(magnitude * hidden_state.norm(dim=-1), length, 0.0),
    }


def _difference(measured, reference, relative_above=None):
    """Largest absolute difference, as a fraction of the largest |reference| above a floor."""
    difference = (measured - reference).abs().max()
    if relative_above is not None:
        largest = reference.abs().max().clamp(min=relative_above)
        difference = difference / largest if largest > 0 else difference
    return float(difference)
