"""The article of a newcomer, the home page and the glossary, for words false of a kind of model."""

import html
import re

import pytest

from report.pages.lists import render_lists
from report.study.study import read_study
from tests import rendered
from tests.commands import ROOT
from tests.figures import hand_made

BACK = "looks? back|or an earlier one|so far|next (?:word|token)|left to right|triangle|the past"
FALSE = {
    "learned_bias": "content term|ALiBi|rotary|later ones|square",
    "encoder": f"content term|ALiBi|rotary|{BACK}",
    "encoder_rotary": f"ALiBi|embeddings|{BACK}",
    "softcap": "ALiBi|embeddings|later ones",
    "alibi": "rotary|embeddings|later ones|bias term",
    "content": "ALiBi|rotary|embeddings|later ones",
}
"""Kind of model -> what is not true of it."""
OF_ANY = {
    "index.md": "looks? back|next (?:word|token)|left to right",
    "glossary/index.md": "nothing is overwritten|full square",
}
"""Pages that stand beside models of all kinds -> what is not true of some."""


@pytest.mark.parametrize("kind", FALSE)
def test_nothing_false_is_said_of_a_kind_of_model(tmp_path, monkeypatch, kind):
    rendered.words_only(monkeypatch)
    written = (ROOT / "templates" / "new" / "passage.md.j2").read_text("utf-8")
    article = tmp_path / "new.md.j2"
    article.write_text(written.replace("@TITLE@", "New").replace("@DATE@", "2026-01-01"), "utf-8")
    data = hand_made.study(tmp_path / "datasets", kind)
    text = rendered.text_of(read_study(article), data, tmp_path)
    text = rendered.captions_alone(rendered.without_passage(text))
    text = html.unescape(re.sub(r"<[^>]*>", "", text)).partition("## How this was measured")[0]
    assert "Shade is the probability" in text
    assert re.findall(f"[^.]*(?:{FALSE[kind]})[^.]*", text) == []


@pytest.mark.parametrize("page", OF_ANY)
def test_nothing_is_said_of_all_models_that_is_false_of_some(tmp_path, page):
    (tmp_path / "templates").symlink_to(ROOT / "templates")
    render_lists([], [], tmp_path / "site_src")
    text = (tmp_path / "site_src" / page).read_text("utf-8")
    assert re.findall(f"[^.]*(?:{OF_ANY[page]})[^.]*", text) == []
