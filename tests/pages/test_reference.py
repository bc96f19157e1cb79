"""The reference: all that the code has stands there and is explained, and nothing of the machine
that wrote it."""

import re
from dataclasses import fields
from functools import cache
from types import SimpleNamespace

import pytest
import typer

from report import measures
from report.__main__ import app
from report.datasets import store
from report.errors import ReportError
from report.figures.parts.figure import Figure
from report.inputs.prompts import Prompts, prompts
from report.kinds.conditions.findings import EffectFindings
from report.kinds.passage import findings as passage
from report.kinds.passage.data import tokens_of
from report.pages import reference
from report.pages.article import ArticleFigures
from report.pages.reference import Section, code, prose, with_numbers, write_reference
from report.study.front_matter import INSIDE, FrontMatter
from tests.commands import ROOT


@cache
def pages():
    """The pages by name; only the process that tests them writes them."""
    return {page.name: page for page in reference.pages(app)}


def names(page, title):
    """The entries below a heading of a page, in order."""
    (section,) = [section for section in pages()[page].sections if section.title == title]
    return [entry.name for entry in section.entries]


NAMES = ["front matter", "commands", "in prose", "figures", "datasets"]


@pytest.mark.parametrize("place", range(len(NAMES)), ids=NAMES)
def test_every_entry_is_explained_and_has_a_place_of_its_own(place):
    sections = [*pages().values()][place].sections
    entries = [(section, entry) for section in sections for entry in section.entries]
    assert [entry.name for _, entry in entries if not entry.text.strip()] == []
    places = [section.anchor(entry) for section, entry in entries]
    assert len(places) == len(set(places))


def test_every_key_of_front_matter_is_there():
    assert names("front-matter", "Keys") == list(FrontMatter.model_fields)
    for key, (model, _) in INSIDE.items():
        assert names("front-matter", f"Keys of {key}") == list(model.model_fields)


def test_arguments_say_what_they_may_be(tmp_path):
    """What the code takes is what the reference lists: measures, tokens' fields, keys of files."""
    refused = r"unknown measure 'x'; (?:known|measured are): (.*)\.$"
    for title, ask in (
        ("Measures of a passage", lambda: measures.named("x", measures.shipped())),
        ("Measures of conditions", lambda: EffectFindings(None).head(0, 0, 0, "x", "filler")),
    ):
        with (
            pytest.MonkeyPatch.context() as patch,
            pytest.raises(ReportError, match="unknown measure") as said,
        ):
            shown = SimpleNamespace(effects={"head": 0})
            patch.setattr(EffectFindings, "data", SimpleNamespace(models=[shown]), raising=False)
            patch.setattr(EffectFindings, "__init__", lambda *_: None)
            ask()
        known = re.search(refused, str(said.value))[1].split(", ")
        assert sorted(known) == sorted(names("prose", title))
    (token,) = tokens_of([{"id": 3, "text": "a"}])
    public = {name for name in dir(token) if not name.startswith("_")}
    assert public == {*names("prose", "Fields of a token")}
    path = tmp_path / "own.md"
    keys = names("front-matter", "Keys of a file of prompts")
    path.write_text("---\n" + "".join(f"{key}: {key}!\n" for key in keys) + "---\nWhy?\n")
    read = prompts(path)
    assert {key: getattr(read, key) for key in keys} == {key: f"{key}!" for key in keys}
    assert {field.name for field in fields(Prompts)} == {*keys, "name", "questions"}


def test_a_key_says_what_it_may_be():
    about = {entry.name: entry.about for entry in pages()["front-matter"].sections[0].entries}
    assert about["title"] == "A text; must be given."
    assert about["rows"] == "A whole number, at least 2."
    assert about["dtype"] == (
        "`float32` or `bfloat16`; default: `float32`; on the command line `--dtype`."
    )
    assert about["passage"].startswith("A text or [keys of passage](#keys-of-passage); default:")


def test_every_command_and_option_is_there():
    program = typer.main.get_command(app)
    shared = names("command-line", reference.IN_PLACE)
    for name, command in program.commands.items():
        listed = " ".join([*names("command-line", name), *shared])
        for option in command.params:
            for word in option.opts if option.param_type_name == "option" else ():
                assert word in listed, (name, word)
    assert [section.title for section in pages()["command-line"].sections] == [
        *program.commands,
        reference.IN_PLACE,
    ]


def test_functions_fields_and_schemas_are_there():
    functions = {name.partition("(")[0] for name in names("prose", "Functions")}
    called = {
        name for name, m in vars(ArticleFigures).items() if (m.__doc__ or "").startswith("`{")
    }
    assert functions == called
    assert names("figures", "Fields of a figure") == [field.name for field in fields(Figure)]
    assert len(pages()["datasets"].sections) == len(list(store.SCHEMAS.glob("*.json")))
    assert "find.strongest(measure, source='corpus')" in names("prose", "Findings of a passage")


def test_pages_are_written_where_there_is_a_documentation(tmp_path):
    write_reference(tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    (tmp_path / "docs" / "reference" / "departed.md").touch()
    write_reference(tmp_path)  # a folder that somebody called docs
    assert [path.name for path in (tmp_path / "docs" / "reference").iterdir()] == ["departed.md"]
    (tmp_path / "docs" / "how-to").mkdir()
    (tmp_path / "docs" / "how-to" / "figures.md").touch()
    write_reference(tmp_path, app)
    written = {path.stem: path.read_text() for path in (tmp_path / "docs" / "reference").iterdir()}
    assert written.keys() == pages().keys()
    assert not [name for name, text in written.items() if str(ROOT) in text]


def test_a_constant_is_told_as_the_number_that_it_is():
    read = {entry.name: entry.text for entry in pages()["prose"].sections[1].entries}
    least = f"at least {passage.FEWEST_POINTS} points of either kind"
    assert least in read["find.first_token_updates_of_heads"]
    assert (
        with_numbers("`MOST`, of `A`, of `NAMES`", {"MOST": 6, "NAMES": ()})
        == "6, of `A`, of `NAMES`"
    )


def test_docstrings_become_markdown_that_shows_them_as_they_are():
    said = prose("""Takes `<b>` and *a* <i>.

        key: what it is
            called
        raises: ReportError
        """)
    assert said == (
        "Takes `<b>` and &#42;a&#42; &#60;i&#62;&#46;\n\n"
        "- **key**: what it is called\n- **raises**: ReportError"
    )
    assert code("a `b`\n c") == "`` a `b` c ``"
    assert Section("A b", []).anchor(reference.Entry("find.x(y)", "")) == "a-b-find-x"
