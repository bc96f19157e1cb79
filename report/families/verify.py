"""Whether what is measured on a family's tiny random model is what transformers computes.

Runs our code and transformers' in float64: a difference is then a mistake, not rounding.

Verifies the terms of scores: what would the scores be without rotation, or without biases?

A wrong split still adds up, so a comparison of whole scores would not notice it.
The terms of the first layer, whose input does not depend on them, are compared with the scores of a
model that really lacks what a term stands for. Scores are split in `measurements/decomposition.py`.

What a model computes when nobody measures it, to compare measurements with.

Two untouched passes of transformers' own code: as the model comes (sdpa where it has it), for its
output, and eager with `output_attentions=True`, for its attention and everything around it. Nothing
here uses the code that measures, except to find the parts of a layer.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from report import families
from report.effects.asked import Asked
from report.effects.direct import direct_effects
from report.errors import ReportError
from report.measurements import decomposition
from report.measurements.factors import Factors, Scores
from report.measurements.precision import summed_by, tolerance
from report.models.attention.capture import attached
from report.models.attention.kernel import streaming_attention
from report.models.attention.recorder import Recorder
from report.models.attention.structure import structure
from report.models.measure.passage import measure_passage

SOFTMAX = (torch.nn.functional.softmax, torch.softmax, torch.Tensor.softmax)


@dataclass
class Layer:
    """One layer of the eager pass.

    score: what entered the softmax, float [heads, T, T], with one more target where there is a sink
    probability: float [heads, T, T], as the model returns it
    hidden_state: float [T, hidden_size], what entered the layer
    context: float [T, heads * value_dim], what entered the output projection
    attention_output: float [T, hidden_size], what left it
    normed: float [T, hidden_size], the same after the norm that follows; None without one
    states: every float [T, hidden_size] that entered a module of the layer, and what is left of the
        layer's output without each module's; among them is the hidden state with attention added
    """

    score: torch.Tensor = None
    probability: torch.Tensor = None
    hidden_state: torch.Tensor = None
    context: torch.Tensor = None
    attention_output: torch.Tensor = None
    normed: torch.Tensor = None
    states: list[torch.Tensor] = field(default_factory=list)


def plain_logits(model: PreTrainedModel, token_ids: list[int]) -> torch.Tensor:
    """Logits [T, vocabulary] of the model as it comes."""
    with torch.no_grad():
        return model(input_ids=torch.tensor([token_ids]), use_cache=False).logits[0]


def reference(
    model: PreTrainedModel, token_ids: list[int], alibi_twice: bool = False
) -> list[Layer]:
    """The layers of an eager pass over `token_ids`: list of Layer.

    model: a fresh one, made eager and changed by this
    alibi_twice: whether transformers' eager code counts ALiBi twice (Falcon): in the mask, from
        which it is taken away here, and in the scores
    raises: ReportError if the eager pass is not what the model computes otherwise
    """
    plain = plain_logits(model, token_ids)
    layers = [Layer() for _ in structure(model)]
    with ExitStack() as undo:
        for layer, part in zip(layers, structure(model), strict=True):
            _watch(layer, part, undo)
        output, scores = eager_pass(model, token_ids, alibi_twice, output_attentions=True)
    summed, size = summed_by([model], len(token_ids)), plain.abs().max().clamp(min=1)
    if (output.logits[0] - plain).abs().max() > tolerance(summed, size, plain.dtype):
        raise ReportError("transformers' eager pass differs from its plain one; no reference")
    if not len(layers) == len(scores) == len(output.attentions):
        raise ReportError(
            f"transformers' eager pass shows {len(scores)} softmaxes and {len(output.attentions)} "
            f"attentions of {len(layers)} layers; no reference"
        )
    for layer, score, attention in zip(layers, scores, output.attentions, strict=True):
        layer.score, layer.probability = score, attention[0]
    return layers


def eager_pass(
    model: PreTrainedModel, token_ids: list[int], alibi_twice: bool = False, **options
) -> tuple[Any, list[torch.Tensor]]:
    """What transformers' eager code returns, and what enters the softmax of each layer.

    options: more arguments for the model
    returns: (output of the model, list of float [heads, T, T], or T + 1 targets with a sink)
    """
    model.config._attn_implementation = "eager"
    parts = structure(model)
    with ExitStack() as undo:
        if alibi_twice:
            for part in parts:
                hook = part.attention.register_forward_pre_hook(_without_alibi, with_kwargs=True)
                undo.enter_context(hook)
        spy = undo.enter_context(_Softmax(len(token_ids), parts[0].heads))
        undo.enter_context(torch.no_grad())
        ids = torch.tensor([token_ids])
        return model(input_ids=ids, use_cache=False, **options), spy.scores


class _Softmax(TorchFunctionMode):
    """Keeps what enters each softmax of attention: [heads, T, T], or T + 1 with a sink."""

    def __init__(self, length, heads):
        super().__init__()
        square = [(heads, length, length + sink) for sink in (0, 1)]
        self.shapes = [*square, *((1, *shape) for shape in square)]
        self.scores = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in SOFTMAX and tuple(args[0].shape) in self.shapes:
            self.scores.append(args[0].flatten(0, -3).clone())
        return function(*args, **kwargs or {})


def _watch(layer, part, undo):
    """Hooks that fill `layer` during a pass; `undo` removes them."""
    outputs = []

    def entering(name, module, args, kwargs):
        state = _of_tokens(args[0] if args else kwargs.get("hidden_states"))
        if state is None:
            return
        if not name:
            layer.hidden_state = state
        if module is part.output_projection:
            layer.context = state
        layer.states.append(state)

    def leaving(name, module, _, output):
        output = _of_tokens(output[0] if isinstance(output, tuple) else output)
        if output is None:
            return
        if module is part.output_projection:
            layer.attention_output = output
        if module is part.norm_after:
            layer.normed = output
        if name:
            outputs.append(output)
        else:
            layer.states += [output - other for other in outputs if other.shape == output.shape]

    for name, module in part.module.named_modules():
        for hook in (
            module.register_forward_pre_hook(partial(entering, name), with_kwargs=True),
            module.register_forward_hook(partial(leaving, name)),
        ):
            undo.callback(hook.remove)


def _of_tokens(value):
    """A copy [T, size] of a tensor [1, T, size] or [T, size] (some are changed later), or None."""
    if not isinstance(value, torch.Tensor) or value.dim() not in (2, 3):
        return None
    return value.reshape(-1, value.shape[-1]).clone()


def _without_alibi(module, args, kwargs):
    """Take ALiBi out of the mask; targets that are not visible stay so."""
    if kwargs.get("alibi") is None:
        return None
    mask = kwargs["attention_mask"]
    return args, kwargs | {"attention_mask": mask.where(mask < -1e30, torch.zeros_like(mask))}


def split_pairs(
    name: str, seed: int, token_ids: list[int], factors: Factors | Scores, alibi_twice: bool
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Pairs of scores that should be equal, each float [heads, cells]: measured, and computed.

    factors: of the first layer of the model as it is
    alibi_twice: see `reference`
    """
    if isinstance(factors, Scores):
        return
    content = decomposition.content(factors)
    rotates, biased = factors.unrotated_query is not None, factors.query_bias is not None
    total = content
    if factors.position is not None:
        total = total + factors.position[:, None]
    model = families.tiny(name, seed)
    if biased:
        yield _pair(
            factors, total, _first_scores(_unbiased(model), token_ids, alibi_twice, rotates)
        )
    if rotates:
        total = content + decomposition.bias(factors)[:, None]
        total = total + decomposition.row_constant(factors)[..., None]
        model = families.tiny(name, seed)
        yield _pair(factors, total, _first_scores(model, token_ids, alibi_twice, rotates))


def _pair(factors, total, expected):
    """Both where a target is visible; `total` capped, a sink's score taken off both."""
    seen = factors.range().mask()
    if factors.softcap is not None:
        total = factors.softcap * torch.tanh(total / factors.softcap)
    if factors.sink is not None:
        total = total - factors.sink[:, None, None]
        expected = expected[..., :-1] - expected[..., -1:]
    return total[:, seen], expected[:, seen]


def _first_scores(model, token_ids, alibi_twice, at_one_place):
    """The eager scores of the first layer; `at_one_place`: with every token at position 0."""
    zeros = torch.zeros(1, len(token_ids), dtype=torch.long)
    options = {"position_ids": zeros, "attention_mask": zeros + 1} if at_one_place else {}
    return eager_pass(model, token_ids, alibi_twice, **options)[1][0]


def _unbiased(model):
    """The model, its first attention without biases."""
    with torch.no_grad():
        for name, parameter in structure(model)[0].attention.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
    return model


GROUPED = ("grouped_mm", "_grouped_mm")
"""Products of experts, for which torch knows no float64."""


@contextmanager
def in_float64() -> Iterator[None]:
    """Whatever asks for float32 gets float64: our code, and that of transformers.

    Models compute norms, angles and softmaxes in float32 whatever their weights are; so it would
    not do to convert these. Models must be built inside.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _Double():
            yield
    finally:
        torch.set_default_dtype(before)


class _Double(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = {name: _double(value) for name, value in kwargs.items()} if kwargs else {}
        if function is torch.Tensor.float:
            return args[0].double()
        if getattr(function, "__name__", "") in GROUPED:
            return _grouped(*args, **kwargs)
        return function(*map(_double, args), **kwargs)


def _double(value):
    return torch.float64 if value is torch.float32 else value


def _grouped(rows, weights, offs, **_):
    """Rows [n, inputs], in groups that end at `offs`, times each group's [inputs, outputs]."""
    starts = [0, *offs.tolist()]
    groups = zip(starts, starts[1:], weights, strict=False)
    return torch.cat([rows[start:end] @ weight for start, end, weight in groups])


DTYPES = (torch.float64, torch.float32)
"""In float64 measuring is proved; float32, in which it is used, is let to round."""
TOKENS = 24
"""More than the windows, and than the length from which long contexts are rotated differently."""
ROWS = 10
"""In a block of the kernel: the text takes three, the last of them smaller."""
QUANTITIES = {
    "prob.": "probabilities, as the kernel uses them and as a page is drawn from, against "
    "transformers' eager attentions (Falcon's without the ALiBi that they count twice)",
    "terms": "softmax of the sum of the terms against the same attentions",
    "scores": "sum of all terms against what enters the softmax of the eager code",
    "split": "content alone, and all but position, of the first layer against the eager code's "
    "scores without biases, and with every token at position 0; the four-way split against scores",
    "updates": "sum of the heads' updates and the bias against what leaves the output projection "
    "of the eager code",
    "added": "hidden state and all effective updates against the next hidden state of the eager "
    "code",
    "lengths": "magnitudes and alignments, raw and effective, against updates written out in "
    "float64",
    "effects": "sum of the direct effects of all parts on a logit against that of the model as it "
    "comes; - where parts cannot be told apart, or no next token is predicted",
    "output": "logits while everything is measured against those of the model as it comes",
}
"""What is compared with what. Each is the largest difference over all layers, heads and tokens,
relative to the largest value where that is above 1; of probabilities, to the largest score."""


@cache
def limit(name: str, dtype: torch.dtype = torch.float64) -> float:
    """The largest of `differences` that rounding explains, from the sizes of the model."""
    return tolerance(summed_by([families.tiny(name)], TOKENS), dtype=dtype)


def differences(name: str, seed: int = 0, dtype: torch.dtype = torch.float64) -> dict[str, float]:
    """How far measurements of a tiny model are from what transformers computes.

    name: of a variant, "falcon/alibi"
    dtype: of `DTYPES`, in which everything is computed
    returns: dict of the names in QUANTITIES to float; without those that cannot be measured
    raises: ReportError if the model cannot be measured at all
    """
    with in_float64() if dtype == torch.float64 else nullcontext():
        return _differences(name, seed)


def _differences(name, seed):
    generator = torch.Generator().manual_seed(seed)
    token_ids = torch.randint(3, 99, (TOKENS,), generator=generator).tolist()
    twice = families.read(name.partition("/")[0]).get("counts_alibi_twice", False)
    truth = reference(families.tiny(name, seed), token_ids, twice)
    loaded = families.loaded(name, seed)
    passage = measure_passage(loaded, token_ids, rows=ROWS)
    recorder = _Recorder()
    with attached(loaded.model, recorder):
        logits = plain_logits(loaded.model, token_ids)
    worst = _Worst()
    plain = plain_logits(families.tiny(name, seed), token_ids)
    worst.note("output", logits, plain)
    _compare_effects(worst, families.loaded(name, seed), token_ids, plain)
    for pair in split_pairs(name, seed, token_ids, passage.factors[0], twice):
        worst.note("split", *pair)
    for index, layer in enumerate(truth):
        part = structure(loaded.model)[index]
        largest = _largest_score(layer)
        worst.note("prob.", recorder.probabilities[index], layer.probability, largest)
        _compare_scores(worst, passage, index, layer)
        if passage.magnitude is not None:
            _compare_updates(worst, passage, index, layer, part, recorder.contexts[index])
    return worst.differences


def _compare_effects(worst, loaded, token_ids, plain):
    """The direct effects on the logits of a token, wherever it is predicted, and their sums."""
    readouts = [Asked(position, token_ids[0]) for position in range(TOKENS)]
    try:
        effects = direct_effects(loaded, token_ids, readouts)
    except ReportError:  # tests/effects names the families that are refused, and why
        return
    logits = plain[:, token_ids[0]]
    total = torch.as_tensor(effects.total)
    worst.note("effects", total if effects.cap is None else _tanh(total, effects.cap), logits)


def _tanh(values, cap):
    return cap * torch.tanh(values / cap)


class _Worst:
    """The largest difference of each quantity so far."""

    def __init__(self):
        self.differences = defaultdict(float)

    def note(self, quantity, measured, expected, size=None):
        """Compare two tensors of one shape; `size`: what counts, if not the largest of them."""
        assert measured.shape == expected.shape, (quantity, measured.shape, expected.shape)
        difference = (measured.double() - expected.double()).abs().max()
        size = expected.abs().max() if size is None else size
        relative = float(difference / max(float(size), 1.0))
        before = self.differences[quantity]
        # NaN is larger than anything, and stays
        self.differences[quantity] = before if before != before or before > relative else relative


class _Recorder(Recorder):
    """Keeps the probabilities that the kernel uses, and the contexts that come of them."""

    def __init__(self):
        self.probabilities, self.contexts = {}, {}

    def attention(self, layer, factors, value):
        """See `Recorder`."""
        probability = torch.zeros(factors.heads, factors.length, factors.length)
        self.probabilities[layer] = probability

        def observe(block):
            keys = slice(block.first_key, block.first_key + block.probability.shape[-1])
            probability[block.heads, block.rows, keys] = block.probability

        return streaming_attention(factors, value, observe, layer, rows=ROWS)

    def updates(self, layer, hidden_state, context, attention_output):
        """See `Recorder`."""
        self.contexts[layer] = context


def _compare_scores(worst, passage, index, layer):
    """The measured terms and probabilities of each head of a layer against the eager ones."""
    largest = _largest_score(layer)
    for head in range(len(layer.probability)):
        factors = passage.factors[index].head(head)
        probability = torch.as_tensor(passage.probability(index, head))
        worst.note("prob.", probability, layer.probability[head], largest)
        terms = [
            replace(term, values=torch.as_tensor(term.values))
            for term in passage.terms(index, head)
        ]
        total = sum(term.matrix() for term in terms)
        seen = factors.range().mask()
        worst.note("terms", _softmax(total, seen, factors), layer.probability[head], largest)
        if not isinstance(factors, Scores) and "row_constant" not in [t.name for t in terms]:
            total = total + decomposition.row_constant(factors)[0, :, None]
        total, score = _capped(total, factors), layer.score[head]
        if score.shape[1] > TOKENS:  # softmax knows scores only up to a constant: use the sink's
            total, score = total - factors.sink, score[:, :TOKENS] - score[:, TOKENS:]
        worst.note("scores", total[seen], score[seen])
        four = passage.rotary_terms(index, head)
        if four is not None:
            total = sum(torch.as_tensor(values) for values in four.values())
            if factors.sink is not None:
                total = total - factors.sink
            worst.note("split", total[seen], score[seen])


def _largest_score(layer):
    """Of what enters the softmax of a layer, where the eager code sees a target."""
    return layer.score[:, :, :TOKENS][layer.probability > 0].abs().max()


def _softmax(total, seen, factors):
    scores = _capped(total, factors).masked_fill(~seen, -torch.inf)
    if factors.sink is None:
        return scores.softmax(-1)
    sink = factors.sink.expand(TOKENS, 1)
    return torch.cat([scores, sink], 1).softmax(-1)[:, :TOKENS]


def _capped(scores, factors):
    cap = factors.softcap
    return scores if cap is None else _tanh(scores, cap)


def _compare_updates(worst, passage, index, layer, part, context):
    """The heads' updates, as they are and as they are added to the hidden state."""
    context = context.double()
    weight = part.output_weight().double().unflatten(1, (part.heads, -1))  # [hidden, heads, d]
    update = torch.einsum("htd,mhd->htm", context, weight)
    bias = part.output_projection.bias
    bias = 0 if bias is None else bias.detach().double()
    worst.note("updates", update.sum(0) + bias, layer.attention_output)
    factor = torch.tensor(part.residual_multiplier, dtype=torch.float64)
    if part.norm_after is not None:
        factor = factor * layer.normed.double() / layer.attention_output.double()
    effective, added = update * factor, (update.sum(0) + bias) * factor
    _compare_with_any(worst, "added", layer.hidden_state + added, layer.states)
    _compare_lengths(worst, (passage.magnitude, passage.alignment), index, effective, layer)
    if passage.raw_magnitude is not None:
        raw = update * part.residual_multiplier
        updates = passage.raw_magnitude, passage.raw_alignment
        _compare_lengths(worst, updates, index, raw, layer)


def _compare_lengths(worst, measured, index, update, layer):
    """Magnitude and alignment of the updates [heads, T, hidden_size] of a layer."""
    magnitude, alignment = (torch.as_tensor(values[index]) for values in measured)
    state = layer.hidden_state.double()
    length, of_state = update.norm(dim=-1), state.norm(dim=-1)
    worst.note("lengths", magnitude, length / of_state)
    worst.note("lengths", alignment, (update * state).sum(-1) / (length * of_state))


def _compare_with_any(worst, quantity, measured, states):
    """The hidden state with attention added is one of `states`: the one that is closest."""
    states = [state for state in states if state.shape == measured.shape]
    closest = min(states, key=lambda state: float((measured - state).abs().max()))
    worst.note(quantity, measured, closest)
