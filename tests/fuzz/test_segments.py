"""Prompts of random segments: every token belongs to the segment it begins in, and finds its
counterpart where that is; fillers have as many tokens as were asked for."""

from types import SimpleNamespace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from report.inputs import fillers
from report.inputs.conditions import ADDED, FILLER, Segment
from report.inputs.specs import ConditionSpec
from report.kinds.conditions import measure as kind
from report.models.text.segments import align, segmented
from report.text import whole
from tests.fuzz.profile import examples
from tests.fuzz.refusals import tried
from tests.fuzz.test_passages import PASSAGES, WORDS
from tests.models.text.test_tokens import with_tokenizer
from tests.models.tiny_tokenizers import KINDS
from tests.tiny_falcon import byte_level_tokenizer


@pytest.fixture(scope="module", params=[byte_level_tokenizer, *KINDS], ids=lambda one: one.__name__)
def loaded(request):
    return with_tokenizer(request.param(), 4096)


TEXTS = st.lists((PASSAGES | st.just("")).map(whole), min_size=1, max_size=4)


def as_segments(texts):
    return [Segment(f"part-{number}", text) for number, text in enumerate(texts)]


@pytest.mark.promise("any-unicode")
@examples(60)
@given(TEXTS)
@example(["a", "", "b"])
@example(["the ", " lamp", "\n"])
@example(["👩‍", "👩‍👧"])
@example(["e", "\u0301", "ﬁ"])
def test_every_token_lies_in_the_segment_that_it_begins_in(loaded, texts):
    found, said = tried(segmented, loaded, as_segments(texts))
    if said is not None:
        return
    assert found.text == "".join(texts)
    length = len(found.token_ids)
    assert len(found.segment) == len(found.place) == len(found.tokens) == length
    order = [*found.texts]
    named = [name for name in found.segment if name != ADDED]
    assert [order.index(name) for name in named] == sorted(order.index(name) for name in named)
    reached = dict.fromkeys(order, 0)
    crossing = {each.token for each in found.crossings}
    for token, (name, (start, end)) in enumerate(zip(found.segment, found.place, strict=True)):
        if name == ADDED:
            continue
        size = len(found.texts[name].encode())
        assert 0 <= start <= end
        assert start <= size
        assert start >= reached[name], "tokens of a segment follow one another"
        reached[name] = start
        after = "".join(found.texts[each] for each in order[order.index(name) + 1 :])
        assert (end > size and bool(after)) == (token in crossing)
    for name in order:
        span = found.span(name)
        assert all(found.segment[token] in (name, ADDED) for token in span)
    assert align(found, found) == list(range(length))


@pytest.mark.promise("any-unicode")
@examples(60)
@given(TEXTS, PASSAGES.map(whole), st.integers(0, 3))
def test_what_a_filler_moves_is_found_where_it_went(loaded, texts, filler, place):
    parts = as_segments(texts)
    longer = [*parts[:place], Segment(FILLER, filler), *parts[place:]]
    one, said = tried(segmented, loaded, parts)
    other, refused = tried(segmented, loaded, longer)
    assume(said is None and refused is None)
    positions = align(one, other)
    assert len(positions) == len(one.token_ids)
    there = [position for position in positions if position >= 0]
    assert there == sorted(set(there)), "no two tokens go to one place, none overtakes another"
    for token, position in enumerate(positions):
        if position >= 0:
            assert one.token_ids[token] == other.token_ids[position]
            assert one.segment[token] == other.segment[position] != FILLER
        back = align(other, one)
    assert all(back[position] == token for token, position in enumerate(positions) if position >= 0)


QUESTIONS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map("".join)

SPECS = st.one_of(
    st.builds(
        dict,
        kind=st.just("repeated"),
        text=st.sampled_from(["/", " /", "the", "é"]),
        tokens=st.integers(1, 40),
    ),
    st.builds(dict, kind=st.just("sentence"), tokens=st.integers(1, 40), seed=st.integers(0, 9)),
    st.builds(dict, kind=st.just("random tokens"), tokens=st.integers(1, 40)),
    st.builds(dict, kind=st.just("text"), text=QUESTIONS),
)


@pytest.fixture(scope="module")
def short_search():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fillers, "STEPS", 50)
        yield


@examples(6)
@given(SPECS, st.sampled_from(["before", "replace"]), QUESTIONS)
def test_conditions_have_the_tokens_that_were_asked_for(short_search, loaded, spec, way, question):
    about = {"name": "filler", way: "question" if way == "before" else "system", **spec}
    like = {"name": "words", "before": "question", "kind": "repeated", "like": "filler"}
    specs = tuple(ConditionSpec(**each) for each in ({"name": "none"}, about, like))
    prompts = SimpleNamespace(
        system="The old lamp stood on the hill.", questions=(question, "Who?")
    )
    found, said = tried(kind.conditions, loaded, kind.Inputs(prompts, specs))
    if said is not None:
        return
    for prompt in found:
        assert [each.name for each in prompt] == ["none", "filler", "words"]
    segment = FILLER if way == "before" else "system"
    tokens = len(segmented(loaded, found[0][1].segments).span(segment))
    if "tokens" in spec:
        assert tokens == spec["tokens"]
    assert len(segmented(loaded, found[0][2].segments).span(FILLER)) == tokens
