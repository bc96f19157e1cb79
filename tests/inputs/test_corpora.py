"""Many texts, read from files of several kinds, here and elsewhere."""

import bz2
import gzip
import itertools
import json
import pickle
import sys

import fsspec
import pytest
from pydantic import ValidationError

from report.errors import ReportError
from report.inputs import corpora
from report.inputs.specs import CorpusSpec
from report.measuring import key

TEXTS = ['One, "two"', "Zwei – ü", "three\u2028lines"]


def corpus(file, **options):
    return corpora.specified(CorpusSpec(file=str(file), **options))


def objects(texts, column="text"):
    return "".join(json.dumps({"id": n, column: text}) + "\n" for n, text in enumerate(texts))


def test_a_text_a_line(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes("\ufeffone \r\n\r\n  zwei\nthree".encode())
    assert list(corpus(path)) == [(0, "one"), (1, ""), (2, "zwei"), (3, "three")]
    assert corpus(path).title == "texts.txt"
    assert corpus(path, title="My texts").title == "My texts"


@pytest.mark.parametrize("ending", [".jsonl", ".ndjson", ".JSONL"])
def test_a_field_of_an_object_a_line(tmp_path, ending):
    path = tmp_path / f"texts{ending}"
    path.write_text(objects(TEXTS, "review"), "utf-8")
    assert [text for _, text in corpus(path, column="review")] == TEXTS


def test_a_column_of_a_table(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text('id,text\n1,"two\nlines"\n2,"a ""b"""\n', "utf-8")
    assert [text for _, text in corpus(path)] == ["two\nlines", 'a "b"']
    (tmp_path / "texts.tsv").write_text("a\tb\n1\ttwo, three\n", "utf-8")
    assert list(corpus(tmp_path / "texts.tsv", column="b")) == [(0, "two, three")]


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files(tmp_path, ending, pack):
    path = tmp_path / f"texts.jsonl{ending}"
    path.write_bytes(pack(objects(TEXTS).encode()))
    assert [text for _, text in corpus(path)] == TEXTS


def test_several_files_are_one_corpus_in_the_order_of_their_names(tmp_path):
    for name, text in (("b", "second"), ("a", "first\nand more"), ("c", "third")):
        (tmp_path / f"part-{name}.txt").write_text(text)
    found = list(corpus(tmp_path / "part-*.txt"))
    assert found == [(0, "first"), (1, "and more"), (2, "second"), (3, "third")]


@pytest.mark.parametrize("name", ["study[1]", "stud?", "*", "study1"])
def test_a_file_that_there_is_is_no_pattern(tmp_path, name):
    for folder in ("study1", name):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "a.txt").write_text(f"of {folder}")
    assert [text for _, text in corpus(tmp_path / name / "a.txt")] == [f"of {name}"]


def test_texts_elsewhere_are_read_through_fsspec():
    with fsspec.open("memory://bucket/texts.jsonl", "w") as file:
        file.write(objects(TEXTS))
    assert [text for _, text in corpus("memory://bucket/texts.jsonl")] == TEXTS


def test_texts_are_read_one_by_one(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text(objects(["fine"] * 3) + "this is no JSON\n")
    first = list(itertools.islice(corpus(path), 3))
    assert first == [(0, "fine"), (1, "fine"), (2, "fine")]
    with pytest.raises(ReportError, match=r"cannot be read after 3 texts \(JSONDecodeError"):
        list(corpus(path))


def test_the_first_texts_and_without_some(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("a\nb\nc\nd\ne\n")
    found = corpus(path, first=4, skip=[1, 4])
    assert list(found) == [(0, "a"), (2, "c"), (3, "d")]
    assert len(found) == 3
    assert found.sha256 == key.hashed(["a", "c", "d"])


def test_the_sum_is_that_of_the_list_of_texts(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text(objects(TEXTS), "utf-8")
    assert corpus(path).sha256 == key.hashed(TEXTS) == corpora.Corpus("", tuple(TEXTS)).sha256


def test_a_corpus_may_travel(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("a\nb\n")
    found = corpus(path)
    assert len(found) == 2
    assert list(pickle.loads(pickle.dumps(found))) == [(0, "a"), (1, "b")]


def test_a_file_that_changes_between_two_readings_is_noticed(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("a\nb\n")
    found = corpus(path)
    assert len(found) == 2
    path.write_text("a\nB\n")
    with pytest.raises(ReportError, match=r"texts\.txt changed while it was read; run the same"):
        list(found)


def test_what_is_no_text_is_written_as_json(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": null}\n{"text": [1, "ä"]}\n', "utf-8")
    assert [text for _, text in corpus(path)] == ["", '[1, "ä"]']


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"texts\.jsonl has no text"),
        (b'{"body": "a", "id": 1}\n', r"has no column 'text'; it has: body, id\. Name the column"),
        (b"[1]\n", "has no column 'text'; it has: no columns"),
        (b'{"text": "\xff"}\n', r"cannot be read \(UnicodeDecodeError: .*of UTF-8 text"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path, content, message):
    path = tmp_path / "texts.jsonl"
    path.write_bytes(content)
    with pytest.raises(ReportError, match=message):
        len(corpus(path))


def test_no_file_and_no_library_are_told(tmp_path, monkeypatch):
    with pytest.raises(ReportError, match=r"cannot be read \(No such file"):
        len(corpus(tmp_path / "none.txt"))
    with pytest.raises(ReportError, match=r"no file fits|cannot be read"):
        len(corpus(tmp_path / "none-*.txt"))
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(ReportError, match=r"s3://a/b\.txt cannot be read here: .*pip install s3fs"):
        len(corpus("s3://a/b.txt"))


def test_a_damaged_archive_is_told(tmp_path):
    path = tmp_path / "texts.txt.gz"
    path.write_bytes(gzip.compress(b"many words " * 500)[:-20])
    with pytest.raises(ReportError, match=r"texts\.txt\.gz cannot be read"):
        len(corpus(path))


@pytest.mark.parametrize("file", ["texts.pdf", "texts.json", "texts", "texts.gz", "s3://a/b"])
def test_other_files_are_refused(file):
    with pytest.raises(ValidationError, match=r"must end in one of \.txt, \.jsonl"):
        CorpusSpec(file=file)
