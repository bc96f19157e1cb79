"""Fillers have exactly the tokens asked for, in their place, whatever the tokenizer."""

import re

import pytest

from report.errors import ReportError
from report.inputs import fillers
from report.inputs.conditions import question_prompt
from report.models.text.segments import ordinary_tokens, segmented
from tests.inputs.filled import with_filler
from tests.models import tiny_tokenizers as kinds
from tests.models.text.test_tokens import with_tokenizer

PROMPT = question_prompt("The lamp was lit.", "Who lit the lamp?")


@pytest.fixture(scope="module", params=kinds.KINDS, ids=lambda kind: kind.__name__)
def loaded(request):
    return with_tokenizer(request.param(), 4096)


def counting(loaded):
    """How many tokens a filler has in the prompt."""

    def count(text):
        prompt = with_filler(PROMPT, text, "filled", "filled")
        return len(segmented(loaded, prompt.segments).span("filler"))

    return count


def test_sentences_and_random_words_have_exactly_the_tokens_asked_for(loaded):
    count, words = counting(loaded), ordinary_tokens(loaded.tokenizer, 50, seed=1)
    sentence, drawn = fillers.sentence(count, 30), fillers.random_words(count, 55, words)
    assert (count(sentence), count(drawn)) == (30, 55)
    assert re.fullmatch(r"The [a-z ]+\.", sentence) and "the the" not in sentence
    assert set(drawn.split()) <= {word.strip() for word in words}


def test_the_same_seed_gives_the_same_text():
    def texts(seed):
        words = fillers.random_words(len, 20, [" a", "bc"], seed)
        return fillers.sentence(len, 60, seed), words

    assert texts(1) == texts(1)
    assert [one != other for one, other in zip(texts(1), texts(2), strict=True)] == [True, True]


def test_a_string_that_would_merge_is_kept_apart():
    def count(text):
        """Slashes in a row are one token; so is each space, but before a slash."""
        return len(re.findall(r" ?/+|\s", text))

    assert fillers.repeated_tokens(count, 55) == " ".join("/" * 55)
    assert fillers.repeated_tokens(len, 12, "abc") == "abc" * 4


def test_what_one_kind_of_space_cannot_reach_several_can():
    """Two newlines are one token, and so is a newline with a space."""

    def count(text):
        return len(re.findall(r"\n\n|\n ?", text))

    for tokens in (5, 8, 12):
        text = fillers.repeated_tokens(count, tokens, "\n")
        assert count(text) == tokens
        assert set(text) <= {"\n", " "}
    # each "ab" is two tokens, each "/" one: only a mixture has an odd number
    text = fillers.repeated_tokens(lambda text: len(re.findall(r"a|b|\n", text)), 7, "ab")
    assert len(re.findall(r"a|b|\n", text)) == 7
    assert text.replace("\n", "").replace(" ", "") == "ab" * text.count("a")


def test_repetitions_that_would_merge_are_kept_apart():
    def count(text):
        return len(re.findall(r"/+|\S", text))

    assert fillers.repeated_apart(count, "/", 9) == " ".join("/" * 9)
    assert fillers.repeated_apart(len, "/", 9) == "/" * 9
    assert fillers.repeated_apart(lambda text: 1, "/", 9) == "/" * 9


@pytest.mark.parametrize("kind", [kinds.byte_level, kinds.llama3, kinds.llama2, kinds.gemma])
def test_a_repeated_string_has_exactly_the_tokens_asked_for(kind):
    count = counting(with_tokenizer(kind(), 4096))
    text = fillers.repeated_tokens(count, 55)
    assert count(text) == 55
    assert set(text) <= {"/", " "}


def test_what_cannot_be_had_is_refused():
    with pytest.raises(ReportError, match="'abc' cannot be repeated to exactly 2 tokens"):
        fillers.repeated_tokens(len, 2, "abc")
    with pytest.raises(ReportError, match="found no sentence of exactly 2 tokens; ask for at"):
        fillers.sentence(lambda text: len(text.split()), 2)
    with pytest.raises(ReportError, match="found no random words of exactly 7 tokens"):
        fillers.random_words(len, 7, [" a", " b"])
