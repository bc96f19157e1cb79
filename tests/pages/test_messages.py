"""The reference has every error message, as a reader meets it."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from report.errors import ReportError, command
from report.figures.build.find import figure_named
from report.figures.parts.choices import Control
from report.inputs.passages import passage, read_passage
from report.models.find import names
from report.pages.glossary import term
from report.pages.reference import errors
from report.pages.reference.messages import Message, messages
from report.pages.reference.sources import PACKAGE, Gap, Module
from report.site import address, check
from report.site.bundled import written
from report.study import study

PASSED_ON = {
    "authored/boundary": 1,
    "authored/guard": 1,
    "kinds/conditions/data": 1,
    "families/overview": 1,
    "figures/build/per_model": 1,
    "measuring/cluster/driver": 1,
    "models/load/sentences": 1,
    "models/text/messages": 2,
    "pages/bibliography": 1,
    "pages/prose": 1,
}
"""Modules that raise sentences made elsewhere -> how many. The reference has them from there."""


def test_every_sentence_is_there():
    """Found as somebody would who searches the text of the source."""
    texts = {path: path.read_text("utf-8").splitlines() for path in PACKAGE.rglob("*.py")}
    derived = re.findall(
        r"^class (\w+)\(ReportError", "\n".join(map("\n".join, texts.values())), re.M
    )
    assert len(derived) > 2
    raised = re.compile(rf"\b({'|'.join(['ReportError', 'ValueError', *derived])})\(")
    known = {(message.module, message.line) for message in messages()}
    lacking = Counter()
    for path, lines in texts.items():
        module = path.relative_to(PACKAGE).with_suffix("").as_posix()
        for number, line in enumerate(lines, 1):
            if raised.search(line) and not line.startswith("class "):
                lacking[module] += not known & {(module, number), (module, number + 1)}
    assert {module: number for module, number in lacking.items() if number} == PASSED_ON


def article(header, folder):
    """An article with that front matter."""
    path = folder / "one.md.j2"
    path.write_text(f"---\n{header}\n---\nText.\n")
    return path


HEADER = "title: T\ndate: 2026-01-31\nauthor: A\nsummary: S\ntags: [a]\nmodel: falcon-8x8"

REFUSED = {
    "an unknown figure": lambda folder: figure_named("atention_map"),
    "a slider out of reach": lambda folder: Control("layer", "Layer", 0, 3, 0).check(4),
    "an unknown passage": lambda folder: passage("none"),
    "an empty passage": lambda folder: read_passage(folder / "empty.txt"),
    "an unknown model": lambda folder: names.find("no-such-model"),
    "a folder without a config": lambda folder: names.find(folder),
    "an unknown term": lambda folder: term("scores"),
    "an unknown key": lambda folder: study.read_study(article(HEADER + "\nmodle: x", folder)),
    "two keys": lambda folder: study.read_study(article(HEADER + "\nmodels: [a, b]", folder)),
    "layers": lambda folder: study.read_study(article(HEADER + "\nlayers: few", folder)),
    "the name of an article": lambda folder: study.require_name("No"),
    "no address": lambda folder: address.address("you.github.io"),
    "no site": lambda folder: check.check_site(folder),
    "another kind of bundle": lambda folder: written.ending(Path("one.pdf"), 1, 2),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=list(REFUSED))
def test_what_is_said_is_there(tmp_path, refused):
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(ReportError) as caught:
        refused(tmp_path)
    frame = caught.traceback[-1]
    module = Path(frame.path).relative_to(PACKAGE).with_suffix("").as_posix()
    fitting = [
        message
        for message in messages()
        if message.module == module and message.pattern.fullmatch(str(caught.value))
    ]
    assert fitting, str(caught.value)
    assert any(isinstance(part, str) and len(part) > 5 for part in fitting[0].parts)


SOURCE = """
from report.errors import ReportError, command
MOST = 5 * 10**3

def refuse(path, names, count):
    hint = f"did you mean {names[0]!r}? " if names else ""
    if count > MOST:
        raise ReportError(f"{path}: {count:,} rows, {MOST:,} are allowed; run `{command('site')}`.")
    raise ReportError(f"unknown row; {hint}known: {', '.join(names)}.") from _of(path)

class Fallen(ReportError):
    def __init__(self, name):
        super().__init__(f"{name!r} fell; " + "set it up again")

def say(one):
    raise ReportError(_said(one))

def _said(one):
    return "it is one" if one else f"it is {one}, not one"
"""


def test_a_sentence_is_told_from_what_fills_it():
    module = Module("made", ast.parse(SOURCE))
    said = [parts for each in module.sentences() for parts in module.wordings(each)]
    path, names, count = Gap("path"), Gap("names"), Gap("count")
    site = command("site", installed=True)
    assert said == [
        (path, ": ", count, " rows, ", "5,000", " are allowed; run `", site, "`."),
        ("unknown row; ", "did you mean ", "'", names, "'", "? ", "known: ", names, "."),
        ("'", Gap("name"), "'", " fell; ", "set it up again"),
        ("it is one",),
        ("it is ", Gap("one"), ", not one"),
    ]


def test_a_message_reads_as_it_is_written():
    parts = (Gap("path"), ": *no* <row> ", Gap(""), "; run `make ", Gap("task name"), "`.")
    message = Message("made", 1, parts, (parts,))
    assert message.markdown == (
        "*path*&#58; &#42;no&#42; &#60;row&#62; …&#59; run `make TASK NAME`"
    )
    assert message.pattern.fullmatch("a.md: *no* <row> here\n; run `make site`.")
    assert not message.pattern.fullmatch("a.md: no row here")


def test_every_module_has_a_heading_and_every_heading_messages():
    titles = {errors.group(message) for message in messages()}
    assert titles == {section.title for section in errors.page().sections if section.text}
    assert titles == errors.GROUPS.keys()
