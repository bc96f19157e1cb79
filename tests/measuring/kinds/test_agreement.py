"""A table of heads beside an atlas: what agrees, what differs, and what is refused."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from report.datasets.formats import columnar
from report.errors import ReportError
from report.figures.parts.heads import HeadFindings
from report.kinds.atlas.agreement import agreement, page
from report.kinds.atlas.release import release, table
from tests.cli.saying import assert_matches
from tests.commands import report
from tests.figures import hand_atlas


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return hand_atlas.study(tmp_path_factory.mktemp("made") / "datasets" / "heads")


@pytest.fixture
def written(tmp_path, data):
    """A function that writes a file: of the atlas itself, or of other rows."""

    def written(name="heads.csv", rows=None):
        path = tmp_path / name
        contents = {Path(file).suffix: content for file, content in release(data)}
        content = contents[path.suffix] if rows is None else rows
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    return written


def headvis(change=lambda row: row):
    rows = []
    for layer, head in np.ndindex(hand_atlas.LAYERS, hand_atlas.HEADS):
        place = layer * hand_atlas.HEADS + head
        row = {"layer": layer, "head": head, "self_attention_score": 0.1 * place}
        rows.append(change(row | {"induction_score": None}))
    return [row for row in rows if row]


@pytest.mark.parametrize("name", ["heads.csv", "heads.json"])
def test_a_table_of_the_same_atlas_agrees_in_all(data, written, name):
    for each in agreement(written(name), data):
        known = np.isfinite(data.of_heads(each.words.name, each.words.name, "corpus")).sum()
        assert each.heads == known == len(each.differences)
        assert (each.pearson, each.rank) == (pytest.approx(1), pytest.approx(1))
        assert (each.difference, each.most, each.differs) == (0, "none", "")


def test_correlations_and_differences_are_those_of_a_plain_way(data, written):
    ours = HeadFindings(data).values("entropy").ravel()
    theirs = np.random.default_rng(0).random(len(ours)).round(3)
    rows = [
        {"layer": n // 4, "head": n % 4, "entropy": value}
        for n, value in enumerate(theirs.tolist())
    ]
    [found] = agreement(written("a.json", rows), data)
    assert found.pearson == pytest.approx(np.corrcoef(ours, theirs)[0, 1])
    places = [[sorted(one).index(value) for value in one] for one in (ours, theirs)]
    assert found.rank == pytest.approx(np.corrcoef(places)[0, 1])
    assert found.difference == pytest.approx(np.abs(ours - theirs).mean())
    away = [
        abs(ours[each.head.layer * 4 + each.head.head] - each.theirs) for each in found.differences
    ]
    assert away == sorted(np.abs(ours - theirs), reverse=True)
    assert found.most.count("; ") == 9
    assert found.most.startswith(found.differences[0].head.label)


def test_headvis_is_read_and_says_what_it_defines_otherwise(data, written):
    itself, repeats = agreement(written("scatter_data.json", headvis()), data)[::-1]
    assert (repeats.words.name, itself.words.name) == ("prefix_matching", "to_itself")
    assert "first token" in itself.differs
    assert itself.heads == 12
    assert repeats.heads == 0
    assert math.isnan(repeats.pearson)
    assert "not known" in repeats.sentence


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (headvis(lambda row: row | {"layer": row["layer"] + 3}), "6 layers of 4 heads.*3 of 4"),
        (headvis(lambda row: row if row["head"] else None), r"lacks layer 0, head 0"),
        ([*headvis(), headvis()[5]], "two rows of layer 1, head 1"),
        (headvis(lambda row: row | {"layer": -1}), "'-1' where 'layer' should be an index"),
        (headvis(lambda row: row | {"head": True}), "'true' where 'head' should be an index"),
        (headvis(lambda row: row | {"head": "1"}), "'1' where 'head' should be an index"),
        (headvis(lambda row: row | {"self_attention_score": "<b>"}), "'<b>' where 'self_att"),
        (headvis(lambda row: {"layer": row["layer"], "head": row["head"], "a": 1}), "no measure"),
        ([{"a": 1}], "has no column 'layer'"),
        ({"schema": "table/1", "tables": {}}, "no table/1 of heads that is whole"),
        ([], "has no rows"),
        ("{", "is not a JSON file of rows"),
        ("", "is empty"),
    ],
)
def test_what_is_no_table_of_these_heads_is_refused(data, written, rows, reason):
    path = written("a.json", rows)
    with pytest.raises(ReportError) as error:
        agreement(path, data)
    assert_matches(f"{path}.*{reason}", str(error.value))


def test_a_file_that_is_not_there_or_of_another_sort_is_refused(data, tmp_path):
    with pytest.raises(ReportError, match="no table of heads by its ending"):
        agreement(tmp_path / "heads.txt", data)
    with pytest.raises(ReportError, match=r"gone\.csv"):
        agreement(tmp_path / "gone.csv", data)


def test_names_from_outside_are_text_in_the_page(data, written):
    path = written("<img src=x onerror=alert(1)>.json", headvis())
    shown = page(agreement(path, data), data, path)
    assert "<img" not in shown
    assert "&lt;img src=x onerror=alert(1)&gt;.json" in shown
    assert "<script" not in shown
    assert "L2H3" in shown


def test_the_command_compares_with_the_atlas_of_a_publication(written, data, tmp_path, monkeypatch):
    monkeypatch.setattr("report.pipeline.atlas_of", lambda *_: data)
    (tmp_path / "templates" / "articles").mkdir(parents=True)
    (tmp_path / "mkdocs.yml").write_text("site_name: Small\n")
    said = report("compare", written(), "--output", tmp_path / "a.html", "--project", tmp_path)
    assert said.returncode == 0
    assert "Entropy: Pearson 1.0, rank 1.0, mean difference 0.00, 12 heads" in said.stdout
    assert "<svg" in (tmp_path / "a.html").read_text("utf-8")
    refused = report("compare", written(), "--output", tmp_path / "a.pdf", "--project", tmp_path)
    assert (refused.returncode, "ends in .html" in refused.stderr) == (2, True)


def test_without_an_atlas_the_command_says_so(written, tmp_path):
    (tmp_path / "templates" / "articles").mkdir(parents=True)
    (tmp_path / "mkdocs.yml").write_text("site_name: Small\n")
    said = report("compare", written(), "--project", tmp_path)
    assert said.returncode == 1
    assert "no article" in said.stderr or "no measured atlas" in said.stderr


def test_the_columns_that_are_compared_are_those_of_the_release(data):
    assert {*data.words} < {*table(data)}
    assert columnar.decode(dict(release(data))["0123456789ab.json"])
