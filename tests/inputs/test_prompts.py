"""The questions of the studies: enough of them, and of the size stated; sets of a reader's own."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer

import report.embedded
from report.errors import ReportError
from report.inputs.prompts import prompt_names, prompts

BOOKS = Path(report.embedded.__file__).parent / "falcon-8x8" / "tokenizer.json"
"""The tokenizer of the embedded models."""


def test_questions_differ_and_are_about_as_long_as_those_of_the_study():
    arithmetic, tokenizer = prompts("arithmetic"), Tokenizer.from_file(str(BOOKS))

    def tokens(text):
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    assert "arithmetic" in prompt_names()
    assert arithmetic.licence == "CC0-1.0"
    assert len({*arithmetic.questions}) == len(arithmetic.questions) >= 24
    assert all(25 <= tokens(question) <= 50 for question in arithmetic.questions)
    assert 15 <= tokens(arithmetic.system) <= 30
    assert all(question.isascii() and "  " not in question for question in arithmetic.questions)


def test_a_set_of_one_s_own_is_found_by_its_path(tmp_path):
    path = tmp_path / "two.md"
    path.write_text("---\nsystem: Be brief.\n---\nWhy?\n\n  How much 灯?\n", encoding="utf-8")
    assert prompts(path).questions == ("Why?", "How much 灯?")
    assert (prompts(path).system, prompts(path).title) == ("Be brief.", "two")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Why?\n", "names no system prompt; add a line 'system: …' on top"),
        ("---\nsystem: Be brief.\n---\n\n", "has no question; write one a line"),
    ],
)
def test_a_set_without_system_prompt_or_questions_is_refused(tmp_path, text, message):
    path = tmp_path / "own.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ReportError, match=message):
        prompts(path)


@pytest.mark.parametrize("name", ["arithmetics", "missing.md", "../passages/corpus", ""])
def test_an_unknown_set_is_refused_with_the_known_ones(name):
    with pytest.raises(ReportError, match=f"unknown prompts '{name}'; known: arithmetic"):
        prompts(name)
