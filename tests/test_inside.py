"""Names that come from files, front matter, the hub or a command lead out of no folder."""

import hashlib
import json
import os
import re
import shutil
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report import files, pipeline
from report.console import Terminal
from report.datasets import store, whole
from report.errors import ReportError, UsageError
from report.measuring import frozen, plan
from report.models.find import hub, known, names
from report.models.find.weights import read_index
from report.pages import lists
from report.pages.article import ArticleFigures
from report.pages.provenance import NAME
from report.project import Project
from report.site import address, check
from report.study.study import read_study, study_names
from report.watching.watch import Rebuilder
from tests.commands import ROOT, contents, copy_project, report
from tests.fuzz.profile import examples
from tests.site import small_site
from tests.small import ARTICLE

OUTSIDE = (
    *("../canary.json", "../../../../canary.json", "a/../../canary.json", "..", "../"),
    *("/canary.json", "//canary.json", "./sweep.json", "a//b.json", "a/", "a/.", ""),
    *("a\n.json", "a\0.json", "a\u2028.json", "\ud800.json", "..\\canary.json", "C:\\x.json"),
    *("x" * 300 + ".json", "~\x1b[2J.json"),
)
PLAIN = ("a.json", "attention/0/11.json", "model-00001-of-00002.safetensors", "..a", "ä/b c")


FEW = ("../canary.json", "a/../../canary.json", "/canary.json", "x" * 300 + ".json", "a\0.json")
"""Some of those, where the same check is asked elsewhere."""


@pytest.mark.parametrize("name", [*OUTSIDE, None, 3, ["a"], b"a"])
def test_what_leads_elsewhere_is_no_name(tmp_path, name):
    assert not files.is_plain(name)
    if isinstance(name, str):
        with pytest.raises(ReportError, match="is no name of a file in this folder or below it"):
            files.inside(tmp_path, name)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_names_are_of_files_below_a_folder(tmp_path, name):
    assert files.inside(tmp_path, name) == tmp_path / name


@pytest.mark.promise("plain-names")
@examples(100)
@given(st.text(max_size=12) | st.text("./a\\~\0\n", max_size=12))
def test_a_name_that_is_plain_stays_in_its_folder(tmp_path_factory, name):
    folder = tmp_path_factory.getbasetemp()
    if files.is_plain(name):
        path = files.inside(folder, name).resolve()
        assert path != folder
        assert path.is_relative_to(folder.resolve())


@pytest.mark.promise("plain-names")
@pytest.mark.parametrize("link", ["a", "a/b", "a/b/c.json"])
@pytest.mark.parametrize("there", [True, False])
def test_no_part_of_a_path_is_a_link(tmp_path, link, there):
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path if there else "missing")
    with pytest.raises(ReportError, match=f"{link}: is a link, which may lead anywhere"):
        files.inside(tmp_path, "a/b/c.json")
    assert files.inside(tmp_path / "other", "a/b/c.json")


@pytest.fixture
def project(tmp_path):
    """A project with frozen datasets of an article, and templates that they must not reach."""
    [shipped, *_] = sorted((ROOT / "frozen" / "how-heads-form").iterdir())
    found = Project(tmp_path / "project")
    shutil.copytree(shipped, found.frozen / "small" / shipped.name)
    found.articles.mkdir(parents=True)
    (found.articles / "small.md.j2").write_text(ARTICLE.format(cover="heads_at_step"))
    (found.site_src / "datasets").mkdir(parents=True)
    return found


@pytest.fixture
def folder(project):
    """The folder of the frozen datasets."""
    [folder] = (project.frozen / "small").iterdir()
    return folder


def list_file(folder, name, content=b"canary"):
    """Name a file in a manifest, with the checksum and the seal that fit."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    facts = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["files"][name] = facts
    path.write_text(json.dumps(store.sealed(manifest)), "utf-8")


@pytest.mark.promise("plain-names")
@pytest.mark.parametrize("name", FEW)
def test_the_schema_of_a_manifest_knows_no_file_elsewhere(folder, name):
    list_file(folder, name)
    with pytest.raises(ReportError, match=r"does not satisfy schema manifest/1|is not JSON"):
        store.read_manifest(folder)


@pytest.mark.promise("plain-names")
@pytest.mark.parametrize("name", FEW[:3])
def test_frozen_datasets_name_no_file_elsewhere(project, folder, tmp_path, monkeypatch, name):
    """Whatever the schema says: where files are opened."""
    monkeypatch.setattr(store, "check", lambda data, _: data)
    named = str(tmp_path / "canary.json") if name.startswith("/") else name
    (folder / "a").mkdir()
    (folder / named).write_text("canary")
    list_file(folder, named)
    shutil.copytree(folder, project.site / "datasets" / "small" / folder.name)
    before = contents(tmp_path)
    target = project.site_src / "datasets" / "small" / folder.name
    with pytest.raises(ReportError, match="is no name of a file"):
        frozen.copy_datasets(folder, target)
    with pytest.raises(ReportError, match="is no name of a file"):
        store.read_measured(folder, named, store.read_manifest(folder))
    for damage in (whole.damage(folder), check.check_datasets(project.site, {"datasets": 0})):
        assert any("is no name of a file" in phrase for phrase in damage)
    assert contents(tmp_path) == before


@pytest.mark.promise("plain-names")
@pytest.mark.parametrize("part", ["frozen/small", "frozen/small/{key}", "manifest", "dataset"])
def test_frozen_datasets_are_no_links(project, folder, tmp_path, part):
    paths = {
        "manifest": folder / "manifest.json",
        "dataset": next(path for path in folder.iterdir() if path.name != "manifest.json"),
    }
    kind = store.read_manifest(folder)["kind"]
    path = paths.get(part) or project.root / part.format(key=folder.name)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ReportError, match="is a link, which may lead anywhere"):
        [(found, _)] = plan._manifests(project.frozen / "small", kind, careful=True)
        frozen.copy_datasets(found, project.site_src / "datasets" / "small" / found.name)
    assert contents(project.site_src) == {}


def test_a_link_that_no_manifest_names_is_noticed(folder, tmp_path):
    (folder / "more").symlink_to(tmp_path)
    assert whole.problems(folder, store.read_manifest(folder)) == ["more is in no manifest"]


@pytest.mark.promise("plain-names")
def test_freezing_writes_through_no_link(project, folder):
    measured = project.site_src / "datasets" / "small"
    shutil.move(project.frozen / "small", measured)
    (project.frozen / "small").symlink_to(project.articles)
    before = contents(project.root / "templates")
    with pytest.raises(ReportError, match="frozen/small: is a link"):
        frozen.freeze("small", list(measured.iterdir()), project)
    assert contents(project.root / "templates") == before


@pytest.mark.parametrize("name", ["../x", "", "a\n"])
@pytest.mark.parametrize("schema", ["renderings/1", "conditions/1"])
def test_names_in_datasets_that_files_are_named_after_are_plain(schema, name):
    """A rendering gives its name to files of rows."""
    part = schema.partition("/")[0]
    stated = json.loads(store.schema_text(schema))
    pattern = stated["properties"][part]["items"]["properties"]["name"]["pattern"]
    validator = store.fastjsonschema.compile({"type": "string", "pattern": pattern})
    validator("csv")
    with pytest.raises(store.fastjsonschema.JsonSchemaException):
        validator(name)


@pytest.mark.promise("plain-names")
@pytest.mark.parametrize("key", ["files", "manifest"])
def test_a_site_tells_of_no_file_elsewhere(project, tmp_path, key):
    """In provenance.json, by its schema."""
    at = project.site / "datasets" / "small"
    at.mkdir(parents=True)
    told = {"manifest": "a/manifest.json", "manifest_sha256": "0" * 64, "files": {}}
    told |= {"files": {"../../x.json": "0" * 64}} if key == "files" else {key: "../manifest.json"}
    told |= {"key": "0" * 12, "measured_on": "2026-01-02", "frozen": False, "versions": {}}
    told |= {"model": {}, "self_check": {}, "determined_by": {}, "command": ""}
    about = {"name": "small", "title": "S", "author": "A", "date": "2026-01-02"}
    generator = {"name": "g", "version": "1"}
    told = {"schema": "provenance/1", "article": about, "generator": generator, "datasets": [told]}
    (at / NAME).write_text(json.dumps(told | {"bibtex": ""}))
    with pytest.raises(ReportError, match="does not satisfy schema provenance/1"):
        store.read(at / NAME)


@pytest.mark.parametrize("name", FEW)
def test_a_figure_changes_to_no_specification_elsewhere(tmp_path, name):
    spec = {"usermeta": {"report": {"models": {"a": name}}}}
    (tmp_path / "a.json").write_text(json.dumps(spec))
    with pytest.raises(ReportError, match="is no name of a file"):
        check._of_all_models(tmp_path / "a.json")


@pytest.mark.promise("plain-names")
@pytest.mark.parametrize("name", [*FEW, "below/x.safetensors"])
def test_weights_lie_beside_their_index(tmp_path, name):
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(ReportError, match="has no weight_map of tensors and files beside it"):
        read_index(path)


def test_a_revision_is_no_link(tmp_path):
    for name in ("elsewhere", "runs/step-1"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.json").write_text("{}")
    (tmp_path / "runs" / "step-2").symlink_to(tmp_path / "elsewhere")
    assert names.find(f"{tmp_path}/runs@step-1", ask=False).name == "runs@step-1"
    with pytest.raises(ReportError, match="step-2: is a link"):
        names.find(f"{tmp_path}/runs@step-2", ask=False)


@pytest.mark.promise("plain-names")
@pytest.mark.parametrize("said", ["../../../x", "main", "", None, "A" * 40])
def test_what_the_hub_calls_a_commit_is_one(tmp_path, monkeypatch, said):
    """It becomes a part of the names of folders."""
    monkeypatch.setattr(hub, "resolve", lambda *_: said)
    with pytest.raises(ReportError, match="which is no commit of 40 hex digits"):
        names.find("someone/model", tmp_path / names.COMMITS)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("name", ["../embedded/falcon-8x8", "/etc", "x" * 5000, "a\0", "."])
def test_only_a_model_that_ships_has_a_card(name):
    card = known.EMBEDDED / "falcon-8x8" / "acceptance.json"
    weights = json.loads(card.read_text("utf-8"))["weights_sha256"]
    assert lists._card({"name": name, "weights_sha256": weights}) is None
    assert lists._card({"name": "falcon-8x8", "weights_sha256": weights})


@pytest.mark.promise("article-names")
@pytest.mark.parametrize("name", ["../../x", "a/b", "a.b", "a b", "a\n"])
def test_figures_of_an_article_have_plain_names(tmp_path, name):
    """They are parts of addresses and of names of files."""
    with pytest.raises(ReportError, match="give one of letters, digits, hyphens and underscores"):
        ArticleFigures.figure(SimpleNamespace(data=None), "attention_map", key=name)
    path = tmp_path / "a.md.j2"
    path.write_text(ARTICLE.format(cover=json.dumps(name)), "utf-8")
    with pytest.raises(ReportError, match=r"line 6: 'cover': must be the name of a figure: let"):
        read_study(path)


@pytest.mark.promise("article-names")
@pytest.mark.parametrize(("name", "near"), [("a\nb", "a-b"), ("a\x1b[2J", "a-2j"), ("é", "")])
def test_the_name_of_an_article_can_be_a_part_of_its_address(tmp_path, name, near):
    (tmp_path / f"{name}.md.j2").write_text(ARTICLE.format(cover="attention_map"))
    with pytest.raises(UsageError, match="cannot name an article") as raised:
        study_names(tmp_path)
    assert str(raised.value).isprintable()
    assert (f"Try {near!r}." in str(raised.value)) == bool(near)


PLACES = (
    *("site_src/images", "site_src/assets/page", "frozen-theme", "templates", "templates/theme"),
    *("templates/articles", "figures", "pages"),
)
"""Folders of a project of which something may end in its site."""

WAYS = {
    "to a file": lambda out, _: out / "secret.txt",
    "to a folder": lambda out, _: out,
    "to the root": lambda *_: "/",
    "to a device": lambda *_: "/dev/zero",
    "relative": lambda out, folder: os.path.relpath(out / "secret.txt", folder),
    "by another link": lambda *_: "first-link",
    "by a folder of the project": lambda *_: "around",
    "nowhere": lambda *_: "missing",
    "to itself": lambda *_: "a-link",
    "to the folder above": lambda *_: ".",
    "to the project": lambda _, folder: folder,
}


@pytest.fixture
def linked(tmp_path):
    """A function that puts a link into a folder of a project, and returns the project's folder."""

    def put(place, way):
        root, out = copy_project(tmp_path / "project", articles=False), tmp_path / "out"
        (root / "templates" / "articles").mkdir(exist_ok=True)
        out.mkdir()
        (out / "secret.txt").write_text("secret")
        settings = (root / "mkdocs.yml").read_text("utf-8").replace("site_src", "pages")
        (root / "mkdocs.yml").write_text(settings.replace(".theme", "frozen-theme"), "utf-8")
        folder = root / place
        folder.mkdir(parents=True, exist_ok=True)
        if "another link" in way:
            (folder / "first-link").symlink_to(out / "secret.txt")
        if "folder of the project" in way:
            (root / "aside").mkdir()
            (root / "aside" / "deep").symlink_to(out)
            (folder / "around").symlink_to(root / "aside")
        (folder / "a-link").symlink_to(WAYS[way](out, folder))
        return root

    return put


@pytest.mark.promise("site-files")
@pytest.mark.parametrize(
    ("place", "way"), [*(("site_src", way) for way in WAYS), *((at, "to a file") for at in PLACES)]
)
def test_no_link_brings_a_file_from_elsewhere_into_a_site(linked, place, way, monkeypatch):
    root = linked(place, way)
    monkeypatch.setattr(pipeline, "read", None)  # nothing is read, and so nothing measured, before
    there = contents(root / "site_src")
    done = report("render", "--project", root)
    assert done.returncode == 1
    said = "leads out through a link: .* lies outside|a link that leads nowhere or to a folder"
    assert re.search(said, " ".join(done.stderr.split()))
    assert re.search(rf"{place}/(a-link|first-link|around)", re.sub(r"\s", "", done.stderr))
    assert contents(root / "site_src") == there


def test_a_link_that_comes_while_a_project_is_watched_is_named(linked):
    rebuilder = Rebuilder(pipeline.Request(Project(linked("site_src", "to a file"))), Terminal())
    rebuilder.waiting = frozenset()  # no article has changed
    with pytest.raises(ReportError, match="site_src/a-link leads out through a link"):
        rebuilder.rebuild(["site_src/a-link"])


@pytest.mark.promise("site-files")
@pytest.mark.parametrize("part", ["site_src", "templates/theme", "figures", "mkdocs.yml"])
def test_a_part_of_a_project_that_lies_elsewhere_is_named_on_the_command_line(tmp_path, part):
    root = copy_project(tmp_path / "project", articles=False)
    (root / "figures").mkdir()
    (root / part).rename(tmp_path / "elsewhere")
    (root / part).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ReportError, match=f"--allow-file {tmp_path / 'elsewhere'}"):
        address.require_own_files(root / "mkdocs.yml")
    address.require_own_files(root / "mkdocs.yml", [str(tmp_path / "elsewhere")])


@pytest.mark.promise("site-files")
def test_links_inside_a_project_are_followed_and_those_of_editors_are_none(tmp_path):
    root = copy_project(tmp_path / "project", articles=False)
    (root / "site_src" / "same.md").symlink_to("about.md")
    (root / "site_src" / "pictures").symlink_to(root / "site_src" / "images")
    (root / "site_src" / ".#about.md").symlink_to("ann@host.12:34")
    address.require_own_files(root / "mkdocs.yml")
    os.mkfifo(root / "site_src" / "pipe")
    with pytest.raises(ReportError, match="pipe: is neither a file nor a folder"):
        address.require_own_files(root / "mkdocs.yml")


@pytest.mark.promise("site-files")
@pytest.mark.parametrize("key", ["docs_dir: site_src", "custom_dir: .theme"])
def test_no_setting_has_a_folder_of_another_place_published(tmp_path, key):
    root = copy_project(tmp_path / "project", articles=False)
    settings = (root / "mkdocs.yml").read_text("utf-8")
    (root / "mkdocs.yml").write_text(settings.replace(key, f"{key.split(':')[0]}: {tmp_path}"))
    with pytest.raises(ReportError, match=f"the file {tmp_path} lies outside the project"):
        address.require_own_files(root / "mkdocs.yml")


@pytest.mark.promise("bounded-reading")
@pytest.mark.parametrize(
    "name",
    [
        *("mkdocs.yml", "site_src/docs/deep/own.js", "templates/works.bib", "figures/own.py"),
        *("templates/articles/long.md.j2", "templates/theme/main.html"),
    ],
)
def test_a_text_without_end_is_named_before_it_is_read(tmp_path, name):
    root = copy_project(tmp_path / "project", articles=False)
    (root / "templates" / "articles").mkdir(exist_ok=True)
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    with (root / name).open("ab") as file:
        file.truncate(300_000_000)
    done = report("render", "--project", root)
    assert done.returncode == 1
    assert f"{name}: has 300.0 MB, and a text of its kind may have" in " ".join(done.stderr.split())


@pytest.mark.promise("bounded-reading")
def test_front_matter_and_datasets_have_an_end_too(tmp_path):
    article = tmp_path / "a.md.j2"
    article.write_text("---\n" + "key: value\n" * 120_000 + "---\n")
    with pytest.raises(ReportError, match="line 2: front matter has 1,200,000 characters"):
        read_study(article)
    with (tmp_path / "manifest.json").open("wb") as file:
        file.truncate(300_000_000)
    with pytest.raises(ReportError, match="has more than 200 MB, which no dataset has"):
        store.read(tmp_path / "manifest.json")


@pytest.mark.promise("site-files")
@pytest.mark.parametrize("target", ["index.html", "missing", "a"])
def test_a_built_site_holds_no_link(tmp_path, target):
    site = small_site.write(tmp_path / "site")
    (site / "a" / "b.html").symlink_to(target)
    with pytest.raises(ReportError, match=r"a/b\.html is a link, which cannot be published"):
        check.check_site(site)


@pytest.mark.promise("bounded-reading")
@pytest.mark.parametrize("name", ["a/index.html", "own.css", "own.js", "robots.txt", "sitemap.xml"])
def test_a_site_is_checked_in_bounded_memory(tmp_path, name):
    site = small_site.write(tmp_path / "site")
    with (site / name).open("ab") as file:
        file.truncate(300_000_000)
    with pytest.raises(ReportError, match=f"{name} has more than 20 MB, which cannot be published"):
        check.check_site(site)
