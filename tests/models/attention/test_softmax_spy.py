"""What enters a model's own softmax is seen as it is, and the model goes on undisturbed."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from report.errors import ReportError
from report.measurements import decomposition
from report.measurements.decomposition import Scores
from report.models.attention import softmax_spy
from report.models.attention.capture import attached
from report.models.attention.structure import route_of
from tests.models.recording import (
    DenseRecorder,
    largest_score,
    probabilities,
    require_same,
    some_tokens,
)
from tests.models.remote_code import random_remote

HEADS, LENGTH = 4, 24
CAUSAL = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
SCORES = 5 * torch.randn(HEADS, LENGTH, LENGTH, generator=torch.Generator().manual_seed(1))

SOFTMAXES = {
    "functional": lambda scores: functional.softmax(scores, dim=-1),
    "functional in float32": lambda scores: functional.softmax(scores, -1, dtype=torch.float32),
    "torch": lambda scores: torch.softmax(scores, -1),
    "torch by name": lambda scores: torch.softmax(input=scores, dim=scores.dim() - 1),
    "tensor": lambda scores: scores.softmax(-1),
    "special": lambda scores: torch.special.softmax(scores, -1),
    "module": nn.Softmax(dim=-1).__call__,
}


class Caller(nn.Module):
    """Does with its input what it is told to."""

    def __init__(self, function):
        super().__init__()
        self.forward = function


def spied(function, scores):
    """What the function makes of the scores while it is spied on, and what was recorded."""
    recorder = DenseRecorder()
    forward = softmax_spy.measured_forward(
        Caller(function), lambda *given: recorder.attention(0, *given), HEADS
    )
    return forward(scores), recorder


CASES = [(name, -torch.inf, (1, HEADS)) for name in SOFTMAXES]
CASES += [("torch", torch.finfo(torch.float32).min, (HEADS,)), ("tensor", -1e4, (HEADS,))]


@pytest.mark.parametrize(("name", "masked", "shape"), CASES)
def test_every_softmax_is_seen(name, masked, shape):
    softmax = SOFTMAXES[name]
    scores = (SCORES + torch.zeros(()).masked_fill(~CAUSAL, masked)).view(*shape, LENGTH, LENGTH)
    given = scores.clone()
    found, recorder = spied(softmax, given)
    (seen,) = recorder.factors
    assert isinstance(seen, Scores)
    assert recorder.values == [None]
    assert torch.equal(seen.visible.mask(), CAUSAL)
    assert torch.equal(seen.score, scores.view(HEADS, LENGTH, LENGTH))
    assert torch.equal(found, scores.softmax(-1))
    assert torch.equal(probabilities(recorder)[0], found.view(HEADS, LENGTH, LENGTH))
    assert torch.equal(given, scores)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scores_of_half_precision_are_kept_in_float32(dtype):
    scores = SCORES.to(dtype).masked_fill(~CAUSAL, torch.finfo(dtype).min)
    _, recorder = spied(lambda given: given.softmax(-1), scores)
    assert recorder.factors[0].score.dtype == torch.float32
    assert torch.equal(recorder.factors[0].visible.mask(), CAUSAL)


@pytest.mark.parametrize(
    "other",
    [torch.zeros(LENGTH, 5), torch.zeros(LENGTH, LENGTH), torch.zeros(3, LENGTH, LENGTH)],
    ids=["a router", "a square router", "other heads"],
)
def test_other_softmaxes_are_not(other):
    _, recorder = spied(lambda given: given.softmax(-1), other)
    _, over_rows = spied(lambda given: given.softmax(-2), SCORES)
    assert recorder.factors == over_rows.factors == []


def test_what_follows_the_softmax_is_the_models_own():
    """As with a mask of heads: half of them are silenced afterwards."""
    silenced = torch.tensor([1.0, 0, 1, 0])[:, None, None]
    found, recorder = spied(lambda given: given.softmax(-1) * silenced, SCORES)
    assert torch.equal(found, SCORES.softmax(-1) * silenced)
    assert torch.equal(probabilities(recorder)[0], SCORES.softmax(-1))


def test_a_softmax_of_the_recorder_is_not_seen_and_an_exception_ends_the_spying():
    calls = []

    def attention(scores, value):
        calls.append((scores, value))
        decomposition.probability(scores).softmax(-1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    forward = softmax_spy.measured_forward(
        Caller(lambda given: given.softmax(-1)), attention, HEADS
    )
    forward(SCORES)
    assert len(calls) == 1
    with pytest.raises(KeyboardInterrupt):
        forward(SCORES)
    SCORES.softmax(-1)
    assert len(calls) == 2


def test_masks_that_differ_from_head_to_head_are_refused():
    scores = SCORES.masked_fill(~CAUSAL, -torch.inf)
    scores[1, 9, 0] = -torch.inf
    with pytest.raises(ReportError, match="heads of a layer see different targets"):
        spied(lambda given: given.softmax(-1), scores)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("alibi", "window"), [(False, 7), (True, None)])
def test_remote_code_is_reached_by_this_route_without_being_asked(alibi, window):
    """It equals the same model by sdpa; its router and its summary are not measured."""
    options = {"alibi": alibi, "window": window}
    model, token_ids = random_remote(by_softmax=True, **options), some_tokens(70)
    assert route_of(model) == "softmax"
    recorder, by_sdpa = DenseRecorder(), DenseRecorder()
    with torch.no_grad(), attached(model, recorder) as calls:
        model(torch.tensor([token_ids]))
    other = random_remote(**options)
    with torch.no_grad(), attached(other, by_sdpa):
        other(torch.tensor([token_ids]))
    assert calls == [0, 1, 2]
    found, expected = probabilities(recorder), probabilities(by_sdpa)
    require_same(model, found, expected, largest_score(recorder))
