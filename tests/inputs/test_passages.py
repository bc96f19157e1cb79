"""The texts that ship are sound and all different; a reader's own file is read or refused."""

import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

import report
from report.errors import ReportError
from report.inputs import passages

ARTICLE = [passages.passage(name) for name in passages.passage_names()]
CORPUS = list(passages.corpus())
EVERY = ARTICLE + CORPUS
TOKENIZER = Path(report.__file__).parent / "embedded" / "falcon-8x8" / "tokenizer.json"
RUN = 12  # words; shorter runs are idiom, longer ones are the same sentence

each = pytest.mark.parametrize("text", EVERY, ids=lambda text: text.name)


def words(text):
    return re.findall(r"[^\W\d_]+", text.lower())


def runs(text):
    all_words = words(text)
    return {tuple(all_words[i : i + RUN]) for i in range(len(all_words) - RUN + 1)}


@pytest.fixture
def own_file(tmp_path):
    def write(content, name="own.md"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_the_project_ships_a_passage_and_at_least_40_short_texts():
    assert "the-lamp-on-the-hill" in passages.passage_names()
    assert len(CORPUS) >= 40


def test_names_and_titles_are_unique():
    assert max(Counter(text.name for text in EVERY).values()) == 1
    assert max(Counter(text.title for text in EVERY).values()) == 1


def test_the_corpus_comes_in_order_and_is_numbered_from_01_without_gaps():
    numbers = [int(text.name[:2]) for text in CORPUS]
    assert numbers == list(range(1, len(CORPUS) + 1))


@each
def test_every_field_is_stated(text):
    assert text.title
    assert text.source == "written for this project"
    assert text.licence == "CC0-1.0"
    assert text.language == "en"


@each
def test_spelling_of_characters_is_that_of_the_training_books(text):
    assert unicodedata.is_normalized("NFC", text.text)
    assert not set(text.text) & set("\"'`\t\r\u00a0"), "quotes must be typographic, spaces plain"
    assert text.text.count("“") == text.text.count("”")
    assert "  " not in text.text and "\n\n" not in text.text
    assert all(line == line.strip() for line in text.text.split("\n"))


@each
def test_length_in_words_is_sane(text):
    assert 45 <= len(words(text.text)) <= 170


def test_no_two_texts_share_a_run_of_12_words():
    owner = {}
    for text in EVERY:
        for run in runs(text.text):
            assert run not in owner, f"{text.name} and {owner[run]}: {' '.join(run)}"
            owner[run] = text.name


def test_the_passage_repeats_a_phrase_and_a_name():
    text = passages.passage("the-lamp-on-the-hill").text
    assert text.count("the lamp on the hill") >= 3
    assert text.count("Martha") >= 3
    assert {"“", "”", "’", "—", "?", ","} <= set(text)


def token_counts(texts):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    return {
        text.name: len(tokenizer.encode(text.text, add_special_tokens=False).ids) for text in texts
    }


def test_passages_have_150_to_200_tokens():
    too_far = {name: n for name, n in token_counts(ARTICLE).items() if not 150 <= n <= 200}
    assert not too_far


def test_texts_of_the_corpus_have_60_to_200_tokens():
    too_far = {name: n for name, n in token_counts(CORPUS).items() if not 60 <= n <= 200}
    assert not too_far


def test_an_unknown_name_lists_the_known_ones_and_the_way_to_use_a_file():
    with pytest.raises(ReportError) as caught:
        passages.passage("the-lamp")
    message = str(caught.value)
    assert "unknown passage 'the-lamp'" in message
    assert "the-lamp-on-the-hill" in message
    assert "a path to a .md or .txt file is accepted too" in message


def test_a_name_cannot_leave_the_folder():
    with pytest.raises(ReportError, match="unknown passage"):
        passages.passage("corpus/01-the-slow-river")


def test_a_plain_text_file_is_measured_as_it_stands(own_file):
    own = passages.passage(own_file("\n  The tide — “late” —\n\nwas in.\n", "high tide.txt"))
    assert own == passages.Passage(
        name="high tide",
        title="high tide",
        source="",
        licence="",
        language="",
        text="The tide — “late” —\n\nwas in.",
    )


def test_front_matter_of_an_own_file_is_read_and_other_keys_are_left_alone(own_file):
    content = "---\ntitle: 1984\nlicence: none\ntags: [a, b]\n---\nIt was bright.\n"
    own = passages.passage(str(own_file(content)))
    assert (own.title, own.licence, own.source) == ("1984", "none", "")
    assert own.text == "It was bright."


def test_line_ends_and_byte_order_mark_of_other_editors_do_not_reach_the_model(own_file):
    content = b"\xef\xbb\xbf---\r\ntitle: Ebb\r\n---\r\nOut\r\nit went.\r\n"
    own = passages.passage(own_file(content, "EBB.TXT"))
    assert (own.title, own.text) == ("Ebb", "Out\nit went.")


def test_a_rule_in_the_text_is_no_front_matter(own_file):
    assert passages.passage(own_file("One.\n---\nTwo.")).text == "One.\n---\nTwo."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"caf\xe9", r"is not UTF-8 \(byte 3\); save it as UTF-8"),
        ("", "is empty; write the text"),
        (" \n\t\n", "is empty; write the text"),
        ("---\ntitle: Nothing\n---\n", "is empty; write the text"),
        ("---\ntitle: Open\nIt was bright.", "is never closed; end it with a line ---"),
        ("---\nlicence: x\ntitle: [\n---\nText.", "is not valid YAML at line 3; write lines like"),
        ("---\na: &a [x]\nb: *a\n---\nText.", "is not valid YAML at line 3; write lines like"),
        ("---\njust words\n---\nText.", "is not a list of fields; write lines like"),
        ("---\ntitle: {a: b}\n---\nText.", "title in the front matter of .* must be one line"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_sentence(own_file, content, message):
    with pytest.raises(ReportError, match=message):
        passages.passage(own_file(content))


def test_a_missing_file_is_named_and_the_known_passages_are_listed(tmp_path):
    missing = tmp_path / "missing.md"
    with pytest.raises(ReportError) as caught:
        passages.passage(missing)
    message = str(caught.value)
    assert f"{missing} cannot be read (No such file or directory)" in message
    assert "the-lamp-on-the-hill" in message


@pytest.mark.parametrize("name", ["folder.md", "nul\0.txt"])
def test_what_is_no_file_is_refused_in_the_same_way(tmp_path, name):
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(ReportError, match="cannot be read"):
        passages.passage(tmp_path / name)
