"""What the article about a training says of sweeps that differ: true sentences, and whole ones.

The article's own template is rendered with hand-made sweeps of every kind; no picture is drawn.
"""

import re

import pytest

from report.figures import habits_in_training
from report.study.study import read_study
from tests import rendered
from tests.commands import ROOT
from tests.figures import hand_sweep
from tests.rendered import plain, prose

TEMPLATE = ROOT / "templates" / "articles" / "how-heads-form.md.j2"
FIGURES = {
    "models only": ["habits_by_model"],
    "a training only": ["habits_in_training", "repeated_loss", "heads_at_step"],
    "no losses": ["habits_in_training", "heads_at_step", "habits_by_model"],
}
"""Kinds that have not all four."""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function from a kind of sweep to the article's text, and the names of its figures."""
    rendered.words_only(monkeypatch)
    study = read_study(TEMPLATE)

    def write(kind="whole"):
        data = hand_sweep.study(tmp_path / "datasets", kind)
        text = rendered.text_of(study, data, tmp_path)
        return text, rendered.figures(text)

    return write


@pytest.mark.parametrize("kind", hand_sweep.KINDS)
def test_sentences_are_whole(written, kind):
    text, figures = written(kind)
    every = ["habits_in_training", "repeated_loss", "heads_at_step", "habits_by_model"]
    assert figures == FIGURES.get(kind, every)
    assert not re.search(r"\d", rendered.answer(text))
    assert rendered.explains_its_first_head(prose(text))
    assert not rendered.begins_with_a_digit(prose(text))


def test_what_happens_is_told_with_its_steps_and_heads(written):
    said = prose(written()[0])
    assert "Between step 100 and step 200, the attention that a head gives" in said
    assert "to the token that came next last time goes from 5\u00a0% to 70\u00a0%" in said
    assert "At step 0, a random token costs 8.00 nats, said before or not" in said
    assert "Having been said before is worth 1.2 nats by step 100, and 6.5 by step 200" in said
    assert "The best head finds" not in said
    assert "that of L2H1 (head 1 of layer 2; both count from 0), the coloured line, before" in said
    assert "As it opens:" not in said
    assert "At step 200, a token of the control costs 9.5 nats" in said
    assert "L1H0 gives the token before 5\u00a0% of its attention at step 0" in said
    assert "The head that does it most in the end, L1H0, reaches half at step 400, after" in said
    assert "L0H0 has it as its top target for 40\u00a0% of the tokens at step 50" in said
    assert "finished itself went on to step 2,000, with the same recipe and seed" in said
    assert "At step 400, the last, L2H1 has the most, 80\u00a0%." in said
    none_yet = "in texts, no head has the token before as its top target for more than"
    assert said.index(none_yet) < said.index("L1H0 goes on to 50\u00a0% at step 400.")
    assert "That is enough, it seems, or several share the task: in texts, no head" in said


def test_heads_that_are_about_as_good_are_named_together(written, monkeypatch):
    made = hand_sweep.repetition

    def two(at, heads, learns=True):
        found = made(at, heads, learns)
        found.induction[:, 1, 0] = found.induction[:, 2, 1] * 0.995
        return found

    monkeypatch.setattr(hand_sweep, "repetition", two)
    said = prose(written()[0])
    assert "L2H1 has the most, 80\u00a0%, with L1H0 close behind (80\u00a0%)." in said


def test_heads_that_are_spoken_of_are_named_in_the_figure(written, tmp_path):
    said = prose(written()[0])
    data = hand_sweep.study(tmp_path / "again")
    named = [
        {row["named"] for row in habits_in_training.rows(data, panel=panel) if row["highest"]}
        for panel in range(4)
    ]
    feeder = re.search(r"such heads, in earlier layers: (L\dH\d)", said)[1]
    dropped = re.search(r"drop it again \(last panel of .*?\): (L\dH\d)", said)[1]
    late = re.search(r"The head that does it most in the end, (L\dH\d)", said)[1]
    assert feeder in named[1]
    assert late in named[2]
    assert dropped in named[3]


def test_a_model_that_learns_nothing_is_not_said_to(written):
    said = prose(written("learns nothing")[0])
    assert "no head learns to find what came next last time" in said
    assert "steps is 2.0\u00a0%" in said
    assert "an induction score of half or more" not in said
    assert "An induction head must find" not in said


def test_without_a_recipe_nothing_is_said_of_drills(written):
    said = prose(written("no recipe")[0])
    assert "drill" not in said
    assert "not a natural one" not in said


def test_models_are_shown_by_the_habit_that_all_of_them_have_most(written, monkeypatch):
    made = hand_sweep.repetition
    shown = r"One habit, several models\. As it opens \(looks at: ([^)]*)\)"
    text, _ = written()
    assert re.search(shown, plain(text))[1] == "what came next last time"
    monkeypatch.setattr(
        hand_sweep,
        "repetition",
        # the one with two heads a layer has not learnt it
        lambda at, heads, learns=True: made(at, heads, learns and heads > 2),
    )
    text, _ = written()
    assert "no head finds what came next last time" in prose(text)
    assert re.search(shown, plain(text))[1] == "the token before"
    assert "It opens on heads that look at the token before: in every model" in prose(text)


def test_which_of_the_compared_models_were_drilled_is_told(written, monkeypatch):
    said = prose(written()[0])
    assert "finished was given drills in which tokens are repeated, as above." in said
    monkeypatch.setattr(
        hand_sweep, "OTHERS", {"finished": (4, 2000, True), "other": (2, 700, True)}
    )
    assert "All were given drills" in prose(written()[0])
    assert "were given drills" not in prose(written("no recipe")[0])


def test_models_whose_heads_did_not_begin_at_random_are_told(written, monkeypatch):
    assert "began at random" not in prose(written()[0])
    begun = hand_sweep.Kind(recipe=hand_sweep.RECIPE | {"architecture": "qwen2"})
    monkeypatch.setitem(hand_sweep.KINDS, "whole", begun)
    said = prose(written()[0])
    assert "not all heads of finished began at random: the first ones of a layer began" in said


def test_models_alone_are_compared(written):
    text, _ = written("models only")
    said = prose(text)
    assert "Does it learn to repeat" not in said
    assert "checkpoints were kept" not in said
    assert "Of 2 models" in said


def test_versions_of_many_models_are_one_table(written):
    text, _ = written()
    assert text.count('??? info "Models, versions') == 1
    assert "runs&#64;step&#45;400" in text
