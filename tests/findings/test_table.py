"""Every number that an article about a table may quote, against plain loops; and hostile cells."""

import html
import re

import numpy as np
import pytest

from report.datasets import store
from report.datasets.formats.token_classes import CLASSES
from report.figures.parts.heads import Head
from report.kinds.table.findings import TableFindings
from report.study.study import read_study
from tests import rendered
from tests.commands import ROOT
from tests.figures import hand_table
from tests.rendered import plain

TEMPLATE = ROOT / "templates" / "articles" / "reading-a-table.md.j2"


@pytest.fixture
def data(tmp_path):
    return hand_table.study(tmp_path / "a", "content")


@pytest.fixture
def page(data, tmp_path, monkeypatch):
    """A function that gives the article about the data, as it is by then."""
    rendered.words_only(monkeypatch)
    return lambda: rendered.text_of(read_study(TEMPLATE), data, tmp_path)


def test_hostile_cells_stay_text(page, data):
    text = page()
    for token in data.first.tokens:
        if token.role == "value" and "<" in token.text:
            assert f">{html.escape(token.label, quote=False)}" in text
    assert "<b>a</b>" not in text
    assert "</script>" not in text
    assert "{{x}}" not in plain(text).split("| Head |")[0].replace("{{x}}|", "")
    for line in re.findall(r'<div class="passage passage--table".*?</div>', text, re.DOTALL):
        assert "\n" not in line  # a blank line would end the raw HTML


def test_repetition_is_what_a_plain_loop_finds(data):
    find, ids = TableFindings(data), [token.id for token in data.tokens]
    names = list(CLASSES)
    names_of_kinds = ("copies", "followers", "either")
    expected, even = (dict.fromkeys(names_of_kinds, 0.0) for _ in range(2))
    column, given = (dict.fromkeys((*names_of_kinds, "whole"), 0.0) for _ in range(2))
    probability = data.attention(1, 2).probability
    for i in data.current:
        for j in range(i + 1):
            kinds = {
                "copies": j < i and ids[j] == ids[i],
                "followers": j > 0 and ids[j - 1] == ids[i],
            }
            kinds["either"] = kinds["copies"] or kinds["followers"]
            above = names[data.classes[i, j]] == "same_column"
            column["whole"] += above / (i + 1)
            given["whole"] += above * probability[i, j]
            for name, is_one in kinds.items():
                expected[name] += probability[i, j] * is_one / len(data.current)
                even[name] += is_one / (i + 1) / len(data.current)
                column[name] += (is_one and above) / (i + 1)
                given[name] += (is_one and above) * probability[i, j]
    share = given["whole"] / len(data.current)
    habit, part, repeated, chance = find._habit(Head(1, 2, share))
    assert given[habit] == max(given["copies"], given["followers"])
    assert part == pytest.approx(given[habit] / given["whole"])
    assert repeated == pytest.approx(given["either"] / given["whole"])
    assert chance == pytest.approx(column["either"] / column["whole"])
    for name in names_of_kinds:
        assert find.repetition[name][1, 2] == pytest.approx(expected[name])
        assert find.even_repetition[name] == pytest.approx(even[name])
        assert find.even_part(name) == pytest.approx(column[name] / column["whole"])
        assert (find.repetition[f"same_column_{name}"] <= find.repetition[name] + 1e-12).all()
    assert max(expected.values()) > 0


def test_columns_of_a_head_add_up_to_its_class(data):
    find = TableFindings(data)
    head = find.strongest("same_column")
    columns = find.columns(head)
    weights = [
        sum(data.first.tokens[i].column == number for i in data.current)
        for number in range(len(columns))
    ]
    mean = np.average([each.share for each in columns], weights=weights)
    assert mean == pytest.approx(head.value, abs=1e-3)
    even = np.average([each.even for each in columns], weights=weights)
    assert even == pytest.approx(find.even("same_column"), abs=1e-4)


def test_heads_that_prefer_a_class_are_those_beyond_one_and_a_half_times(data):
    find = TableFindings(data)
    for name in data.renderings:
        values, even = data.shares("same_column", name), find.even("same_column", name)
        np.testing.assert_array_equal(find.prefers("same_column", name), values >= 1.5 * even)
    everywhere = {(head.layer, head.head) for head in find.readers()}
    each = [
        set(zip(*find.prefers("same_column", n).nonzero(), strict=True)) for n in data.renderings
    ]
    assert everywhere == {(int(a), int(b)) for a, b in set.intersection(*each)}
    values = [head.value for head in find.readers()]
    assert values == sorted(values, reverse=True)


def test_numbers_of_classes_are_those_of_the_files(data):
    find = TableFindings(data)
    values = store.read(data.path / "class_shares.json")["tables"]["heads"]["columns"]
    here = [
        (p * values["probability"]["step"], e * values["even"]["step"])
        for p, e, target, rendering in zip(
            *(values[n]["values"] for n in ("probability", "even", "target", "rendering")),
            strict=True,
        )
        if (target, rendering) == ("delimiter", "csv")
    ]
    given_mean, even_mean = np.mean(here, 0)
    assert find.mean("delimiter") == pytest.approx(given_mean)
    assert find.even("delimiter") == pytest.approx(even_mean)
    assert find.times("delimiter") == pytest.approx(given_mean / even_mean)
    assert find.all_times("delimiter")[0] == find.times("delimiter")
    assert len(find.all_times("delimiter")) == len(data.renderings)
    assert find.strongest("delimiter").value == pytest.approx(max(p for p, _ in here))
