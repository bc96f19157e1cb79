"""Corpora that would fill memory, and what is shown of an address that holds a secret."""

import gzip

import fsspec
import pytest

from report.errors import ReportError
from report.inputs import corpora, network
from report.inputs.specs import CorpusSpec


def corpus(file):
    return corpora.specified(CorpusSpec(file=str(file)))


SENT = {
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
@pytest.mark.parametrize("name", SENT)
def test_a_text_without_end_is_refused_before_it_fills_memory(tmp_path, monkeypatch, name):
    monkeypatch.setattr(corpora, "LARGEST", 10**5)
    first, again = SENT[name]
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(first + again * 10**6))
    with pytest.raises(ReportError, match=r"a text of more than|field larger than field limit"):
        len(corpus(path))


def test_many_texts_may_be_longer_together(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "LARGEST", 100)
    for name, line in {"a.txt": "a" * 60, "a.jsonl": '{"text": "a"}', "a.csv": "text"}.items():
        (tmp_path / name).write_text(f"{line}\n" * 50)
        assert len(corpus(tmp_path / name)) >= 49


def test_a_device_is_no_corpus(tmp_path):
    (tmp_path / "endless.txt").symlink_to("/dev/zero")
    with pytest.raises(ReportError, match="is no file; give the path of a file of texts"):
        len(corpus(tmp_path / "endless.txt"))


SECRET = (
    *("https://ann:secret@host.org/a.txt", "https://host.org/a?key=secret&f=a.txt"),
    *("https://host.org/a#secret.txt", "https://ann:secret@a.txt", "s3://ann:secret@bucket/a.txt"),
    *("https://host.org?@secret.txt", "simplecache::https://ann:secret@host.org/a.txt"),
    *("https://ann:secret@host.org/*.txt", "HTTPS://ann:secret@host.org/a.txt"),
)


@pytest.mark.promise("corpus-address")
@pytest.mark.parametrize("file", SECRET)
def test_no_page_and_no_message_repeats_a_password_or_a_signature(file, monkeypatch):
    """The title of a corpus stands on pages."""
    shown = [corpus(file).title, corpus(file).origin]
    for error in (ImportError("it"), ValueError("a"), None):

        def opened(*_, error=error, **__):
            if error:
                raise error
            return []

        monkeypatch.setattr(fsspec, "open_files", opened)
        with pytest.raises(ReportError) as caught:
            len(corpora.specified(CorpusSpec(file=file), allow_local=True))
        shown.append(str(caught.value))
    assert len(shown) == 5
    assert [text for text in shown if "secret" in text] == []


@pytest.mark.promise("corpus-host")
@pytest.mark.parametrize(
    ("file", "host"),
    [
        ("http://8.8.8.8#@10.0.0.1/t.txt", "8.8.8.8"),
        ("http://8.8.8.8?@10.0.0.1/t.txt", "8.8.8.8"),
        ("http://10.0.0.1@8.8.8.8/t.txt", "8.8.8.8"),
    ],
)
def test_the_host_that_is_said_is_the_one_that_is_asked(file, host):
    assert corpus(file).origin.startswith(f"http://{host}")


@pytest.mark.parametrize("protocol", network.SERVICES)
@pytest.mark.parametrize("error", [ImportError("Install it"), ValueError("Protocol not known: x")])
def test_what_reads_an_address_is_named_where_it_is_missing(protocol, error, monkeypatch):
    def opened(*_, **__):
        raise error

    monkeypatch.setattr(fsspec, "open_files", opened)
    with pytest.raises(ReportError, match=r"cannot be read here: .*; run `python -m pip install"):
        len(corpora.specified(CorpusSpec(file=f"{protocol}://b/t.txt"), allow_local=True))
