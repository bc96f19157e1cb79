"""What pages say of numbers that were unpacked: of which file or checkpoint they are."""

import pytest

from report.pages import lists, render
from report.study.study import read_study
from tests import rendered
from tests.figures import hand_made
from tests.small import write_publication

SAID = {
    "folder": "numbers of the FP8 checkpoint",
    "hub": "numbers of the FP8 checkpoint",
    "file": "numbers of the FP8 file",
}


@pytest.mark.parametrize("source", SAID)
def test_article_and_page_of_models_say_whose_numbers_they_are(source, tmp_path, monkeypatch):
    rendered.words_only(monkeypatch)
    project = write_publication(tmp_path, cover="attending_to_itself")
    data = hand_made.study(tmp_path / "datasets", "rotary")
    data.manifest["model"] |= {"name": "it", "source": source, "stored_as": "FP8"}
    study = read_study(project / "templates" / "articles" / "small.md.j2")
    page = render.render_article(study, data, project / "site_src")
    lists.render_lists([page], [data], project / "site_src")
    for path in ("articles/small/index.md", "models/index.md"):
        text = (project / "site_src" / path).read_text("utf-8")
        assert f"</code>, {SAID[source]} " in text, path
