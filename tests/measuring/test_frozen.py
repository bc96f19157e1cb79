"""Frozen datasets: measured once, committed, published where nothing can be measured."""

import json
import shutil
import subprocess

import pytest

from report.datasets import store
from report.errors import ReportError
from report.inputs.passages import corpus
from report.measuring import frozen, plan, run
from report.measuring.key import hashed
from report.project import project as project_in
from report.study.study import read_study
from tests.bare import bare_python, report_without_measuring
from tests.commands import contents, copy_project
from tests.small import ARTICLE, SENTENCE

pytestmark = pytest.mark.usefixtures("short_corpus")

ARTICLE_FILE = "templates/articles/small.md.j2"


@pytest.fixture(scope="module")
def frozen_once(falcon_folder, tmp_path_factory, short_corpus):
    """A project whose datasets are frozen, its model inside; nothing in site_src yet."""
    root = copy_project(tmp_path_factory.mktemp("frozen") / "project", articles=False)
    article = root / ARTICLE_FILE
    article.parent.mkdir(parents=True)
    header = f"model: {root.name}/tiny\npassage: {root.name}/passage.md\ntitle: Small"
    text = ARTICLE.format(cover="update_magnitude").replace("title: Small", header)
    article.write_text(text)
    (root / "passage.md").write_text(SENTENCE)
    shutil.copytree(falcon_folder, root / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root.parent)
        [found] = measured(root)
        frozen.freeze("small", [found.folder], project_in(root))
    shutil.rmtree(root / "site_src" / "datasets")
    return root


@pytest.fixture
def root(frozen_once, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(frozen_once, tmp_path / "project")


@pytest.fixture
def no_torch(monkeypatch):
    monkeypatch.setattr(plan, "missing_package", lambda: "torch")


def measured(root, **options):
    study = read_study(root / ARTICLE_FILE, **options)
    return run.datasets(study, project_in(root), lambda *_: None)


def frozen_folder(root):
    (folder,) = (root / "frozen" / "small").iterdir()
    return folder


def edit(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def unseal(path):
    manifest = json.loads(path.read_text("utf-8"))
    del manifest["seal"]
    path.write_text(json.dumps(manifest), "utf-8")


def edit_manifest(root, change):
    path = frozen_folder(root) / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest["determined_by"])
    path.write_text(json.dumps(store.sealed(manifest)), "utf-8")


def test_frozen_datasets_are_those_that_were_measured(root):
    folder = frozen_folder(root)
    [found] = measured(root)
    assert found.state == "frozen"
    assert contents(found.folder) == contents(folder)
    assert found.folder == root / "site_src" / "datasets" / "small" / folder.name
    stamp = (found.folder / "manifest.json").stat().st_mtime_ns
    measured(root)
    assert (found.folder / "manifest.json").stat().st_mtime_ns == stamp


@pytest.mark.parametrize(
    "lose",
    [
        lambda root: shutil.rmtree(root / "tiny"),
        lambda root: (root / "tiny" / "model.safetensors").unlink(),
        lambda root: (root / "tiny" / "model.safetensors").write_text("version https://git-lfs"),
        lambda root: edit_manifest(root, lambda by: by.update(code={"models/load/load.py": "0"})),
        lambda root: edit_manifest(root, lambda by: by["libraries"].update(torch="1.0")),
    ],
    ids=["no model", "no weights", "a pointer for weights", "other code", "another torch"],
)
@pytest.mark.parametrize("torch", [True, False], ids=["with torch", "without torch"])
def test_they_are_used_though_what_measured_is_gone_or_newer(root, lose, torch, request):
    if not torch:
        request.getfixturevalue("no_torch")
    lose(root)
    assert [found.state for found in measured(root)] == ["frozen"]


MISFITS = {
    "passage": (lambda root: edit(root / "passage.md", "hill", "roof"), {}, "the passage changed"),
    "layers": (lambda root: None, {"layers": "0-1"}, "layers: all → 2"),
    "config": (
        lambda root: edit(root / "tiny" / "config.json", '"layer_norm_epsilon": 1e-05', '"x": 1'),
        {},
        "the settings of tiny changed (config.json)",
    ),
}


@pytest.mark.parametrize("name", MISFITS)
def test_what_does_not_fit_any_more_is_refused_where_nothing_can_be_measured(root, no_torch, name):
    change, options, reason = MISFITS[name]
    change(root)
    with pytest.raises(ReportError) as error:
        measured(root, **options)
    assert str(error.value) == (
        f"small: its datasets do not fit any more ({reason}), and it cannot be measured here: "
        "measuring needs the package 'torch'. Run `python -m report freeze` where it can be, and "
        "commit what that writes."
    )


@pytest.fixture
def revisions(root, falcon_folder):
    """The same project with two revisions of one model that are frozen; their folders."""
    shutil.rmtree(root / "frozen")
    folders = [shutil.copytree(falcon_folder, root / "runs" / f"step-{n}") for n in (1, 2)]
    header = f"model: ./{root.name}/runs\nrevisions: [step-1, step-2]"
    edit(root / ARTICLE_FILE, f"model: {root.name}/tiny", header)
    edit(folders[1] / "config.json", '"layer_norm_epsilon": 1e-05', '"layer_norm_epsilon": 1e-04')
    found = measured(root)
    assert [each.state for each in found] == ["measured", "measured"]
    frozen.freeze("small", [each.folder for each in found], project_in(root))
    shutil.rmtree(root / "site_src" / "datasets")
    return folders


@pytest.mark.parametrize("gone", ["one of them", "both", "the model's folder too"])
@pytest.mark.parametrize("force", [False, True])
def test_revisions_that_are_gone_have_their_frozen_datasets(root, revisions, gone, force):
    """Also where all that can be measured is to be measured again."""
    first = {"one of them": 1, "both": 0}.get(gone, 0)
    for folder in revisions[first:]:
        shutil.rmtree(folder)
    if gone == "the model's folder too":
        shutil.rmtree(root / "runs")
    study = read_study(root / ARTICLE_FILE)
    found = run.datasets(study, project_in(root), lambda *_: None, force=force)
    there = "measured" if force else "frozen"
    assert [each.state for each in found] == [there] * first + ["frozen"] * (2 - first)
    names = [
        json.loads((each.folder / "manifest.json").read_text())["model"]["name"] for each in found
    ]
    assert names == ["runs@step-1", "runs@step-2"]


def test_freezing_again_keeps_those_of_models_that_are_gone(root, revisions):
    before = contents(root / "frozen")
    shutil.rmtree(root / "runs")
    study = read_study(root / ARTICLE_FILE)
    found = run.datasets(study, project_in(root), lambda *_: None, use_frozen=False)
    assert [each.state for each in found] == ["frozen", "frozen"]
    frozen.freeze("small", [each.folder for each in found], project_in(root))
    assert contents(root / "frozen") == before


def test_a_revision_that_was_never_frozen_is_asked_for(root, revisions):
    edit(root / ARTICLE_FILE, "step-2]", "step-3]")
    with pytest.raises(ReportError, match=r"has no revision 'step-3'.*it has: step-1, step-2"):
        measured(root)


def test_what_does_not_fit_any_more_is_measured_where_that_can_be(root):
    edit(root / "passage.md", "hill", "roof")
    [found] = measured(root)
    assert found.state == "measured"
    assert found.folder.name != frozen_folder(root).name


def test_a_model_that_is_gone_and_a_passage_that_changed_are_both_told(root):
    edit(root / "passage.md", "hill", "roof")
    shutil.rmtree(root / "tiny")
    with pytest.raises(
        ReportError, match=r"\(the passage changed\).*unknown model './project/tiny'"
    ):
        measured(root, model="./project/tiny")


def test_another_model_does_not_take_them(root):
    assert measured(root, model="falcon-8x8")[0].state == "measured"


def test_of_alternatives_the_frozen_one_is_used_though_another_is_here(root, no_torch):
    shutil.rmtree(root / "tiny")
    assert measured(root, model="project/tiny or falcon-8x8")[0].state == "frozen"


def test_a_model_of_the_hub_is_its_recorded_commit(root, no_torch):
    commit, other = "1" * 40, "2" * 40
    edit_manifest(
        root, lambda by: by.update(model_name="a/b", model={"hub": "a/b", "revision": commit})
    )
    for model in ("a/b", f"a/b@{commit}"):
        assert measured(root, model=model)[0].state == "frozen"
    (root / "models.lock.json").write_text(json.dumps({"a/b": commit}))
    assert measured(root, model="a/b")[0].state == "frozen"
    (root / "models.lock.json").write_text(json.dumps({"a/b": other}))
    with pytest.raises(ReportError, match="revision of a/b: 1111111 → 2222222"):
        measured(root, model="a/b")


def test_force_measures_and_leaves_them(root):
    before = contents(root / "frozen")
    study = read_study(root / ARTICLE_FILE)
    [found] = run.datasets(study, project_in(root), lambda *_: None, force=True)
    assert found.state == "measured"
    assert contents(root / "frozen") == before
    assert measured(root)[0].state == "frozen"


@pytest.mark.promise("changed-datasets")
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "passage.json").write_text("{}"), "passage.json is not the file"),
        (lambda folder: (folder / "passage.json").unlink(), "passage.json is missing"),
        (lambda folder: (folder / "extra.json").write_text("{}"), "extra.json is in no manifest"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json: is not JSON"),
        (
            lambda folder: edit(folder / "manifest.json", '"layers_called":3', '"layers_called":2'),
            "manifest.json is not the one that was written",
        ),
        (lambda folder: unseal(folder / "manifest.json"), "manifest.json"),
    ],
    ids=["changed", "missing", "unknown", "manifest", "a number of the manifest", "no seal"],
)
def test_frozen_files_that_are_not_the_measured_ones_are_refused(root, damage, said):
    damage(frozen_folder(root))
    with pytest.raises(ReportError, match=said):
        measured(root)
    assert not (root / "site_src" / "datasets" / "small").exists()


@pytest.mark.promise("replaces-own")
@pytest.mark.parametrize("name", ["notes", "KEY"])
def test_freezing_removes_nothing_of_an_author(root, name):
    """Beside the datasets it stays; among those that would go, it is named and all stays."""
    notes = frozen_folder(root).parent / name.replace("KEY", frozen_folder(root).name) / "read.md"
    notes.parent.mkdir(exist_ok=True)
    notes.write_text("mine")
    edit(root / "passage.md", "hill", "roof")
    study, project = read_study(root / ARTICLE_FILE), project_in(root)
    [found] = run.datasets(study, project, lambda *_: None, use_frozen=False)
    before = contents(root / "frozen")
    if name == "notes":
        frozen.freeze("small", [found.folder], project)
        [manifest] = (root / "frozen" / "small").glob("*/manifest.json")
        assert manifest.parent.name == found.folder.name
        assert measured(root)[0].state == "frozen"
    else:
        with pytest.raises(ReportError, match=r"read\.md"):
            frozen.freeze("small", [found.folder], project)
        assert contents(root / "frozen") == before
    assert notes.read_text() == "mine"


def test_datasets_that_are_there_are_kept_where_nothing_can_be_measured(root, no_torch):
    shutil.move(root / "frozen", root / "site_src" / "datasets")
    assert measured(root)[0].state == "kept"
    edit(root / "passage.md", "hill", "roof")
    with pytest.raises(ReportError, match=r"do not fit any more \(the passage changed\)"):
        measured(root)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return bare_python(tmp_path_factory.mktemp("bare") / "venv")


def test_a_site_is_built_where_nothing_that_measures_is_installed(root, bare):
    code = "import torch"
    assert subprocess.run([bare, "-c", code], capture_output=True).returncode
    shutil.rmtree(root / "tiny")
    whole = hashed([text.text for text in corpus()])  # no test's corpus in a process apart
    edit_manifest(root, lambda by: by.update(corpus=whole))
    edit_manifest(root, lambda by: by["libraries"].update(torch="1.0"))
    [key] = [frozen_folder(root).name]
    date = json.loads((frozen_folder(root) / "manifest.json").read_text())["date"]
    made = []
    for number in range(2):
        done = report_without_measuring(bare, "site", "--project", root, cwd=root.parent)
        assert done.returncode == 0, done.stderr
        assert f"small: frozen datasets used ({key}): measured on {date} with Python" in done.stderr
        assert "torch 1.0" in done.stderr, number
        made.append(contents(root / "site"))
    assert made[0] == made[1], "two processes draw and build the same bytes"
    assert contents(root / "site" / "datasets" / "small" / key) == contents(frozen_folder(root))
    done = report_without_measuring(bare, "check", root / "site", cwd=root)
    assert done.returncode == 0, done.stderr
    done = report_without_measuring(bare, "why", "--project", root, cwd=root.parent)
    assert done.stdout == "small, tiny: frozen datasets used\n"
    edit(root / "passage.md", "hill", "roof")
    done = report_without_measuring(bare, "site", "--project", root, cwd=root.parent)
    assert done.returncode == 1
    assert "small: its datasets do not fit any more (the passage changed)" in done.stderr
    assert "Traceback" not in done.stderr
