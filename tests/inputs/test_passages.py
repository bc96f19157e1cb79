"""The texts that ship are sound and all different; a reader's own file is read or refused."""

import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from tokenizers import Tokenizer

import report
from report.errors import ReportError
from report.inputs import passages

ARTICLE = [passages.passage(name) for name in passages.passage_names()]
CORPUS = list(passages.corpus())
EVERY = ARTICLE + CORPUS
TOKENIZER = Path(report.__file__).parent / "embedded" / "falcon-8x8" / "tokenizer.json"
RUN = 12  # words; shorter runs are idiom, longer ones are the same sentence


def words(text):
    return re.findall(r"[^\W\d_]+", text.lower())


@pytest.fixture
def own_file(tmp_path):
    def write(content, name="own.md"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_the_corpus_comes_in_order_and_is_numbered_from_01_without_gaps():
    assert len(CORPUS) >= 40
    assert [int(text.name[:2]) for text in CORPUS] == list(range(1, len(CORPUS) + 1))
    assert max(Counter(text.name for text in EVERY).values()) == 1
    assert max(Counter(text.title for text in EVERY).values()) == 1


@pytest.mark.parametrize("text", EVERY, ids=lambda text: text.name)
def test_a_text_that_ships_is_stated_spelt_as_the_training_books_and_as_long_as_wanted(text):
    stated = (text.source, text.licence, text.language)
    assert stated == ("written for this project", "CC0-1.0", "en") and text.title
    assert unicodedata.is_normalized("NFC", text.text)
    assert not set(text.text) & set("\"'`\t\r\u00a0"), "quotes must be typographic, spaces plain"
    assert text.text.count("“") == text.text.count("”")
    assert "  " not in text.text and "\n\n" not in text.text
    assert all(line == line.strip() for line in text.text.split("\n"))
    tokens = Tokenizer.from_file(str(TOKENIZER)).encode(text.text, add_special_tokens=False).ids
    assert (150 if text in ARTICLE else 60) <= len(tokens) <= 200


def test_no_two_texts_share_a_run_of_12_words():
    owner = {}
    for text in EVERY:
        listed = words(text.text)
        for run in {tuple(listed[i : i + RUN]) for i in range(len(listed) - RUN + 1)}:
            assert run not in owner, f"{text.name} and {owner[run]}: {' '.join(run)}"
            owner[run] = text.name


def test_the_passage_repeats_a_phrase_and_a_name():
    text = passages.passage("the-lamp-on-the-hill").text
    assert text.count("the lamp on the hill") >= 3
    assert text.count("Martha") >= 3
    assert {"“", "”", "’", "—", "?", ","} <= set(text)


@pytest.mark.parametrize("name", ["the-lamp", "corpus/01-the-slow-river"])
def test_an_unknown_name_lists_the_known_ones_and_the_way_to_use_a_file(name):
    with pytest.raises(ReportError, match=f"unknown passage '{name}'") as caught:
        passages.passage(name)
    assert "the-lamp-on-the-hill" in str(caught.value)
    assert "a path to a .md or .txt file is accepted too" in str(caught.value)


READ = [
    ("\n  The — “late” —\n\ntide.\n", "high tide.txt", "high tide", "", "The — “late” —\n\ntide."),
    ("---\ntitle: 1984\nlicence: free\ntags: [a]\n---\nIt.\n", "a.md", "1984", "free", "It."),
    (b"\xef\xbb\xbf---\r\ntitle: E\r\n---\r\nOut\r\nit.\r\n", "B.TXT", "E", "", "Out\nit."),
    ("One.\n---\nTwo.", "own.md", "own", "", "One.\n---\nTwo."),  # a rule is no front matter
]


@pytest.mark.parametrize(("content", "name", "title", "licence", "text"), READ)
def test_a_file_is_measured_as_it_stands_and_its_front_matter_is_read(
    own_file, content, name, title, licence, text
):
    own = passages.passage(str(own_file(content, name)))
    name = name.rpartition(".")[0]
    assert own == passages.Passage(name, title, source="", licence=licence, language="", text=text)


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


@pytest.mark.parametrize("name", ["missing.md", "folder.md", "nul\0.txt"])
def test_what_is_no_file_is_named_and_the_known_passages_are_listed(tmp_path, name):
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(ReportError, match=r"cannot be read \(.*the-lamp-on-the-hill"):
        passages.passage(tmp_path / name)
