"""A new publication: its files, its settings, and what of its own comes before what ships."""

import json
import re
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
import yaml

from report import __version__, errors, files
from report.__main__ import app
from report.errors import UsageError
from report.pages.assets import SHEETS, write_theme
from report.pages.new import ADDRESS, ARTICLE, LEFT_OUT, new_publication, placeholders
from report.pages.templates import environment
from report.project import Project
from report.study.study import publication_of, read_studies
from tests.commands import ROOT, report
from tests.small import write_publication

OWN_SETTINGS = {"site_name", "site_description", "nav"}


class Loader(yaml.SafeLoader):
    """Of settings that name variables of the environment."""


Loader.add_constructor("!ENV", lambda loader, node: loader.construct_sequence(node))


def settings(folder):
    return yaml.load((folder / "mkdocs.yml").read_text("utf-8"), Loader)


@pytest.fixture
def made(tmp_path):
    new_publication("my-words", tmp_path)
    return tmp_path / "my-words"


def test_it_has_these_files(made):
    assert {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()} == {
        ".github/workflows/pages.yml",
        ".gitignore",
        "README.md",
        "figures/.gitkeep",
        "mkdocs.yml",
        "site_src/images/favicon.svg",
        f"templates/articles/{ARTICLE}.md.j2",
    }
    assert len((made / "README.md").read_text("utf-8").splitlines()) == 12
    (study,) = read_studies(made / "templates" / "articles")
    assert publication_of(study.template) == made.resolve()


VCS = {"vcs": "git", "commit_id": "a" * 40}


@pytest.mark.parametrize(
    ("record", "needed"),
    [
        (None, f"=={__version__}"),
        (
            {"url": "https://me:secret@git.org/a/b.git", "vcs_info": VCS},
            f" @ git+https://git.org/a/b.git@{'a' * 40}",
        ),
        (
            {"url": "ssh://git@git.org/a/b", "vcs_info": VCS, "subdirectory": "in"},
            f" @ git+ssh://git@git.org/a/b@{'a' * 40}#subdirectory=in",
        ),
        ({"url": "https://a.org/x-1.whl", "archive_info": {}}, " @ https://a.org/x-1.whl"),
        ({"url": "https://a.org/x.whl?token=secret", "archive_info": {}}, None),
        ({"url": "file:///home/me/x.whl", "archive_info": {}}, None),
        ({"url": "file:///home/me/clone", "dir_info": {"editable": True}}, None),
        ({"url": "file:///home/me/clone", "vcs_info": VCS}, None),
    ],
)
def test_it_installs_the_program_from_where_it_came(monkeypatch, tmp_path, record, needed):
    """And page, README and workflow never name a secret or a place on this machine."""
    text = record and json.dumps(record)
    installed = SimpleNamespace(version=__version__, read_text=lambda _: text)
    monkeypatch.setattr(errors.metadata, "distribution", lambda _: installed)
    wanted = needed and f"attention-focus-plots[measure]{needed}"
    assert errors.requirement() == wanted
    new_publication("own", tmp_path)
    for name in ("README.md", ".github/workflows/pages.yml"):
        text_of = (tmp_path / "own" / name).read_text("utf-8")
        (line,) = re.findall(r"^ +(pip install .*attention-focus.*)$", text_of, re.MULTILINE)
        assert shlex.split(line)[2] == (wanted or f"attention-focus-plots[measure] @ {ADDRESS}")
        assert not re.search(r"@[A-Z]+@|secret|/home", text_of)
    own = Project(tmp_path / "own")
    said = placeholders(own, read_studies(own.articles))
    assert [ADDRESS in each for each in said] == [False, False] + 2 * [True] * (wanted is None)
    page = environment(own.root / "templates").from_string(
        "{{ command('site') }} {{ REQUIREMENT or 'ask' }}"
    )
    assert page.render() == f"attention-focus-plots site {wanted or 'ask'}"
    of_ours = environment(ROOT / "templates").from_string("{{ command('site') }}")
    assert of_ours.render() == "make site"


def test_its_settings_are_those_of_our_site_but_for_its_name_and_our_own_pages(made):
    ours, own = settings(ROOT), settings(made)
    assert {key for key in ours if ours[key] != own[key]} == OWN_SETTINGS
    assert own["site_name"] == "My words"
    assert own["nav"] == [part for part in ours["nav"] if not {*part} & {*LEFT_OUT}]
    assert all(any(name in part for part in ours["nav"]) for name in LEFT_OUT)


def test_what_is_generated_is_ignored_by_git(made):
    ignored = (ROOT / ".gitignore").read_text("utf-8").split("\n")
    generated = {f"/{line}" for line in ignored if line.startswith("site_src/")}
    written = set((made / ".gitignore").read_text("utf-8").split("\n"))
    assert generated | {"/site/", "/.theme/", "/.report.lock"} <= written


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my-words", "there is something called 'my-words' here already"),
        ("My words", "Try 'my-words'."),
        ("../words", "Try 'words'."),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused(made, tmp_path, name, said):
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=re.escape(said)):
        new_publication(name, tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_command_starts_one_where_there_is_none_and_adds_an_article_inside(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert report("new", "others", "--kind", "sweeep").returncode == 2
    assert report("new", "my-words", "--kind", "sweep").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["my-words"]
    (study,) = read_studies(tmp_path / "my-words" / "templates" / "articles")
    assert study.front_matter.kind == "sweep"
    monkeypatch.chdir(tmp_path / "my-words" / "figures")
    assert report("new", "second").returncode == 0
    articles = tmp_path / "my-words" / "templates" / "articles"
    assert sorted(path.name for path in articles.iterdir()) == [
        f"{ARTICLE}.md.j2",
        "second.md.j2",
    ]


def test_its_changes_to_the_theme_lie_over_ours_and_those_it_gave_up_are_gone(tmp_path):
    own = tmp_path / "templates" / "theme"
    files.write_text(own / "main.html", "own")
    files.write_text(own / "partials" / "footer.html", "own")
    files.write_text(tmp_path / "mkdocs.yml", "site_name: a\n")
    write_theme(tmp_path)
    theme = ROOT / "templates" / "theme"
    written = tmp_path / ".theme"
    assert (written / "main.html").read_text("utf-8") == "own"
    assert (written / "partials" / "footer.html").read_text("utf-8") == "own"
    assert (written / "404.html").read_bytes() == (theme / "404.html").read_bytes()
    shutil.rmtree(own)
    write_theme(tmp_path)
    left = {path.relative_to(written) for path in written.rglob("*") if path.is_file()}
    sheets = {path for path in left if path.parent == Path(SHEETS)}
    assert left - sheets == {path.relative_to(theme) for path in theme.rglob("*") if path.is_file()}
    assert len(sheets) == 2
    assert (written / "main.html").read_bytes() == (theme / "main.html").read_bytes()


@pytest.mark.parametrize(
    ("installed", "said"),
    [
        (
            False,
            ["make site SITE_URL=https://a.b/ STUDY=x", 'make site MODELS="a b"', "make serve"],
        ),
        (
            True,
            [
                "SITE_URL=https://a.b/ attention-focus-plots site --study x",
                "attention-focus-plots site --models a --models b",
                "attention-focus-plots serve",
            ],
        ),
    ],
)
def test_sentences_name_the_command_that_there_is(monkeypatch, installed, said):
    monkeypatch.setattr(errors, "INSTALLED", installed)
    address = "https://a.b/"
    assert said == [
        errors.command("site", site_url=address, study="x"),
        errors.command("site", models=["a", "b"]),
        errors.command("serve"),
    ]


ASKED = [["check"], ["serve"], ["bundle", ARTICLE], ["publish"], ["new", "second"]]
"""Commands that say another one, where no site was built."""


@pytest.mark.parametrize("inside", [True, False])
def test_from_a_clone_the_commands_said_are_of_the_publication_at_hand(made, monkeypatch, inside):
    """There is no Makefile in it, and that of the clone would build another one."""
    program = typer.main.get_command(app)
    named = [] if inside else ["--project", str(made)]
    monkeypatch.chdir(made if inside else ROOT)
    for asked in ASKED[0 if inside else 1 :]:  # `check` is of a folder
        done = report(*asked, *named)
        (said,) = re.findall(r"`([^`]+)`", done.stdout + done.stderr)
        words = shlex.split(said)
        assert words[:3] == ["python", "-m", "report"], said
        known = program.commands[words[3]].params
        options = {word for option in known for word in option.opts}
        assert {word for word in words[4:] if word.startswith("--")} <= options
        assert words[-2:] == named or inside
    assert errors.setup() == (f"make -C {ROOT} setup" if inside else "make setup")


def test_its_passages_and_prompts_come_before_those_that_ship(tmp_path):
    root = write_publication(tmp_path / "words")
    article = root / "templates" / "articles" / "small.md.j2"
    article.write_text(
        article.read_text().replace("cover:", "passage: the-lamp-on-the-hill\ncover:")
    )
    (study,) = read_studies(article.parent)
    assert study.front_matter.passage == "the-lamp-on-the-hill"
    files.write_text(root / "passages" / "the-lamp-on-the-hill.txt", "A lamp.")
    (study,) = read_studies(article.parent)
    named = root.resolve() / "passages" / "the-lamp-on-the-hill.txt"
    assert study.front_matter.passage == str(named)
