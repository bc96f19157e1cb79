"""Conditions through real models: against plain loops, and where the affine reading holds."""

import numpy as np
import pytest
import torch

from report import families
from report.errors import ReportError
from report.inputs.conditions import Condition, Segment, question_prompt
from report.measurements import decomposition
from report.measurements.precision import summed_by, tolerance
from report.measurements.received import REDUCTIONS
from report.models.attention.capture import attached
from report.models.attention.running import Run
from report.models.measure.conditions import measure_conditions, recorders_of
from report.models.text.segments import SegmentedText, segmented
from tests.inputs.filled import with_filler
from tests.models.recording import DenseRecorder, largest_score, plain, require_same

QUESTIONS = ["Is the lamp lit?", "Who asked Ann, 灯 or 😀?", "asked"]


def prompt(question, system="The old lamp stood."):
    none = question_prompt(system, question)
    slashes = with_filler(none, "/" * 9, "slashes", "w/ slashes")
    words = slashes.replaced(Segment("filler", "by the window\n"), "words", "words")
    return [none, slashes, words]


def by_hand(*spans):
    """A SegmentedText of random tokens below 99 with nothing but what a recorder looks at; every
    segment has its own tokens, whatever stands around it."""
    ids, segment, place = [], [], []
    for name, length in spans:
        seed = sum(map(ord, name))
        ids += torch.randint(
            3, 97, (length,), generator=torch.Generator().manual_seed(seed)
        ).tolist()
        segment += [name] * length
        place += [(token, token + 1) for token in range(length)]
    return SegmentedText("", ids, [], dict(spans), segment, place, [])


def compared(name, first=False, change=None):
    """The filler's effect in a tiny model, dict of measure to [layer, head, 2 (mean, last)]."""
    loaded = families.loaded(name)
    if change:
        change(loaded.model)
    spans = [("system", 5), ("question", 9)]
    filled = [("filler", 8), *spans] if first else [spans[0], ("filler", 8), spans[1]]
    recorders = recorders_of(loaded, [by_hand(*spans), by_hand(*filled)])
    loaded.run([Run(each.text.token_ids, each) for each in recorders])
    left, variation, error = np.moveaxis(recorders[1].compared, 1, -1)
    return {"left": left, "variation": variation, "error": error, "zero": rounding(loaded)}


def rounding(loaded):
    """What counts as nothing on 22 tokens of a tiny model, whose scores are below 100."""
    return tolerance(summed_by([loaded.model], 22), 100, torch.get_default_dtype())


def dense(loaded, token_ids):
    """float64 [layer][head, T, T], the values, and the largest score, from everything kept."""
    recorder = DenseRecorder()
    with attached(loaded.model, recorder):
        plain(loaded.model, token_ids)
    factors = recorder.factors
    probability = [
        torch.cat([decomposition.probability(each.head(h)) for h in range(each.heads)])
        for each in factors
    ]
    values = [value.double().numpy() for value in recorder.values]
    return np.stack(probability), values, largest_score(recorder)


def test_everything_is_what_plain_loops_find(loaded):
    none, slashes, _ = conditions = prompt(QUESTIONS[0])
    found = measure_conditions(loaded, [conditions])
    assert [each.name for each in found] == ["none", "slashes", "words"]
    one, two = (segmented(loaded, each.segments) for each in (none, slashes))
    (old, old_value, score), (new, new_value, new_score) = (
        dense(loaded, each.token_ids) for each in (one, two)
    )
    score = max(score, new_score)
    for statistics, probability in ((found[0], old), (found[1], new)):
        length = probability.shape[-1]
        expected = {
            "mean": [probability[:, :, j:, j].mean(-1) for j in range(length)],
            "last": [probability[:, :, -1, j] for j in range(length)],
            "all": [probability[..., j].sum(-1) / length for j in range(length)],
        }
        for place, name in enumerate(REDUCTIONS):
            values = np.moveaxis(expected[name], 0, -1)
            # means of probabilities, or their sums over all rows by their number
            require_same(loaded.model, [statistics.received.mean[place]], [values], score)
        assert statistics.prompts == 1
        assert statistics.crossings == []
    filler, shift = list(two.span("filler")), len(two.span("filler"))
    before = filler[0]
    kept = [token for token in range(len(two.token_ids)) if token not in filler]
    assert found[1].positions == kept
    assert found[0].positions == list(range(len(one.token_ids)))
    assert found[0].compared is None
    rows = range(before, len(one.token_ids))
    expected = np.zeros((3, 2, *old.shape[:2]))
    ratio = 1.0  # of a value to a context, to which what is left unexplained is relative
    for layer, head in np.ndindex(*old.shape[:2]):
        values = []
        for row in rows:
            pattern = new[layer, head, row + shift]
            left = 1 - pattern[filler].sum()
            moved = np.abs(pattern[kept] / left - old[layer, head, row]).sum() / 2
            context = pattern @ new_value[layer][head]
            old_context = old[layer, head, row] @ old_value[layer][head]
            bias = pattern[filler] @ new_value[layer][head][filler]
            error = context - left * old_context - bias
            longest = np.linalg.norm(new_value[layer][head], axis=1).max()
            ratio = max(ratio, longest / np.linalg.norm(context))
            values.append([left, moved, np.linalg.norm(error) / np.linalg.norm(context)])
        expected[:, 0, layer, head] = np.mean(values, 0)
        expected[:, 1, layer, head] = values[-1]
    require_same(loaded.model, [found[1].compared.mean], [expected], score * ratio)


def test_prompts_are_averaged_position_by_position(loaded):
    prompts = [prompt(question) for question in QUESTIONS]
    calls = []
    found = measure_conditions(loaded, prompts, lambda *done: calls.append(done))
    assert calls == [(done, 9) for done in range(1, 10)]
    single = [measure_conditions(loaded, [each]) for each in prompts]
    for place, statistics in enumerate(found):
        assert statistics.prompts == 3
        each = [one[place].received.mean for one in single]
        shortest, longest = (f(values.shape[-1] for values in each) for f in (min, max))
        assert shortest < longest == statistics.received.mean.shape[-1]
        for position in range(longest):
            there = [values[..., position] for values in each if values.shape[-1] > position]
            assert statistics.received.count[position] == len(there)
            np.testing.assert_allclose(
                statistics.received.mean[..., position], np.mean(there, 0), atol=1e-12
            )
        if place:
            effects = [one[place].compared.mean for one in single]
            np.testing.assert_allclose(statistics.compared.mean, np.mean(effects, 0), atol=1e-12)
            spread = np.std(effects, 0, ddof=1) / 3**0.5
            np.testing.assert_allclose(statistics.compared.standard_error, spread, atol=1e-12)
        assert statistics.first.text == prompts[0][place].text


@pytest.mark.parametrize(
    "question", ["מי הדליק? كم", "Who 👨‍👩‍👧 lit 😀🇫🇷 灯?", "cafe\u0301 \u202eabc\u202c ½"]
)
def test_the_line_without_the_filler_is_over_the_same_tokens_in_any_script(loaded, question):
    """What lies over a position is the same token, and its values are those of its own place."""
    conditions = prompt(question)
    found = measure_conditions(loaded, [conditions])
    texts = [segmented(loaded, each.segments) for each in conditions]
    for statistics, text in zip(found[1:], texts[1:], strict=True):
        assert len(statistics.positions) == len(texts[0].token_ids)
        assert -1 not in statistics.positions
        for position, place in enumerate(statistics.positions):
            assert texts[0].token_ids[position] == text.token_ids[place]
            assert texts[0].segment[position] == text.segment[place]
        left = set(range(len(text.token_ids))) - set(statistics.positions)
        assert left == set(text.span("filler"))


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", ["bloom", "falcon/alibi-no-bias", "llama", "qwen2", "gpt_neox"])
def test_a_filler_before_everything_leaves_first_layers_affine_where_distances_count(name):
    found = compared(name, first=True)
    assert found["left"][0].min() < 0.9
    assert found["error"][0].max() < found["zero"]
    assert found["variation"][0].max() < found["zero"]


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", ["bloom", "llama", "qwen2", "gpt2"])
def test_a_filler_in_the_middle_changes_distances_or_positions(name):
    found = compared(name)
    assert found["error"][0].max() > 0.01
    assert found["variation"][0].max() > 0.01


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", ["bloom", "llama", "qwen2", "gpt2", "gemma3/text"])
def test_what_a_filler_says_cannot_move_the_rest_of_a_first_layer(name):
    """Only its length can: a first layer's tokens have read nothing yet."""
    loaded = families.loaded(name)
    spans = [("system", 5), ("question", 9)]
    texts = [by_hand(spans[0], (filler, 8), spans[1]) for filler in ("slash", "words")]
    assert texts[0].token_ids != texts[1].token_ids
    recorders = recorders_of(loaded, [by_hand(*spans), *texts])
    loaded.run([Run(each.text.token_ids, each) for each in recorders])
    slash, words = (each.compared for each in recorders[1:])
    assert np.abs(slash[1, :, 0] - words[1, :, 0]).max() < rounding(loaded)
    assert np.abs(slash[0, 0, 0] - words[0, 0, 0]).max() > 0.01, "what it takes does depend on it"
    assert np.abs(slash[1, :, 1:] - words[1, :, 1:]).max() > 0.01, "and so do later layers"


def test_scores_alone_give_no_affine_error():
    found = compared("deberta_v2")
    assert np.isnan(found["error"]).all()
    assert np.isfinite(found["left"]).all()
    assert (found["left"] < 1).all()


@pytest.mark.usefixtures("double")
def test_a_window_that_the_filler_has_left_shows_no_effect_of_it():
    """Gemma's first layers see seven tokens; the question has nine, and only distances count."""
    found = compared("gemma3/text")
    assert (found["left"][0, :, 0] < 1).all()
    assert (found["left"][0, :, 1] == 1).all()
    assert found["variation"][0, :, 1].max() < found["zero"]
    assert found["error"][0, :, 1].max() < found["zero"]


def test_a_merge_that_differs_between_prompts_leaves_its_position_out(loaded):
    assert loaded.tokenizer.tokenize("st") == ["st"]
    found = []
    for question in ("tz by the lamp", "z by the lamp"):
        base = Condition("b", "b", (Segment("system", "xs"), Segment("question", question)))
        filled = base.inserted(Segment("filler", "//"), "question", "f", "f")
        found.append([base, filled])
    merged = segmented(loaded, found[0][0].segments).crossings
    assert [(each.before, each.after) for each in merged] == [("system", "question")]
    statistics = measure_conditions(loaded, found)
    assert statistics[0].crossings[0][0] == 0
    assert -1 in statistics[1].positions


def test_prompts_that_cannot_be_averaged_are_refused(loaded):
    one, two = prompt(QUESTIONS[0]), prompt(QUESTIONS[1], system="The lamp.")
    with pytest.raises(ReportError, match=r"'none': segment 'system' is at tokens 1 to .* in one"):
        measure_conditions(loaded, [one, two])
    with pytest.raises(ReportError, match="prompt 1 has the conditions none, prompt 0 has none, s"):
        measure_conditions(loaded, [one, one[:1]])
    with pytest.raises(ReportError, match="prompt 0 has the conditions none, none"):
        measure_conditions(loaded, [one[:1] * 2])
    with pytest.raises(ReportError, match="there is no prompt to measure"):
        measure_conditions(loaded, [])


def test_a_filler_after_everything_is_refused(loaded):
    none = question_prompt("The old lamp stood.", "Is it lit?")
    after = Condition("after", "after", (*none.segments, Segment("filler", "////")))
    with pytest.raises(ReportError, match="no token after segment 'filler' is the same without"):
        measure_conditions(loaded, [[none, after]])
