"""`--study` builds a site of one article; the others stay as they were, out of its way."""

import subprocess

import pytest

from tests.commands import ROOT, contents, copy_project
from tests.small import ARTICLE, SENTENCE


@pytest.fixture
def project(tmp_path):
    """The real settings with two small articles."""
    folder = copy_project(tmp_path / "project", articles=False)
    articles = folder / "templates" / "articles"
    articles.mkdir(parents=True)
    for name in ("one", "two"):
        text = ARTICLE.format(cover="update_magnitude").replace("title: Small", f"title: On {name}")
        (articles / f"{name}.md.j2").write_text(text)
    (folder / "passage.md").write_text(SENTENCE)
    return folder


def files_of(folder, name):
    """What a folder has of an article: paths to bytes."""
    return {path: found for path, found in contents(folder).items() if f"/{name}" in f"/{path}"}


def test_a_site_of_one_article_has_nothing_of_the_others_and_loses_nothing(run, options, project):
    assert run("site", *options).code == 0
    written = files_of(project / "site_src", "two")
    kinds = {path.split("/")[0] for path in written}
    assert kinds == {"articles", "datasets", "embed", "figures"}
    assert files_of(project / "site", "two")
    done = run("site", "--study", "one", *options)
    assert done.code == 0
    assert "unchanged, not measured again" in done.said
    assert "two" not in done.said
    assert files_of(project / "site_src", "two") == written
    assert files_of(project / "site", "two") == {}
    assert files_of(project / "site", "one")
    for page in ("index.html", "archive/index.html", "search/search_index.json"):
        text = (project / "site" / page).read_text("utf-8")
        assert "articles/one" in text
        assert "articles/two" not in text
    assert run("check", project / "site").code == 0
    done = run("site", *options)
    assert "measured (" not in done.said.replace("not measured", ""), "two is still there"
    assert files_of(project / "site", "two")
    assert "articles/two" in (project / "site" / "index.html").read_text("utf-8")


def test_what_is_no_longer_an_article_goes_all_the_same(run, options, project):
    assert run("render", *options).code == 0
    (project / "templates" / "articles" / "two.md.j2").unlink()
    assert run("render", "--study", "one", *options).code == 0
    assert files_of(project / "site_src", "two") == {}


def test_an_unknown_article_is_told_the_ones_there_are(run, options):
    done = run("site", "--study", "three", *options)
    assert done.code == 1
    assert "unknown study 'three'; articles here: one, two." in done.error


def test_make_hands_the_names_on():
    command = ["make", "-n", "-o", ".venv/.ready", "site", "STUDY=filler-tokens", "MODELS=a b/c d"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = 'site --study "filler-tokens" --models "a" --models "b/c" --models "d"'
    assert wanted in " ".join(done.stdout.split())
