"""A real model, where `make` has installed its package: an article on two of its layers."""

import pytest

from report.datasets.read.study import open_study
from report.measuring import run
from report.models.find import known, names
from report.pages import lists, render
from report.project import project as project_in
from report.study.study import read_study
from tests import rendered
from tests.small import SENTENCE, write_publication

(NAME, *_) = known.packaged()

pytestmark = [
    pytest.mark.usefixtures("short_corpus"),
    # it comes in a package of 93 MB, which `make setup REAL=no` leaves out
    pytest.mark.skipif(not names.is_here(NAME), reason=f"{names.absent(NAME)}: `make setup`"),
]


def test_an_article_on_two_layers_of_the_real_file(tmp_path, monkeypatch):
    rendered.words_only(monkeypatch)
    root = write_publication(tmp_path, cover="attending_to_itself")
    path = root / "templates" / "articles" / "small.md.j2"
    path.write_text(path.read_text("utf-8").replace("title:", f"model: {NAME}\ntitle:"))
    study = read_study(path, layers="0-1", passage=str(root / "passage.md"))
    (found,) = run.datasets(study, project_in(root), lambda *_: None, announce=lambda _: None)
    data = open_study([found.folder])
    assert (data.layers, data.heads) == (2, 9)
    assert "".join(token.text for token in data.tokens) == SENTENCE.strip()
    model = data.manifest["model"]
    assert (model["name"], model["source"]) == (NAME, "package")
    assert model["stored_as"] == "Q4_1: Q4_1, Q8_0"
    assert model["num_hidden_layers"] == 30
    assert known.packaged()[NAME].package in data.manifest["versions"]
    page = render.render_article(study, data, root / "site_src")
    lists.render_lists([page], [data], root / "site_src")
    written = (root / "site_src" / "models" / "index.md").read_text("utf-8")
    assert known.packaged()[NAME].made in written
