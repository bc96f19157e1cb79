"""What pages say of numbers that are no checkpoint's own: unpacked, or changed by an adapter."""

import re
from html import unescape

import pytest

from report.pages import lists, render
from report.study.study import read_study
from tests import rendered
from tests.figures import hand_made
from tests.small import write_publication

FORMATS = "Q4_K_M: Q8_0, Q5_0, Q4_K"
DEFAULTS = "gemma3.rope.freq_base: 1,000,000 is taken, as Ollama does"


ADAPTER = {"name": "<b>", "kind": "rsLoRA", "ranks": [4, 8], "tensors_changed": 30}
ADAPTER |= {"sha256": "d" * 64}


def written(folder, monkeypatch, **about):
    """The Markdown of an article and of the page of models, of a model with these facts."""
    rendered.words_only(monkeypatch)
    project = write_publication(folder, cover="attending_to_itself")
    data = hand_made.study(folder / "datasets", "rotary")
    data.manifest["model"] |= {"name": "it"} | about
    study = read_study(project / "templates" / "articles" / "small.md.j2")
    page = render.render_article(study, data, project / "site_src")
    lists.render_lists([page], [data], project / "site_src")
    paths = [project / "site_src" / name for name in ("articles/small/index.md", "models/index.md")]
    return [path.read_text("utf-8") for path in paths]


def test_article_and_page_of_models_say_how_numbers_are_stored_and_what_was_taken(
    tmp_path, monkeypatch
):
    about = {"source": "file", "stored_as": FORMATS, "defaults": [DEFAULTS], "zeros": ["a.w", "b"]}
    for text in map(unescape, written(tmp_path, monkeypatch, **about)):
        assert f"| Matrices stored as | {FORMATS} |" in text
        assert f"| Not stated in the file | {DEFAULTS} |" in text
        assert "| Nothing but zeros | 2 weights, the first is <code>a.w</code> |" in text


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ({"stored_dtype": "bfloat16"}, "in float32; the checkpoint is in bfloat16"),
        (
            {"stored_dtype": "float16, float32"},
            "in float32; the checkpoint is in float16 and float32",
        ),
        ({"stored_dtype": "float32"}, "in float32"),
        ({}, "in float32"),  # measured before it was recorded
    ],
)
def test_article_and_page_of_models_say_where_the_checkpoint_has_other_numbers(
    stored, said, tmp_path, monkeypatch
):
    texts = written(tmp_path, monkeypatch, source="folder", dtype="float32", **stored)
    for text in map(unescape, texts):
        assert f"| {said} |" in re.sub(r"\| Computed in \| ", "| in ", text)


@pytest.mark.parametrize("base", [{}, {"base": "owner/model@" + "a" * 40}])
def test_article_and_page_of_models_name_the_adapter(base, tmp_path, monkeypatch):
    for text in written(tmp_path, monkeypatch, source="folder", adapter=ADAPTER | base):
        (row,) = (line for line in text.splitlines() if line.strip().startswith("| Adapter |"))
        for said in ("rsLoRA", "&#60;b&#62;", "rank 4 and 8", "30 tensors", "d" * 64):
            assert said in row
        assert ("owner&#47;model" in row) == bool(base)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({}, []),
        ({"adapter": ADAPTER}, ["it"]),
        ({"adapter": ADAPTER | {"base": "owner/model@" + "a" * 40}}, ["owner/model"]),
    ],
)
def test_an_adapter_is_named_above_an_article(about, said, tmp_path, monkeypatch):
    article, _ = written(tmp_path, monkeypatch, source="folder", **about)
    (byline,) = (line for line in article.splitlines() if 'class="byline"' in line)
    told = "<span>([^<]*) with the rsLoRA adapter <b></span>"
    assert re.findall(told, unescape(byline)) == said


def test_models_of_the_same_weights_with_other_adapters_are_two(tmp_path, monkeypatch):
    model = {"name": "it", "source": "folder", "weights_sha256": "e" * 64}
    both = [model | {"adapter": ADAPTER | {"sha256": letter * 64}} for letter in "ab"]
    data = [hand_made.study(tmp_path / letter, "rotary") for letter in "ab"]
    for one, about in zip(data, both, strict=True):
        one.manifest["model"] |= about
    rendered.words_only(monkeypatch)
    project = write_publication(tmp_path, cover="attending_to_itself")
    study = read_study(project / "templates" / "articles" / "small.md.j2")
    page = render.render_article(study, data[0], project / "site_src")
    lists.render_lists([page, page], data, project / "site_src")
    text = (project / "site_src" / "models" / "index.md").read_text("utf-8")
    assert text.count("| Adapter |") == 2
