"""Attention computed in full, as the definitions have it, with everything kept: for tests only."""

import copy

import torch

from report.measurements import decomposition
from report.measurements.decomposition import Scores
from report.measurements.precision import summed_by
from report.models.attention.kernel import streaming_attention
from report.models.attention.recorder import Recorder
from tests.close import require_close


class DenseRecorder(Recorder):
    """Computes every layer's context from dense probabilities and keeps what it was given."""

    def __init__(self):
        self.factors, self.values = [], []

    def attention(self, _, factors, value):
        """See `Recorder`."""
        self.factors.append(factors)
        self.values.append(value)
        if isinstance(factors, Scores):
            return None
        probability = decomposition.probability(factors)
        shared = probability.shape[0] // value.shape[0]
        return probability @ value.repeat_interleave(shared, 0)


class KernelRecorder(Recorder):
    """Computes every layer's context as measuring does, in blocks of rows."""

    def attention(self, layer, factors, value):
        """See `Recorder`."""
        return streaming_attention(factors, value, lambda *_: None, layer)


def recorded(model, token_ids, forward_of):
    """The logits [T, vocabulary] with every attention module's forward replaced, and the recorder.

    forward_of: called with (module, attention), returns the forward, as `measured_forward` of the
        files in report/models/ does
    """
    recorder = DenseRecorder()
    modules = attention_modules(model)

    def attention(factors, value):
        return recorder.attention(None, factors, value)

    for module in modules:
        module.forward = forward_of(module, attention)
    try:
        logits = plain(model, token_ids).logits[0]
    finally:
        for module in modules:
            del module.forward
    assert len(recorder.factors) == len(modules)
    return logits, recorder


def attention_modules(model):
    """The modules that compute attention, in order: those with no such module inside."""
    found = [module for module in model.modules() if "ttention" in type(module).__name__]
    return [
        module
        for module in found
        if sum("ttention" in type(inner).__name__ for inner in module.modules()) == 1
    ]


def some_tokens(length, seed=1):
    """Random token ids below 99, which every tiny model knows."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 99, (length,), generator=generator).tolist()


def plain(model, token_ids, **options):
    """The untouched model's output for one text, without gradients and cache."""
    with torch.no_grad():
        return model(torch.tensor([token_ids]), use_cache=False, **options)


def with_doubled(model, token_ids, name):
    """The untouched model's logits where its attention modules are passed 2 * `name`."""

    def double(_, args, kwargs):
        return args, kwargs | {name: 2 * kwargs[name]}

    modules = attention_modules(model)
    hooks = [module.register_forward_pre_hook(double, with_kwargs=True) for module in modules]
    try:
        return plain(model, token_ids).logits[0]
    finally:
        for hook in hooks:
            hook.remove()


def eager(model):
    """A copy of the model that computes attention in plain steps, and returns it when asked."""
    twin = copy.deepcopy(model)
    twin.config._attn_implementation = "eager"
    return twin


def probabilities(recorder):
    """Per layer, float [heads, T, T]."""
    return [decomposition.probability(factors) for factors in recorder.factors]


def largest_score(recorder):
    """Of all layers and heads: an error of a score is as large a relative one of a probability."""
    return max(
        float(decomposition.score(factors)[:, factors.range().mask()].abs().max())
        for factors in recorder.factors
    )


def require_same(model, found, expected, size=None):
    """Fail unless tensors are equal up to what rounding makes of a pass through the model.

    found, expected: tensors or arrays, or lists of one a layer
    size: as of `tests.close.require_close`; of probabilities, the largest score
    """
    if torch.is_tensor(found):
        found, expected = [found], [expected]
    for one, other in zip(found, expected, strict=True):
        require_close(one, other, summed_by([model], max(one.shape)), size)


def require_terms_sum_to_scores(recorder):
    """Content, bias, position and the row constant add up to the score wherever a target is seen,
    and so does the four-way split where there is one."""
    for factors in recorder.factors:
        summed = 6 * factors.query.shape[-1]  # the score, and at most four parts, one of two pairs
        score = decomposition.score(factors)
        names = [term.name for term in decomposition.terms(factors)]
        total = sum(term.matrix() for term in decomposition.terms(factors))
        if "row_constant" not in names:
            total = total + decomposition.row_constant(factors)[..., None]
        seen = factors.range().mask()
        parts = [term.matrix() for term in decomposition.terms(factors)]
        split = decomposition.rotary_terms(factors)
        parts += [] if split is None else split.values()
        size = max(float(part[:, seen].abs().max()) for part in (score, *parts))
        require_close(total[:, seen], score[:, seen], summed, size)
        if split is not None:
            require_close(sum(split.values())[:, seen], score[:, seen], summed, size)
