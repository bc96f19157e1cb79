"""Many texts, read from files of several kinds, here and elsewhere; what would fill memory, and
what is shown of an address that holds a secret."""

import bz2
import gc
import gzip
import itertools
import json
import pickle
import sys
import warnings

import fsspec
import pytest
from pydantic import ValidationError

from report.errors import ReportError
from report.inputs import corpora, network
from report.inputs.specs import CorpusSpec
from report.measuring import key

TEXTS = ['One, "two"', "Zwei – ü", "three\u2028lines"]


def corpus(file, allow_local=False, **options):
    return corpora.specified(CorpusSpec(file=str(file), **options), allow_local)


def texts(*arguments, **options):
    return [text for _, text in corpus(*arguments, **options)]


def objects(texts, column="text"):
    return "".join(json.dumps({"id": n, column: text}) + "\n" for n, text in enumerate(texts))


FORMS = {
    "a.txt": ("\ufeffone \r\n\r\n  zwei\nthree", {}, ["one", "", "zwei", "three"]),
    "a.jsonl": (objects(TEXTS, "review"), {"column": "review"}, TEXTS),
    "a.JSONL": (objects(TEXTS), {}, TEXTS),
    "a.ndjson": ('{"text": null}\n{"text": [1, "ä"]}\n', {}, ["", '[1, "ä"]']),
    "a.csv": ('id,text\n1,"two\nlines"\n2,"a ""b"""\n', {}, ["two\nlines", 'a "b"']),
    "a.tsv": ("a\tb\n1\ttwo, three\n", {"column": "b"}, ["two, three"]),
    "a.jsonl.gz": (gzip.compress(objects(TEXTS).encode()), {}, TEXTS),
    "a.jsonl.bz2": (bz2.compress(objects(TEXTS).encode()), {}, TEXTS),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_text_a_line_an_object_or_a_row(tmp_path, name):
    content, options, expected = FORMS[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert list(corpus(path, **options)) == [*enumerate(expected)]
    assert corpus(path, **options).sha256 == key.hashed(expected)
    assert corpora.Corpus("", tuple(expected)).sha256 == key.hashed(expected)
    assert corpus(path).title == name
    assert corpus(path, title="My texts").title == "My texts"


@pytest.mark.parametrize("most", [1, 9], ids=["begun", "read"])
@pytest.mark.parametrize("name", FORMS)
def test_no_file_stays_open(tmp_path, name, most):
    content, options, _ = FORMS[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert [*itertools.islice(corpus(path, **options), most)]
        gc.collect()
    assert [str(each.message) for each in heard] == []


def test_several_files_are_one_corpus_in_the_order_of_their_names(tmp_path):
    for name, text in (("b", "second"), ("a", "first\nand more"), ("c", "third")):
        (tmp_path / f"part-{name}.txt").write_text(text)
    assert texts(tmp_path / "part-*.txt") == ["first", "and more", "second", "third"]


@pytest.mark.parametrize("name", ["study[1]", "stud?", "*", "study1"])
def test_a_file_that_there_is_is_no_pattern(tmp_path, name):
    for folder in ("study1", name):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "a.txt").write_text(f"of {folder}")
    assert texts(tmp_path / name / "a.txt") == [f"of {name}"]


def test_texts_elsewhere_are_read_through_fsspec():
    with fsspec.open("memory://bucket/texts.jsonl", "w") as file:
        file.write(objects(TEXTS))
    assert texts("memory://bucket/texts.jsonl") == TEXTS


def test_texts_are_read_one_by_one(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text(objects(["fine"] * 3) + "this is no JSON\n")
    assert list(itertools.islice(corpus(path), 3)) == [(0, "fine"), (1, "fine"), (2, "fine")]
    with pytest.raises(ReportError, match=r"cannot be read after 3 texts \(JSONDecodeError"):
        texts(path)


def test_the_first_texts_and_without_some(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("a\nb\nc\nd\ne\n")
    some = corpus(path, first=4, skip=[1])
    assert list(some) == [(0, "a"), (2, "c"), (3, "d")]
    assert (len(some), some.sha256) == (3, key.hashed(["a", "c", "d"]))


def test_a_corpus_may_travel_and_may_not_change_between_two_readings(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("a\nb\n")
    whole = corpus(path)
    assert len(whole) == 2
    assert list(pickle.loads(pickle.dumps(whole))) == [(0, "a"), (1, "b")]
    path.write_text("a\nB\n")
    with pytest.raises(ReportError, match=r"texts\.txt changed while it was read; run the same"):
        list(whole)


WRONG = {
    "empty.jsonl": (b"", r"empty\.jsonl has no text"),
    "keys.jsonl": (b'{"body": "a", "id": 1}\n', r"no column 'text'; it has: body, id\. Name the"),
    "list.jsonl": (b"[1]\n", "has no column 'text'; it has: no columns"),
    "latin.jsonl": (b'{"text": "\xff"}\n', r"cannot be read \(UnicodeDecodeError: .*of UTF-8 text"),
    "cut.txt.gz": (gzip.compress(b"many words " * 500)[:-20], r"cut\.txt\.gz cannot be read"),
    "none.txt": (None, r"cannot be read \(No such file"),
    "none-*.txt": (None, r"no file fits|cannot be read"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path, name):
    content, reason = WRONG[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ReportError, match=reason):
        len(corpus(tmp_path / name))


def test_a_device_is_no_corpus(tmp_path):
    (tmp_path / "endless.txt").symlink_to("/dev/zero")
    with pytest.raises(ReportError, match="is no file; give the path of a file of texts"):
        len(corpus(tmp_path / "endless.txt"))


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(ReportError, match=r"s3://a/b\.txt cannot be read here: .*pip install s3fs"):
        len(corpus("s3://a/b.txt"))


@pytest.mark.parametrize("file", ["texts.pdf", "texts.json", "texts", "texts.gz", "s3://a/b"])
def test_other_files_are_refused(file):
    with pytest.raises(ValidationError, match=r"must end in one of \.txt, \.jsonl"):
        CorpusSpec(file=file)


ENDLESS = {
    "text.txt": (b"", b"a"),
    "text.jsonl": (b'{"text": "', b"a"),
    "blank.jsonl": (b"", b"\n"),
    "cell.csv": (b'text\n"', b"a"),
    "lines.csv": (b'text\n"', b"a\n"),
    "cells.csv": (b"text\n", b'"\n",'),
    "rows.csv": (b"text\n", b"\n"),
    "head.tsv": (b"", b"a\t"),
}
"""Name of a file -> how it begins, and what it goes on with."""


@pytest.mark.promise("corpus-size")
@pytest.mark.parametrize("name", ENDLESS)
def test_a_text_without_end_is_refused_before_it_fills_memory(tmp_path, monkeypatch, name):
    monkeypatch.setattr(corpora, "LARGEST", 10**4)
    first, again = ENDLESS[name]
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(first + again * 10**5))
    with pytest.raises(ReportError, match=r"a text of more than|field larger than field limit"):
        len(corpus(path))


def test_many_texts_may_be_longer_together(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "LARGEST", 100)
    for name, line in {"a.txt": "a" * 60, "a.jsonl": '{"text": "a"}', "a.csv": "text"}.items():
        (tmp_path / name).write_text(f"{line}\n" * 50)
        assert len(corpus(tmp_path / name)) >= 49


SECRET = (
    *("https://ann:secret@host.org/a.txt", "https://host.org/a?key=secret&f=a.txt"),
    *("https://host.org/a#secret.txt", "https://ann:secret@a.txt", "s3://ann:secret@bucket/a.txt"),
    *("https://host.org?@secret.txt", "simplecache::https://ann:secret@host.org/a.txt"),
    *("https://ann:secret@host.org/*.txt", "HTTPS://ann:secret@host.org/a.txt"),
)


@pytest.mark.promise("corpus-address")
@pytest.mark.parametrize("file", SECRET)
@pytest.mark.parametrize("error", [ImportError("it"), ValueError("a"), None])
def test_no_page_and_no_message_repeats_a_password_or_a_signature(file, error, monkeypatch):
    """The title of a corpus stands on pages."""

    def opened(*_, **__):
        if error:
            raise error
        return []

    monkeypatch.setattr(fsspec, "open_files", opened)
    with pytest.raises(ReportError) as refused:
        len(corpus(file, allow_local=True))
    for text in (corpus(file).title, corpus(file).origin, str(refused.value)):
        assert "secret" not in text


@pytest.mark.promise("corpus-host")
@pytest.mark.parametrize("file", ["8.8.8.8#@10.0.0.1", "8.8.8.8?@10.0.0.1", "10.0.0.1@8.8.8.8"])
def test_the_host_that_is_said_is_the_one_that_is_asked(file):
    assert corpus(f"http://{file}/t.txt").origin.startswith("http://8.8.8.8")


@pytest.mark.parametrize("protocol", network.SERVICES)
def test_what_reads_an_address_is_named_where_it_is_missing(protocol, monkeypatch):
    def opened(*_, **__):
        raise ValueError("Protocol not known: x")

    monkeypatch.setattr(fsspec, "open_files", opened)
    with pytest.raises(ReportError, match=r"cannot be read here: .*; run `python -m pip install"):
        len(corpus(f"{protocol}://b/t.txt", allow_local=True))
