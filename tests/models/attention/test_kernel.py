"""The streaming kernel against attention written out."""

import copy
from dataclasses import replace

import pytest
import torch

from report.errors import ReportError
from report.measurements import decomposition
from report.measurements.decomposition import Scores
from report.measurements.precision import tolerance
from report.measurements.visible import Visible
from report.models.attention import kernel
from report.models.attention.kernel import streaming_attention
from tests.close import require_close
from tests.measurements import plain

HEADS, LENGTH, SIZE = plain.HEADS, 70, plain.SIZE
NO_NUMBERS = (torch.nan, torch.inf, -torch.inf)

LONG = {
    "biases": plain.biased(length=LENGTH),
    "ALiBi": plain.with_alibi(length=LENGTH),
    "ALiBi, shared keys": plain.with_alibi(length=LENGTH, key_heads=2),
    "rotation, one key head": plain.with_rotation(length=LENGTH, key_heads=1),
    "softcap": replace(plain.with_alibi(length=LENGTH), softcap=1.5),
    "sink": replace(plain.biased(length=LENGTH, key_heads=2), sink=plain.drawer(5)(HEADS)),
    "window": replace(
        plain.with_rotation(length=LENGTH), visible=Visible.causal(LENGTH, window=20)
    ),
    "window of one": replace(plain.biased(length=LENGTH), visible=Visible.causal(LENGTH, window=1)),
    "full square": replace(plain.biased(length=LENGTH, key_heads=2), visible=Visible.full(LENGTH)),
    "chunks of 25": replace(
        plain.biased(length=LENGTH),
        visible=Visible(torch.arange(LENGTH) // 25 * 25, torch.arange(LENGTH)),
    ),
}
"""Name -> Factors of 70 tokens, more than a block of rows; see tests/measurements/plain.py."""

every_case = pytest.mark.parametrize("name", LONG)


def value_of(factors, size=5):
    return plain.drawer(9, factors.query.dtype)(len(factors.key), factors.length, size)


def largest_score(factors):
    """Of visible targets: an error of a score is as large a relative one of a probability."""
    return decomposition.score(factors)[:, factors.range().mask()].abs().max().clamp(min=1)


class Seen:
    """Puts the blocks that the kernel shows together again."""

    def __init__(self, factors):
        shape = factors.heads, factors.length, factors.length
        self.score = torch.full(shape, torch.nan, dtype=torch.float64)
        self.probability = torch.zeros(shape, dtype=torch.float64)
        self.blocks = 0

    def __call__(self, block):
        where = (
            block.heads,
            block.rows,
            slice(block.first_key, block.first_key + block.score.shape[-1]),
        )
        assert self.score[where].isnan().all()  # no cell twice
        self.score[where] = block.score.double()
        self.probability[where] = block.probability.double()
        self.blocks += 1


@every_case
@pytest.mark.parametrize("rows", [1, 16, 200])
def test_context_and_probabilities_equal_attention_written_out(name, rows):
    factors = LONG[name]
    value, seen, before = value_of(factors), Seen(factors), copy.deepcopy(factors)
    context = streaming_attention(factors, value, seen, rows=rows)
    assert torch.equal(streaming_attention(factors, value, rows=rows), context)  # nobody looks on
    for field, tensor in vars(factors).items():
        assert not torch.is_tensor(tensor) or torch.equal(tensor, getattr(before, field))
    probability = decomposition.probability(factors)  # itself compared with plain loops
    torch.testing.assert_close(seen.probability, probability)
    for token in (0, 1, factors.length - 1):
        torch.testing.assert_close(decomposition.row(factors, token), probability[:, token])
    shared = factors.heads // len(value)
    torch.testing.assert_close(context, probability @ value.repeat_interleave(shared, 0))
    score = decomposition.score(factors)
    if factors.softcap is not None:
        score = factors.softcap * torch.tanh(score / factors.softcap)
    visible = factors.range().mask()
    torch.testing.assert_close(seen.score[:, visible], score[:, visible])
    hidden = seen.score[:, ~visible]
    assert (hidden.isnan() | (hidden == torch.finfo(torch.float64).min)).all()


@pytest.mark.parametrize("name", ["ALiBi", "ALiBi, shared keys", "rotation, one key head", "sink"])
@pytest.mark.parametrize("cells", [1, 40 * 70 * 2])
def test_few_heads_at_a_time_give_the_same(name, cells, monkeypatch):
    factors = LONG[name]
    value, whole, parts = value_of(factors), Seen(factors), Seen(factors)
    expected = streaming_attention(factors, value, whole, rows=40)
    monkeypatch.setattr(kernel, "CELLS", cells)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    torch.testing.assert_close(streaming_attention(factors, value, parts, rows=40), expected)
    torch.testing.assert_close(parts.probability, whole.probability)
    assert parts.blocks > whole.blocks or len(factors.key) == 1


def test_blocks_hold_no_target_that_none_of_their_rows_sees():
    keys = {}
    factors = LONG["window"]
    streaming_attention(
        factors,
        value_of(factors),
        lambda block: keys.update({block.start: (block.first_key, block.score.shape[2])}),
        rows=30,
    )
    assert keys == {0: (0, 30), 30: (11, 49), 60: (41, 29)}


def test_a_block_says_what_its_rows_see():
    seen = {}
    factors = LONG["window"]
    streaming_attention(
        factors, value_of(factors), lambda block: seen.update({block.start: block}), rows=64
    )
    assert seen[64].first.tolist() == list(range(45, 51))
    assert seen[64].last.tolist() == list(range(64, 70))
    assert (seen[64].heads, seen[64].rows) == (slice(0, HEADS), slice(64, 70))


def test_scores_below_any_fixed_mask_value_are_still_ordered():
    """Where every score is far below zero, a later token must not win through the mask."""
    factors = plain.with_alibi(length=LENGTH)
    single = {
        name: value.float() for name, value in vars(factors).items() if torch.is_tensor(value)
    }
    shifted = replace(factors, **single | {"position": single["position"] - 1e6})
    seen = Seen(shifted)
    streaming_attention(shifted, value_of(shifted), seen)
    assert not seen.probability[:, torch.ones(LENGTH, LENGTH).triu(1).bool()].any()
    rows = seen.probability.sum(-1)
    require_close(rows, torch.ones_like(rows), LENGTH, dtype=torch.float32)


def test_negligible_probabilities_are_zero_and_change_no_context():
    """Those too small for the usual form of a float would make a CPU slow."""
    factors = plain.with_alibi(length=LENGTH)
    single = {
        name: value.float() for name, value in vars(factors).items() if torch.is_tensor(value)
    }
    steep = replace(factors, **single | {"position": single["position"] * 10})
    exact = decomposition.probability(steep)
    assert ((exact > 0) & (exact < kernel.NEGLIGIBLE)).any()
    value, seen = value_of(steep), Seen(steep)
    context = streaming_attention(steep, value, seen)
    assert not ((seen.probability > 0) & (seen.probability <= kernel.NEGLIGIBLE)).any()
    size = largest_score(steep)
    most = tolerance(SIZE + LENGTH, size)  # relatively, as an error of a score is
    torch.testing.assert_close(
        seen.probability, exact.double(), rtol=most, atol=2 * kernel.NEGLIGIBLE
    )
    require_close(context, exact @ value, SIZE + LENGTH, size * value.abs().max())


def halved(factors, dtype):
    """The same factors, each rounded to half precision."""
    tensors = {name: value for name, value in vars(factors).items() if torch.is_tensor(value)}
    return replace(factors, **{name: value.to(dtype) for name, value in tensors.items()})


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["ALiBi", "sink", "softcap"])
def test_half_precision_is_computed_in_float32(name, dtype):
    """As exact as the rounded queries and keys allow: no score is rounded to 8 bits again."""
    factors = halved(LONG[name], dtype)
    value, seen = value_of(factors), Seen(factors)
    context = streaming_attention(factors, value, seen)
    exact = {field: part.double() for field, part in vars(factors).items() if torch.is_tensor(part)}
    expected = decomposition.probability(replace(factors, **exact))
    size = largest_score(factors)
    require_close(seen.probability, expected, SIZE + LENGTH, size, torch.float32)
    assert context.dtype == dtype


def test_scores_of_a_model_are_shown_without_a_context():
    factors = LONG["window"]
    mask = factors.visible.mask()
    score = decomposition.score(factors).masked_fill(~mask, -torch.inf)
    scores, seen = Scores(score.float(), factors.visible), Seen(factors)
    assert streaming_attention(scores, None, seen, rows=16) is None
    size = largest_score(factors)
    expected = decomposition.probability(factors)
    require_close(seen.probability, expected, LENGTH, size, torch.float32)
    require_close(seen.score[:, mask], score[:, mask], summed=1, dtype=torch.float32)
    assert scores.score.isneginf().any()  # the model's own scores are as they were


def damaged(name, place, bad, factors=None):
    """Factors with a number in some tensor that is none."""
    factors = factors or plain.biased(length=LENGTH, key_heads=2)
    getattr(factors, name)[place] = bad
    return factors


def overflowing(times):
    """Scores that float32 cannot hold in one head, if multiplied by as much."""
    single = plain.biased(length=LENGTH)
    query, key = single.query.float() * 1e17, single.key.float() * 1e17
    query[1, 9] *= times
    return replace(single, query=query, key=key)


def scores(bad):
    score = plain.drawer(1, torch.float32)(3, LENGTH, LENGTH)
    score[:, 0, 1:] = bad  # not visible, does not count
    return Scores(score, Visible.causal(LENGTH))


CAPPED = replace(plain.biased(length=LENGTH), softcap=2.0)
HALF = halved(plain.biased(length=LENGTH), torch.bfloat16)
SCORE = "the attention score is NaN or infinite"
NOT_FINITE = [
    (damaged("query", (1, 66, 3), torch.nan), f"head 1: {SCORE}"),
    (damaged("query", ([0, 2], 66, 3), torch.inf), rf"head 0 \(and 1 more heads\): {SCORE}"),
    (damaged("query", (1, 66, 3), -torch.inf), f"head 1: {SCORE}"),
    (damaged("key", (1, 3), torch.nan), rf"head 2 \(and 1 more heads\): {SCORE}"),
    (damaged("query", (3, 5, 0), torch.inf, CAPPED), f"head 3: {SCORE}"),
    (overflowing(1e6), f"head 1: {SCORE}"),
    (replace(HALF, query=HALF.query * 3e38), f"head 0 .*: {SCORE}"),
    *((damaged("score", (1, 68, 2), bad, scores(bad)), f"head 1: {SCORE}") for bad in NO_NUMBERS),
]


@pytest.mark.parametrize(("factors", "message"), NOT_FINITE)
def test_not_a_number_names_the_first_head_and_counts_the_others(factors, message):
    value = None if isinstance(factors, Scores) else value_of(factors)
    with pytest.raises(ReportError, match=f"layer 5, {message}"):
        streaming_attention(factors, value, lambda _: None, layer=5)


def test_a_value_that_is_not_a_number_is_found_in_the_context():
    value = value_of(LONG["window"])
    value[2, 9, 1] = torch.nan
    with pytest.raises(ReportError, match="layer 5, head 2: the context is NaN or infinite"):
        streaming_attention(LONG["window"], value, layer=5)


@pytest.mark.parametrize("bad", NO_NUMBERS)
def test_what_is_finite_or_not_visible_is_no_error(bad):
    streaming_attention(scores(bad), None)
    streaming_attention(overflowing(1), value_of(overflowing(1)))
