"""Numbers, names and sentences of pages and messages; texts that hold anything are tried in
tests/fuzz/test_text.py."""

from types import SimpleNamespace

import pytest

from report import text
from report.pages import filters

PERCENT = {
    0: ("0", "0.0"),
    0.0001: ("less than 1", "less than 0.1"),
    0.006: ("1", "0.6"),
    0.374: ("37", "37.4"),
    0.125: ("13", "12.5"),
    0.7525: ("75", "75.3"),
    -0.7525: ("−75", "−75.3"),
    0.994: ("99", "99.4"),
    0.99979: ("more than 99", "more than 99.9"),
    1 - 1e-9: ("100", "100.0"),
}


@pytest.mark.parametrize("value", PERCENT)
def test_percent_says_what_is_nearly_nothing_or_all(value):
    expected = [f"{number}\u00a0%" for number in PERCENT[value]]
    assert [text.percent(value), text.percent(value, 1)] == expected


def test_counts_and_large_numbers_are_readable():
    almost = SimpleNamespace(value=0.9998, error=float("nan"))
    assert filters.percent_spread(almost) == "more than 99\u00a0%"
    assert [text.count(n, "layer") for n in (1, 2000)] == ["1 layer", "2,000 layers"]
    large = [text.large(n) for n in (1234, 3_400_000, 150_000_000, 8_030_000_000)]
    assert large == ["1,234", "3.4 million", "150.0 million", "8.0 billion"]
    assert [text.slug(words) for words in ("What — is ALiBi?", "…")] == ["what-is-alibi", "tag"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (-0.00001, "nearly 0"),
        (0.00049, "0.0005"),
        (0.0061, "0.0061"),
        (-0.00612, "−0.0061"),
        (0.0146, "0.015"),
        (0.0996, "0.10"),
        (-0.254, "−0.25"),
        (0.996, "0.996"),
        (-0.99996, "nearly −1"),
        (0.99996, "nearly 1"),
        (1.0, "1.0"),
        (9.96, "10"),
        (12.4, "12"),
        (1234.5, "1,235"),
        (-2.5e20, "−250,000,000,000,000,000,000"),
    ],
)
def test_a_number_has_two_significant_digits(value, shown):
    assert text.number(value) == shown


def test_a_line_breaks_after_the_mark_of_its_break():
    assert filters.broken_lines("↵When") == "↵<br>When"
    assert filters.broken_lines("a↵↵b↵") == "a↵↵<br>b↵<br>"
    assert filters.broken_lines("<b>↵") == "&lt;b&gt;↵<br>"


def test_reading_time_counts_words_and_figures_but_no_markup():
    assert filters.reading_minutes("word " * 460, 0) == 2
    assert filters.reading_minutes("<a href='many words here'>one</a>", 0) == 1
    assert filters.reading_minutes("word " * 230, 6) == 3
    folded = f'??? info "More"\n\n    {"word " * 400}\n    more\n\n{"word " * 460}\n'
    assert filters.reading_minutes(folded, 0) == 2
    assert filters.reading_minutes(f"<details>{'word ' * 900}</details>{'word ' * 460}", 0) == 2
    tokens = "<span title='a b'>wo</span><span>rd</span><span> </span>"
    assert filters.reading_minutes(tokens * 460, 0) == 2


def test_the_worst_of_a_self_check_is_a_share_of_its_own_limit():
    numbers = {"differences": {"a": 1e-7, "b": 2e-6}, "limits": {"a": 2e-7, "b": 1e-5}}
    assert filters.worst_of_limits(numbers) == pytest.approx(0.5)


def test_no_line_ends_within_a_name():
    names = {"falcon-8x8", "plain", "somebody/a-very-long-name-7b"}
    kept = '<span class="name">falcon-8x8</span>'
    assert filters.unbroken("In falcon-8x8, and falcon-8x8.", names) == f"In {kept}, and {kept}."
    escaped = filters.unbroken("| falcon&#45;8x8 | 1 |", names)
    assert escaped == '| <span class="name">falcon&#45;8x8</span> | 1 |'
    linked = filters.unbroken("[falcon-8x8](../models/#falcon-8x8)", names)
    assert linked == f"[{kept}](../models/#falcon-8x8)"


@pytest.mark.parametrize(
    "markdown",
    [
        "`falcon-8x8`",
        "<code>report falcon-8x8</code>",
        "```\nfalcon-8x8\n```",
        "## falcon-8x8",
        '<figure data-model="falcon-8x8">falcon-8x8</figure>',
        'A <a href="#falcon-8x8">word</a>',
        '!!! note "falcon-8x8"',
        "falcon-8x8@step-10, models/falcon-8x8, falcon-8x8-checkpoints",
        "a very-long-name: somebody/a-very-long-name-7b, plain",
    ],
)
def test_code_headings_tags_and_other_names_are_left_alone(markdown):
    names = {"falcon-8x8", "plain", "somebody/a-very-long-name-7b"}
    assert filters.unbroken(markdown, names) == markdown


@pytest.mark.parametrize(
    ("said", "split"),
    [
        ("", []),
        ("One.", ["One."]),
        ("One. Two! “Three?” Four.", ["One.", "Two!", "“Three?” Four."]),
        ("At most 0.1 % of L1H0. 5 others.", ["At most 0.1 % of L1H0.", "5 others."]),
        ("Rows, e.g. those above. And others.", ["Rows, e.g. those above.", "And others."]),
    ],
)
def test_sentences_end_before_a_capital_a_digit_or_a_quotation(said, split):
    assert text.split_sentences(said) == split


@pytest.mark.parametrize("value", ["9" * 4300, "word " * 50 + "end", "é" * 81, "a=b;" * 40])
@pytest.mark.parametrize("sentence", ["got '{}', allowed is 'a'", "the users' {}: don't", '"{}"?'])
def test_a_message_repeats_little_of_a_long_value(value, sentence):
    said = text.brief(sentence.format(value))
    before, after = sentence.split("{}")
    if " " in value and before[-1] == " ":
        return  # not in quotation marks, so words of a sentence
    assert said.startswith(before + value[:40]) and said.endswith(value[-10:] + after)
    assert len(said) <= len(before + after) + 81 and "…" in said


@pytest.mark.parametrize(
    "sentence",
    [
        "model 'x': its config's value is 'y', and no one's; it's the users' own who said: 'no'",
        f"cannot read '/home/{'a/' * 90}my file.md': it isn't the program's own",
        f"type `pip install 'a[measure] @ git+https://github.com/a/b@{'f' * 40}'` first",
    ],
)
def test_a_message_keeps_its_own_words_and_paths(sentence):
    assert text.brief(sentence) == sentence
