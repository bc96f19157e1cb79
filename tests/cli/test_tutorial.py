"""The tutorial, followed to the letter: its commands run, and it shows what they answer.

Only the model is another one, a tiny one, in its place: the shipped one takes a minute. A site is
built once, when it is published; before that, its article is only measured. What installs the
program is run by tests/test_installed.py, and what serves a site by tests/cli/test_serving.py.
"""

import re
import shlex
import subprocess

import pytest

from report import __main__ as command_line
from report import errors
from report.console import NOT_MEASURED
from report.errors import NAME
from report.pages.new import PLACEHOLDERS
from tests.commands import report
from tests.documents import DOCS, blocks

pytestmark = pytest.mark.usefixtures("no_pictures", "short_corpus")

INSTALLING, *OTHERS = blocks("tutorial", "sh")
START, INTO, WHY, BUILD, SERVE, CHECK, REPOSITORY, BUILD_AGAIN, PUBLISH = (
    line for block in OTHERS for line in block.splitlines()
)
STARTED, TEXT, ASKED, MISTAKEN = blocks("tutorial", "text")
PASSAGE, ABOUT = blocks("tutorial", "yaml")
FINDING, CLAIM, MENDED, MISTAKE = blocks("tutorial", "jinja")


@pytest.fixture
def installed(monkeypatch):
    """The program names commands as an installed one does."""
    monkeypatch.setattr(errors, "INSTALLED", True)
    monkeypatch.setattr(command_line, "PROGRAM", NAME)


def run(line, *more):
    """The exit code and what is said, of a line that begins with the command's name."""
    before, words = line.split(f"{NAME} ")
    variables = dict(word.split("=", 1) for word in before.split())
    done = report(*shlex.split(words), *more, **variables)
    return done.returncode, done.stdout + done.stderr


def test_it_can_be_followed(tmp_path, monkeypatch, installed, falcon_folder):
    tiny = ["--model", str(falcon_folder)]
    monkeypatch.chdir(tmp_path)
    assert run(START) == (0, STARTED)
    folder, name = INTO.removeprefix("cd "), "first-look"
    monkeypatch.chdir(folder)
    project = tmp_path / folder
    (project / "my-text.txt").write_text(TEXT)
    article = project / "templates" / "articles" / f"{name}.md.j2"
    text, count = re.subn(r"^passage:.*\n", PASSAGE, article.read_text(), flags=re.MULTILINE)
    assert count == 1
    article.write_text(f"{text}\n{FINDING}")
    assert run(WHY) == (0, ASKED)
    assert f"{NAME} site" == BUILD
    measure = BUILD.replace("site", "measure")
    assert run(measure, *tiny)[0] == 0
    code, said = run(measure, *tiny)
    assert (code, NOT_MEASURED["unchanged"] in said) == (0, True), said
    article.write_text(f"{text}\n{FINDING}\n{CLAIM}")
    said = run(WHY, *tiny)[1]
    assert "this does not hold: 'Every head looks mainly at the first token.'" in said
    assert re.search(r"resting is \d+, total is \d+", said)
    words = f"{FINDING}\n{MENDED}"
    article.write_text(f"{text}\n{words}".replace("\n---\n", f"\n{ABOUT}---\n", 1))
    said = run(measure.replace("measure", "render"), *tiny)[1]
    assert "what it says is about falcon-8x8, and" in said
    article.write_text(f"{text}\n{words}\n{MISTAKE}")
    code, said = run(BUILD, *tiny)
    assert (code, said[: len(MISTAKEN) - 1]) == (1, MISTAKEN.rstrip())
    for placeholder in PLACEHOLDERS.values():
        assert f"`{placeholder}`" in (DOCS / "tutorial.md").read_text("utf-8")
        text = text.replace(placeholder, "Ann")
    article.write_text(f"{text}\n{words}")
    assert f"{NAME} serve" == SERVE
    subprocess.run(shlex.split(REPOSITORY), check=True, capture_output=True)
    code, said = run(BUILD_AGAIN, *tiny)
    assert code == 0, said
    page = (project / "site_src" / "articles" / name / "index.md").read_text()
    assert re.search(
        r"^The head <span[^>]*>L\d+H\d+</span> looks at the first token more than",
        page,
        re.MULTILINE,
    )
    assert re.search(r"^Of \d+ heads, \d+ look mainly at the first token\.", page, re.MULTILINE)
    for line in (CHECK, PUBLISH):
        code, said = run(line)
        assert code == 0, said
    shown = ["git", "-C", "../pages.git", "show", f"gh-pages:articles/{name}/index.html"]
    assert "My finding" in subprocess.run(shown, capture_output=True, text=True, check=True).stdout
