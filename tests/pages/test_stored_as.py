"""What pages say of numbers that were unpacked: of which file or checkpoint they are."""

from html import unescape

from report.pages import lists, render
from report.study.study import read_study
from tests import rendered
from tests.figures import hand_made
from tests.small import write_publication

FORMATS = "Q4_K_M: Q8_0, Q5_0, Q4_K"
DEFAULTS = "gemma3.rope.freq_base: 1,000,000 is taken, as Ollama does"


def test_article_and_page_of_models_say_how_numbers_are_stored_and_what_was_taken(
    tmp_path, monkeypatch
):
    rendered.words_only(monkeypatch)
    project = write_publication(tmp_path, cover="attending_to_itself")
    data = hand_made.study(tmp_path / "datasets", "rotary")
    data.manifest["model"] |= {"name": "it", "source": "file"}
    data.manifest["model"] |= {"stored_as": FORMATS, "defaults": [DEFAULTS]}
    study = read_study(project / "templates" / "articles" / "small.md.j2")
    page = render.render_article(study, data, project / "site_src")
    lists.render_lists([page], [data], project / "site_src")
    for path in ("articles/small/index.md", "models/index.md"):
        text = unescape((project / "site_src" / path).read_text("utf-8"))
        assert f"| Matrices stored as | {FORMATS} |" in text, path
        assert f"| Not stated in the file | {DEFAULTS} |" in text, path
