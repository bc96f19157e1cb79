"""Every token of a prompt finds its segment, and its counterpart in another condition."""

import pytest

from report.errors import ReportError
from report.inputs.conditions import Segment, question_prompt
from report.models.text.segments import Crossing, align, ordinary_tokens, segmented
from tests.inputs.filled import with_filler
from tests.models import tiny_tokenizers as kinds
from tests.models.text.test_tokens import with_tokenizer

PAIRS = "./ /W ab".split()
QUESTIONS = [
    "Who lit the lamp?",
    "Who 👨‍👩‍👧 lit 😀 the 🇫🇷 lamp 灯?",
    "מי הדליק את המנורה? 7 + 5",
    "كم مصباحًا؟ \u202babc\u202c 12",
    "cafe\u0301 na\u00efve ﬁnd ½",
    " \u0301leading mark, trailing 😀",
]


@pytest.fixture(scope="module", params=kinds.KINDS, ids=lambda kind: kind.__name__)
def loaded(request):
    return with_tokenizer(request.param(), 4096)


def merging():
    """Characters are tokens, but for "./", "/W" and "ab", which are one."""
    return with_tokenizer(kinds.characters("The lamp.\nWhoit?/abQusn:Aw", *PAIRS))


def condition(*texts, names=("system", "filler", "question")):
    segments = [Segment(name, text) for name, text in zip(names, texts, strict=True) if text]
    return segmented(merging(), segments)


def covered(text, name):
    """The text of a segment's tokens, put together again."""
    tokens = [text.tokens[token] for token in text.span(name)]
    return b"".join(map(kinds.raw, tokens)).decode()


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "kind", [kinds.byte_level, kinds.normalised_byte_level, kinds.llama3, kinds.llama2, kinds.gemma]
)
def test_the_tokens_of_a_segment_are_its_text(kind, question):
    prompt = with_filler(question_prompt("The lamp was lit.", question), "/" * 9, "f", "f")
    text = segmented(with_tokenizer(kind(), 4096), prompt.segments)
    assert text.crossings == []
    for segment in prompt.segments:
        assert covered(text, segment.name) == segment.text
    assert text.segment.count("added") == sum(token["special"] for token in text.tokens)


@pytest.mark.parametrize("question", QUESTIONS)
def test_without_a_merge_a_condition_is_the_other_with_the_filler_cut_out(loaded, question):
    plain = question_prompt("The lamp was lit.", question)
    one = segmented(loaded, plain.segments)
    other = segmented(loaded, with_filler(plain, "the old hill", "f", "f").segments)
    assert one.crossings == other.crossings == []
    filler = other.span("filler")
    assert len(filler) > 2
    rest = [token for token in range(len(other.token_ids)) if token not in filler]
    assert align(one, other) == rest
    back = align(other, one)
    assert [back[token] for token in rest] == list(range(len(one.token_ids)))
    assert {back[token] for token in filler} == {-1}


def test_a_segment_of_tokens_that_leave_out_white_space_begins_with_its_first_word():
    loaded = with_tokenizer(kinds.word_piece(), 4096)
    text = segmented(loaded, [Segment("one", "The lamp \n"), Segment("two", " the hill")])
    assert next(text.tokens[token]["text"] for token in text.span("two")).strip() == "the"
    assert text.segment[0] == text.segment[-1] == "added"
    assert text.crossings == []


def test_tokens_that_share_a_character_stay_in_its_segment():
    loaded = with_tokenizer(kinds.unigram(), 4096)
    text = segmented(loaded, [Segment("one", "The ﬁ"), Segment("two", "the hill")])
    shared = [place for place, token in enumerate(text.tokens) if token.get("spelling") == "i"]
    assert shared, "the character is two tokens"
    assert {text.segment[place] for place in shared} == {"one"}


def test_a_merge_across_a_boundary_is_reported_and_belongs_where_it_begins():
    text = condition("lamp.", "//", "Who?")
    assert [token["text"] for token in text.tokens] == [*"lamp", "./", "/W", *"ho?"]
    assert text.segment == ["system"] * 5 + ["filler"] + ["question"] * 3
    assert text.crossings == [
        Crossing(4, "./", "system", "filler"),
        Crossing(5, "/W", "filler", "question"),
    ]


def test_a_token_over_three_segments_is_reported_twice():
    loaded = merging()
    loaded.tokenizer.add_tokens(["p./W"])
    names = ("system", "filler", "empty", "question")
    segments = [Segment(*each) for each in zip(names, ("lamp.", "/", "", "Who?"), strict=True)]
    text = segmented(loaded, segments)
    assert [(c.token, c.before, c.after) for c in text.crossings] == [
        (3, "system", "filler"),
        (3, "system", "question"),
    ]
    assert text.span("filler") == text.span("empty") == range(0)


def test_alignment_finds_the_same_tokens_and_none_that_a_merge_changed():
    plain, filled = condition("lamp.", "", "Who?"), condition("lamp.", "//", "Who?")
    #        l  a  m  p  .   W   h  o  ?
    expect = [0, 1, 2, 3, -1, -1, 6, 7, 8]
    assert align(plain, filled) == expect
    #                               l  a  m  p  ./  /W  h  o  ?
    assert align(filled, plain) == [0, 1, 2, 3, -1, -1, 6, 7, 8]
    for token, counterpart in enumerate(expect):
        if counterpart >= 0:
            assert plain.token_ids[token] == filled.token_ids[counterpart]


def test_alignment_goes_by_place_where_a_merge_shifts_the_count():
    """One token fewer is left of the question; the others are where they were in its text."""
    plain, filled = condition("lamp", "", "What aba"), condition("lamp", "/", "What aba")
    assert filled.crossings == [Crossing(4, "/W", "filler", "question")]
    found = align(plain, filled)
    assert found[:4] == [0, 1, 2, 3]
    assert found[4] == -1
    assert found[5:] == list(range(5, len(filled.token_ids)))
    assert len(plain.span("question")) == len(filled.span("question")) + 1


def test_a_replaced_segment_has_no_counterpart_even_where_letters_agree():
    one, other = condition("lamp", "aaa", "Who?"), condition("lamp", "aaT", "Who?")
    assert align(one, other) == [0, 1, 2, 3, -1, -1, -1, 7, 8, 9, 10]


def test_ordinary_tokens_are_words_of_the_vocabulary(loaded):
    words = ordinary_tokens(loaded.tokenizer, 6, seed=3)
    assert 1 <= len(words) <= 6
    for word in words:
        assert word[0] == " "
        assert word[1:].isalpha()
        spelled = {"Ġ" + word[1:], "▁" + word[1:], word[1:]}
        assert spelled & loaded.tokenizer.get_vocab().keys()
    assert words == ordinary_tokens(loaded.tokenizer, 6, seed=3)


def test_a_vocabulary_without_words_is_refused():
    with pytest.raises(ReportError, match="no token that is a space and letters"):
        ordinary_tokens(merging().tokenizer, 5)
