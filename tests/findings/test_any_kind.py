"""Every kind of article, the home page and the glossary, for words false of a kind of model."""

import re

import pytest

from report.kinds import file_of
from report.pages.lists import render_lists
from report.study.study import read_study
from tests import made_conditions, rendered
from tests.commands import ROOT
from tests.figures import hand_made, hand_sweep, hand_table
from tests.rendered import plain

BACK = (
    "looks? back|or an earlier one|so far(?! apart)|(?<!predict the )next (?:word|token)"
    "|(?<!orientation from )left to right|triangle|the past|all later|what came before"
)
POST_NORM = "overwrit|nothing else happens|only (?:ever )?add|last norm|norm first"
FALSE = {
    "learned_bias": "content term|ALiBi|rotary|later ones|square",
    "encoder": f"content term|ALiBi|rotary|{BACK}",
    "encoder_rotary": f"ALiBi|embeddings|{BACK}",
    "softcap": "ALiBi|embeddings|later ones|sum to the logit",
    "alibi": "rotary|embeddings|later ones|(?<!no )bias term",
    "content": "ALiBi|rotary|(?<!nor the )embeddings|later ones",
    "post_norm": f"content term|ALiBi|rotary|later ones|square|{POST_NORM}",
    "no_special": r"stands for no word|tokenizer adds|puts first|in front of every|\[CLS|<.begin",
    "ends_only": r"puts first|in front of every|\[CLS|<.begin",
}
"""Kind of model -> what is not true of it."""
OF_ANY = {
    "index.md": "looks? back|next (?:word|token)|left to right|[Ee]very number",
    "glossary/index.md": "overwritten|each head adds its update|full square|last norm",
}
"""Pages that stand beside models of all kinds -> what is not true of some."""
READ = {"table": "passage", "conditions": "passage|table", "sweep": "passage|table"}
"""Kind of article -> what its models do not read."""


def conditions(folder, kind):
    """The same three models as `made_conditions` has, which see what a kind sees."""
    sees = "what came before" if kind.causal else "everything"
    about = {"sees": sees, "terms": list(kind.terms), "family": kind.like}
    about["special_tokens_added"] = hand_made.added_by(kind)
    return made_conditions.study(folder, [{"name": name, **about} for name in MODELS])


MODELS = ["one", "two", "three"]
DATA = {
    "passage": hand_made.study,
    "table": hand_table.study,
    "conditions": lambda folder, kind: conditions(folder, EVERY[kind]),
    "sweep": lambda folder, kind: hand_sweep.study(
        folder, "whole" if EVERY[kind].causal else "no losses", kind
    ),
}
"""Kind of article -> a function from a folder and a kind of model to its data."""
EVERY = hand_made.KINDS | hand_made.OF_WORDS


@pytest.mark.parametrize("article", DATA)
@pytest.mark.parametrize("kind", FALSE)
def test_nothing_false_is_said_of_a_kind_of_model(tmp_path, monkeypatch, kind, article):
    rendered.words_only(monkeypatch)
    if "front" not in EVERY[kind].special:
        monkeypatch.setattr(made_conditions, "BEGIN", 0)
    template = tmp_path / "new.md.j2"
    written = file_of(article, "new.md.j2").read_text("utf-8")
    written = written.replace("@TITLE@", "New").replace("@DATE@", "2026-01-01")
    template.write_text(written, "utf-8")
    data = DATA[article](tmp_path / "datasets", kind)
    text = plain(rendered.text_of(read_study(template), data, tmp_path))
    text = text.partition("## How this was measured")[0]
    assert "Figure 1." in text
    for false in FALSE[kind], READ.get(article, "(?!)"):
        assert re.findall(f"[^.]*(?:{false})[^.]*", text) == []


@pytest.mark.parametrize("page", OF_ANY)
def test_nothing_is_said_of_all_models_that_is_false_of_some(tmp_path, page):
    (tmp_path / "templates").symlink_to(ROOT / "templates")
    render_lists([], [], tmp_path / "site_src")
    text = (tmp_path / "site_src" / page).read_text("utf-8")
    assert re.findall(f"[^.]*(?:{OF_ANY[page]})[^.]*", text) == []
