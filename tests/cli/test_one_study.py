"""What a build leaves alone: other articles than that of `--study`, and a site that nothing
changed."""

import subprocess

import pytest

from report import pipeline
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


def touch(path):
    """Write a file as it is, later."""
    path.write_bytes(path.read_bytes())


CHANGES = {
    "a sentence": lambda folder: (folder / "templates/articles/small.md.j2").open("a").write("So."),
    "a page": lambda folder: (folder / "site_src/new.md").write_text("# New\n"),
    "settings": lambda folder: (folder / "mkdocs.yml").open("a").write("site_author: Ann\n"),
    "the theme": lambda folder: touch(folder / "theme" / "main.html"),
    "a figure": lambda folder: touch(folder / "figures" / "own.py"),
    "what was drawn": lambda folder: touch(next((folder / "site_src/figures").rglob("*.json"))),
    "the site": lambda folder: next((folder / "site").rglob("*.html")).write_text("?"),
    "less of it": lambda folder: next((folder / "site").rglob("*.html")).unlink(),
    "a dataset": lambda folder: next((folder / "site_src/datasets").rglob("passage.json")).unlink(),
}


VARIABLES = {"SITE_NAME": "Another", "SOURCE_DATE_EPOCH": "1000000000"}
"""Of the environment: one that mkdocs.yml names, and one that builders read themselves."""


@pytest.mark.parametrize("change", [*CHANGES, "--force", *VARIABLES, "an edit meanwhile"])
def test_a_site_is_built_again_only_if_something_changed(
    run, project, options, monkeypatch, change
):
    (project / "figures").mkdir()
    (project / "figures" / "own.py").write_text('"""Nothing."""\n')
    settings = (project / "mkdocs.yml").read_text()
    (project / "mkdocs.yml").write_text(settings.replace("Small", "!ENV [SITE_NAME, Small]"))
    if change == "an edit meanwhile":
        original = pipeline.build
        page = project / "site_src" / "other.md"
        page.write_text("# One\n")

        def build(*arguments):
            original(*arguments)
            page.write_text("# Other\n")

        with monkeypatch.context() as patched:
            patched.setattr(pipeline, "build", build)
            assert run("site", *options).code == 0
    else:
        assert run("site", *options).code == 0
        whole = contents(project / "site")
        monkeypatch.setattr(pipeline, "draw", lambda *_: pytest.fail("it was drawn again"))
        done = run("site", *options)
        assert done.code == 0 and "Nothing changed since the site was built" in done.said
        assert contents(project / "site") == whole
        monkeypatch.undo()
    if change in CHANGES:
        CHANGES[change](project)
    if change in VARIABLES:
        monkeypatch.setenv(change, VARIABLES[change])
    done = run("site", *options, *(["--force"] if change == "--force" else []))
    assert done.code == 0, done.said
    assert "Nothing changed" not in done.said
    if change in ("the site", "less of it", "the theme", "what was drawn", "--force"):
        assert contents(project / "site") == whole, "equal inputs give equal bytes"


def test_a_check_of_the_projects_own_site_tries_what_its_articles_say(
    run, two_articles, falcon_folder, monkeypatch
):
    folder = two_articles.folder
    path = folder / "templates" / "articles" / "one.md.j2"
    own = f"model: {falcon_folder}\npassage: {folder / 'passage.md'}\ncover:"
    text = path.read_text().replace("cover:", own, 1)
    text += "\n{% claim data.layers > 2 %}It has {{ data.layers }} layers.{% endclaim %}\n"
    path.write_text(text)
    (folder / "templates" / "articles" / "two.md.j2").unlink()
    assert run("site", "--project", folder).code == 0
    monkeypatch.chdir(folder)
    assert "1 articles whose claims hold" in run("check").said
    path.write_text(text.replace("layers > 2", "layers > 9"))
    done = run("check")
    assert done.code == 1
    assert "one.md.j2" in done.error and "data.layers > 9" in done.error
