"""Where an article's numbers come from, told to machines; and how to cite it."""

import hashlib
import re
from datetime import date
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from report import __version__, files
from report.datasets import store
from report.pages.provenance import bibtex, provenance, tex
from tests.commands import ROOT
from tests.figures import hand_made

URL = "https://ann.example/heads/"
FIELD = re.compile(r"^  (\w+) = \{(.*)\},?$")


def study(title="Heads & tails", author="Ann Lee", name="heads"):
    front = SimpleNamespace(title=title, author=author, date=date(2026, 11, 20))
    return SimpleNamespace(name=name, front_matter=front)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return hand_made.study(tmp_path_factory.mktemp("made") / "datasets" / "heads" / "0123456789ab")


def fields(entry):
    """The fields of a BibTeX entry, as BibTeX finds them: braces count wherever they stand."""
    first, *lines, last = entry.split("\n")
    assert re.fullmatch(r"@misc\{[a-z0-9-]+,", first)
    assert last == "}"
    found = {}
    for line in lines:
        name, value = FIELD.fullmatch(line).groups()
        depth = 0
        for letter in value:
            depth += {"{": 1, "}": -1}.get(letter, 0)
            assert depth >= 0
        assert depth == 0
        found[name] = value
    return found


def test_an_article_is_cited_with_its_datasets(data):
    found = fields(bibtex(study(), data, URL))
    assert found == {
        "title": r"{Heads \& tails}",
        "author": "Ann Lee",
        "year": "2026",
        "month": "11",
        "day": "20",
        "url": "https://ann.example/heads/articles/heads/",
        "note": f"Made with Attention Focus Plots {__version__}; data {data.manifest['key']}",
    }
    assert "url" not in fields(bibtex(study(), data))
    assert fields(bibtex(study(author="Lee, Ann"), data))["author"] == "{Lee, Ann}"


def test_many_datasets_are_cited_by_one_key_which_provenance_explains():
    keys = [f"{number:012x}" for number in range(20)]
    models = [SimpleNamespace(manifest={"key": key}) for key in keys]
    note = fields(bibtex(study(), SimpleNamespace(models=models)))["note"]
    joined = hashlib.sha256("\n".join(keys).encode()).hexdigest()
    assert note == f"Made with Attention Focus Plots {__version__}; data {joined[:12]}"
    models.reverse()
    assert note != fields(bibtex(study(), SimpleNamespace(models=models)))["note"]


@given(st.text(), st.text())
def test_no_title_or_author_breaks_an_entry(title, author):
    model = SimpleNamespace(manifest={"key": "0123456789ab"})
    found = fields(bibtex(study(title, author), SimpleNamespace(models=[model])))
    assert set(found) == {"title", "author", "year", "month", "day", "note"}


def test_what_tex_would_read_as_commands_is_text():
    assert tex("50% of $x_1 & #2") == r"50\% of \$x\_1 \& \#2"
    assert tex("\\a{b}~^\n\tc\0") == (
        r"\textbackslash{}a\textbraceleft{}b\textbraceright{}\textasciitilde{}\textasciicircum{} c"
    )


def test_it_tells_where_the_numbers_come_from(data):
    told = store.check(provenance(study(), data, url=URL), "told")
    [dataset] = told["datasets"]
    manifest = data.manifest
    for name in ("key", "model", "self_check", "versions", "command", "determined_by"):
        assert dataset[name] == manifest[name]
    assert dataset["measured_on"] == manifest["date"]
    assert dataset["manifest_sha256"] == files.sha256(data.path / "manifest.json")
    sums = {f"0123456789ab/{name}": each["sha256"] for name, each in manifest["files"].items()}
    assert dataset["files"] == sums
    assert dataset["frozen"] is False
    assert provenance(study(), data, [manifest["key"]])["datasets"][0]["frozen"] is True
    assert told["article"]["url"] == f"{URL}articles/heads/"


def test_the_software_is_cited_by_a_file_that_follows_its_format():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert found["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "version", "license"} <= found.keys()
    assert all(author.get("name") or author.get("family-names") for author in found["authors"])
    assert found["version"] == __version__
    assert found["license"] == "MIT"
    assert found["type"] in ("software", "dataset")
