"""An article about a model in a GGUF file: measured, on its page, frozen, and named in commands."""

import json
import shutil
from html import unescape

import pytest

from report.console import Terminal
from report.errors import ReportError
from report.measuring import command, frozen, plan, run, settings
from report.models.find import known
from report.models.find.names import Size
from report.models.load import identity
from report.pipeline import Request, make_pages
from report.project import project as project_in
from report.study.study import read_study
from tests.commands import copy_project
from tests.models import tiny_tokenizers
from tests.models.gguf.written import Written, saved, tiny
from tests.small import ARTICLE, SENTENCE

pytestmark = pytest.mark.usefixtures("short_corpus")

ARTICLE_FILE = "templates/articles/small.md.j2"


@pytest.fixture(scope="module")
def made(tmp_path_factory, short_corpus):
    """A project whose pages are written and whose datasets are frozen, its model beside it."""
    root = copy_project(tmp_path_factory.mktemp("gguf") / "project", articles=False)
    article = root / ARTICLE_FILE
    article.parent.mkdir(parents=True)
    model = tiny("llama", num_hidden_layers=2, max_position_embeddings=512)
    folder = saved(model, tiny_tokenizers.byte_level(), root.parent / "tiny")
    Written(folder, "Q4_1").to(root / "tiny.Q4_1.gguf")
    header = "model: tiny.Q4_1.gguf\npassage: passage.md\ntitle: Small"
    article.write_text(ARTICLE.format(cover="update_magnitude").replace("title: Small", header))
    (root / "passage.md").write_text(SENTENCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        make_pages(Request(project_in(root)), Terminal())
        [found] = measured(root)
        assert found.state == "unchanged"
        frozen.freeze("small", [found.folder], project_in(root))
    return root


@pytest.fixture
def root(made, tmp_path, monkeypatch):
    copied = shutil.copytree(made, tmp_path / "project")
    monkeypatch.chdir(copied)
    return copied


def measured(root):
    return run.datasets(read_study(root / ARTICLE_FILE), project_in(root), lambda *_: None)


def manifest(root):
    (path,) = (root / "frozen" / "small").glob("*/manifest.json")
    return json.loads(path.read_text("utf-8"))


def test_page_and_manifest_say_of_which_file_the_numbers_are(made):
    stated = manifest(made)
    assert stated["model"]["name"] == "Tiny Model"
    assert stated["model"]["stored_as"] == "Q4_1"
    assert "--model path/to/tiny.Q4_1.gguf" in stated["command"]
    assert "gguf" in stated["determined_by"]["libraries"]
    page = unescape((made / "site_src" / "articles" / "small" / "index.md").read_text("utf-8"))
    assert f"{stated['model']['weights_sha256']}</code>" in page
    assert "| Matrices stored as | Q4_1 |" in page
    assert "Tiny Model, family llama" in page
    assert str(made) not in page


@pytest.mark.parametrize("lose", ["missing", "damaged"])
def test_frozen_datasets_stand_in_for_a_file_that_is_gone(root, lose):
    path = root / "tiny.Q4_1.gguf"
    if lose == "missing":
        path.unlink()
    else:
        path.write_text("version https://git-lfs")
    shutil.rmtree(root / "site_src" / "datasets")
    assert [found.state for found in measured(root)] == ["frozen"]


def test_those_of_another_file_do_not(root):
    path = root / ARTICLE_FILE
    path.write_text(path.read_text().replace("tiny.Q4_1.gguf", "other.gguf"))
    shutil.rmtree(root / "site_src" / "datasets")
    with pytest.raises(ReportError, match=r"no file 'other\.gguf'"):
        measured(root)


def planned(root, **options):
    study = read_study(root / ARTICLE_FILE, **options)
    [found] = plan.plans(study, project_in(root), run.read(study))
    return found


def edit(root, old, new):
    path = root / ARTICLE_FILE
    path.write_text(path.read_text().replace(old, new))


def test_a_label_is_what_pages_call_a_model(root):
    edit(root, "model: tiny", "label: A Lamp\nmodel: tiny")
    found = planned(root)
    assert (found.state, found.model) == ("measure", "A Lamp")
    assert found.parts["model_name"] == "A Lamp"
    assert found.source.name == "Tiny Model"
    assert found.reasons == ["model: Tiny Model → A Lamp"]
    study = read_study(root / ARTICLE_FILE)
    again = command.command(study, found.source, [], found.settings)
    assert again.endswith("--model path/to/tiny.Q4_1.gguf --label 'A Lamp'")
    assert planned(root, model="tiny.Q4_1.gguf").model == "Tiny Model"
    assert planned(root, model="tiny.Q4_1.gguf", label="B").model == "B"


@pytest.mark.parametrize("origin", ["embedded", "package", "hub", "file"])
def test_a_label_is_for_every_model_and_its_own_name_is_kept(root, origin, monkeypatch):
    named = {"embedded": "falcon-8x8", "package": "smollm2-135m", "hub": f"some/one@{'a' * 40}"}
    name = named.get(origin, "tiny.Q4_1.gguf")
    edit(root, "model: tiny.Q4_1.gguf", f"label: A Lamp\nmodel: {name}")
    if origin == "package":
        monkeypatch.setattr(known, "packaged_file", lambda _: root / "tiny.Q4_1.gguf")
    if origin == "hub":
        for module in (settings, plan):
            monkeypatch.setattr(module, "size_of", lambda _: Size())
    found = planned(root)
    assert (found.model, found.parts["model_name"]) == ("A Lamp", "A Lamp")
    assert (found.source.origin, found.source.title) == (origin, "A Lamp")
    about = identity.called(found.source)
    own = name.partition("@")[0]
    assert about == {"name": "A Lamp"} | ({} if origin == "file" else {"own_name": own})


def test_a_label_is_for_one_model(root):
    edit(root, "model: tiny.Q4_1.gguf", "label: A Lamp\nmodels: [falcon-8x8, qwen2-5x28]")
    with pytest.raises(ReportError, match="several models"):
        planned(root)
