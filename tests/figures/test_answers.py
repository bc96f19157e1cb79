"""The figures of answers: what they draw is what was measured, in words too."""

import numpy as np
import pytest

from report.figures import answers_by_attention as by_attention
from report.figures.build.find import figure_named
from report.figures.parts import answered, choices
from report.text import number
from tests import made_answers


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return made_answers.model(tmp_path_factory.mktemp("answers") / "a")


def states(data):
    return [
        {"measure": measure, "kind": kind}
        for measure in answered.MEASURES
        for kind in answered.kinds(data)
    ]


def test_points_are_differences_and_bars_their_intervals(data):
    for panel, name in enumerate(data.conditions):
        rows = figure_named("answers_by_length").rows(data, panel=panel)["rows"]
        assert len(rows) == len(states(data)) * (1 + len(data.lengths))
        for row in rows:
            kind = answered.kinds(data)[row["kind"]]
            if row["tokens"] == 0:
                assert row["difference"] == row["low"] == row["high"] == 0
                continue
            scale = answered.SCALES[row["measure"]]
            found = data.difference(row["measure"], name, row["tokens"], kind)
            ends = [scale * each for each in (found.value, found.low, found.high)]
            assert [row["difference"], row["low"], row["high"]] == pytest.approx(ends, rel=1e-5)
            assert number(ends[0]).lstrip("−") in row["said"]


def test_all_panels_have_one_scale(data):
    for state in states(data):
        ends = {
            (row["floor"], row["ceiling"])
            for panel in range(len(data.conditions))
            for row in figure_named("answers_by_length").rows(data, panel=panel)["rows"]
            if {"measure": row["measure"], "kind": row["kind"]} == state
        }
        assert len(ends) == 1
        low, high = ends.pop()
        assert low <= 0 <= high


def test_the_sentence_counts_what_is_clear(data):
    said = figure_named("answers_by_length").seen(data)
    assert "Of 4 comparisons, 2 lie clearly above 0 and 2 clearly below." in said
    assert "55 tokens of “Meaningless <b>tokens</b>”" in said
    right = figure_named("answers_by_length").seen(data, measure="right")
    assert "% right" in right
    assert "percentage points" in right


def test_groups_are_parts_of_all_questions_in_order(data):
    rows = by_attention.rows(data)
    shares = [row["share"] for row in rows["rows"]]
    groups = rows["groups"]
    assert sum(group["questions"] for group in groups) == len(shares) == len(data.texts)
    start, ordered = 0, np.argsort(shares)
    differences = np.array([row["difference"] for row in rows["rows"]])
    for group in groups:
        some = ordered[start : start + group["questions"]]
        start += group["questions"]
        assert group["difference"] == pytest.approx(differences[some].mean())
        assert group["low"] <= group["difference"] <= group["high"]
    assert [g["share"] for g in groups] == sorted(g["share"] for g in groups)


def test_the_sentence_about_attention_says_which_way(tmp_path, data):
    assert "tend to lie higher" in by_attention.seen(data)
    against = made_answers.model(tmp_path / "b", gain=-0.5)
    assert "tend to lie lower" in by_attention.seen(against)
    same = made_answers.model(tmp_path / "c", gain=0)
    assert "do not tell" in by_attention.seen(same)


def test_without_shares_the_second_figure_is_left_out(tmp_path):
    figure = figure_named("answers_by_attention")
    unknown = made_answers.model(tmp_path / "b", attended=False)
    assert figure.left_out(unknown) == "What the answers give to what is added was not measured."


@pytest.mark.parametrize("name", ["answers_by_length", "answers_by_attention"])
def test_every_state_is_drawn_and_told(name, data):
    figure = figure_named(name)
    assert figure.left_out(data) == ""
    every = states(data) if figure.controls(data) else [{}]
    for state in every:
        assert choices.values(figure.controls(data), state) == state
        assert figure.seen(data, **state)
        panels = range(len(figure.panels(data))) if figure.panels else [None]
        for panel in panels:
            where = {} if panel is None else {"panel": panel}
            spec = figure.chart(data, **where, **state).to_dict()
            assert spec["usermeta"]["report"]["data"]["url"] == answered.ROWS
            assert "interval" in figure.alt(data, **where, **state) or name.endswith("attention")
