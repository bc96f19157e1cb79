"""The tutorial, followed to the letter: its commands run, and it shows what they answer.

Only the model is another one, a tiny one, in its place: the shipped one takes a minute. `make` is
asked what it would run, and that is run. A site is built once, when it is published; before that,
its article is only measured.
"""

import re
import shlex
import subprocess

import pytest

from report.console import NOT_MEASURED
from tests.commands import ROOT, report
from tests.documents import blocks
from tests.themed import write_themed

pytestmark = pytest.mark.usefixtures("no_pictures", "short_corpus")

START, WHY, BUILD, SERVE, CHECK, REPOSITORY, PUBLISH = (
    line
    for block in blocks("tutorial", "sh")
    for line in block.splitlines()
    if line != "make setup"
)
STARTED, TEXT, ASKED, MISTAKEN = blocks("tutorial", "text")
(PASSAGE,) = blocks("tutorial", "yaml")
FINDING, MISTAKE = blocks("tutorial", "jinja")


def commands(line):
    """The arguments of each `python -m report` that a line of the tutorial runs."""
    if line.startswith("make "):
        asked = ["make", "--dry-run", *shlex.split(line)[1:]]
        line = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    line = line.replace("\\\n", " ")
    return [shlex.split(words) for words in re.findall(r"python -m report (.*)", line)]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A publication without an article, in which commands run."""
    folder = write_themed(tmp_path / "project")
    monkeypatch.chdir(folder)
    return folder


def test_it_can_be_followed(project, falcon_folder):
    def run(arguments, **variables):
        done = report(*arguments, **variables)
        return done.returncode, done.stdout + done.stderr

    here = ["--project", "."]
    tiny = [*here, "--model", str(falcon_folder)]
    ((new, *named),) = commands(START)
    assert run([new, *named, *here]) == (0, STARTED)
    (project / "my-text.txt").write_text(TEXT)
    article = project / "templates" / "articles" / "my-first.md.j2"
    text, count = re.subn(r"^passage:.*\n", PASSAGE, article.read_text(), flags=re.MULTILINE)
    assert count == 1
    article.write_text(f"{text}\n{FINDING}")
    ((why, *options),) = commands(WHY)
    assert run([why, *options, *here]) == (0, ASKED)
    ((site, *options),) = commands(BUILD)
    assert site == "site"
    assert run(["measure", *options, *tiny])[0] == 0
    code, said = run(["measure", *options, *tiny])
    assert (code, NOT_MEASURED["unchanged"] in said) == (0, True), said
    with article.open("a") as file:
        file.write(f"\n{MISTAKE}")
    code, said = run(["render", *options, *tiny])
    assert (code, said[: len(MISTAKEN) - 1]) == (1, MISTAKEN.rstrip())
    article.write_text(f"{text}\n{FINDING}")
    assert [words[0] for words in commands(SERVE)] == ["site", "serve"]
    assert commands(CHECK) == [["check"]]  # which publishing does as well
    subprocess.run(shlex.split(REPOSITORY), check=True, capture_output=True)
    (site, *options), (publish, *where) = commands(PUBLISH)
    (address,) = re.findall(r"SITE_URL=(\S+)", PUBLISH)
    code, said = run([site, *options, *tiny], SITE_URL=address)
    assert code == 0, said
    page = (project / "site_src" / "articles" / "my-first" / "index.md").read_text()
    assert re.search(r"^The head L\d+H\d+ looks at the first token more than", page, re.MULTILINE)
    code, said = run([publish, "site", *where, *here], SITE_URL=address)
    assert code == 0, said
    shown = ["git", "-C", "../pages.git", "show", "gh-pages:articles/my-first/index.html"]
    assert "My finding" in subprocess.run(shown, capture_output=True, text=True, check=True).stdout
