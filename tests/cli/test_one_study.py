"""`--study` builds a site of one article; the others stay as they were, out of its way."""

import subprocess

import pytest

from tests.commands import ROOT, contents

pytestmark = pytest.mark.usefixtures("no_pictures")


def files_of(folder, name):
    """What a folder has of an article: paths to bytes."""
    return {path: found for path, found in contents(folder).items() if f"/{name}" in f"/{path}"}


def stamps(project):
    """When the files of a project's datasets were written."""
    files = [path for path in project.glob("site_src/datasets/*/*/**/*") if path.is_file()]
    assert files
    return {path: path.stat().st_mtime_ns for path in files}


def test_a_site_of_one_article_has_nothing_of_the_others_and_loses_nothing(run, two_articles):
    assert run("site", *two_articles.options).code == 0
    written = files_of(two_articles.folder / "site_src", "two")
    kinds = {path.split("/")[0] for path in written}
    assert kinds == {"articles", "datasets", "embed", "figures"}
    assert files_of(two_articles.folder / "site", "two")
    whole, written_at = contents(two_articles.folder / "site"), stamps(two_articles.folder)
    done = run("site", "--study", "one", *two_articles.options)
    assert done.code == 0
    assert "unchanged, not measured again" in done.said
    assert "two" not in done.said
    assert files_of(two_articles.folder / "site_src", "two") == written
    assert files_of(two_articles.folder / "site", "two") == {}
    assert files_of(two_articles.folder / "site", "one")
    for page in ("index.html", "archive/index.html", "search/search_index.json"):
        text = (two_articles.folder / "site" / page).read_text("utf-8")
        assert "articles/one" in text
        assert "articles/two" not in text
    assert run("check", two_articles.folder / "site").code == 0
    done = run("site", *two_articles.options)
    assert "measured (" not in done.said.replace("not measured", ""), "two is still there"
    assert contents(two_articles.folder / "site") == whole, "equal inputs give equal bytes"
    assert stamps(two_articles.folder) == written_at, "datasets are not written again"


def test_what_is_no_longer_an_article_goes_all_the_same(run, two_articles):
    assert run("render", *two_articles.options).code == 0
    (two_articles.folder / "templates" / "articles" / "two.md.j2").unlink()
    assert run("render", "--study", "one", *two_articles.options).code == 0
    assert files_of(two_articles.folder / "site_src", "two") == {}


def test_the_other_builder_has_a_folder_of_its_own_and_nothing_is_measured_for_it(
    run, two_articles
):
    """What it makes is compared in tests/site/test_zensical.py."""
    assert run("render", *two_articles.options).code == 0
    done = run("site", "--builder", "zensical", *two_articles.options)
    assert done.code == 0, done.said
    assert "measured (" not in done.said.replace("not measured", "")
    assert files_of(two_articles.folder / "site-zensical", "one")
    assert not (two_articles.folder / "site").exists()
    assert run("check", two_articles.folder / "site-zensical").code == 0


def test_an_unknown_article_is_told_the_ones_there_are(run, two_articles):
    done = run("site", "--study", "three", *two_articles.options)
    assert done.code == 1
    assert "unknown study 'three'; articles here: one, two." in done.error


def test_make_hands_the_names_on():
    command = ["make", "-n", "-o", ".venv/.ready", "site", "STUDY=filler-tokens", "MODELS=a b/c d"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = 'site --study "filler-tokens" --models "a" --models "b/c" --models "d"'
    assert wanted in " ".join(done.stdout.split())
