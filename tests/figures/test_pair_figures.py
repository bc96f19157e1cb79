"""Figures of a pair of prompts: what they draw is what was measured."""

from itertools import pairwise

import pytest

from report.figures import patched_heads, paths
from report.figures.build.find import figure_named
from report.figures.parts.heads import head_label
from report.kinds.pair.findings import Findings
from tests.figures import hand_pair


def test_cells_are_the_shares_of_the_dataset(pair):
    heads = patched_heads.shown_heads(pair)
    assert heads[0] == max(heads, key=lambda head: abs(pair.of_heads("restored")[head]))
    rows = figure_named("patched_heads").rows(pair)["rows"]
    assert len(rows) == len(heads) * len(pair.changed)
    for row in rows:
        place = row["layer"], row["head"], row["column"] - pair.start
        for way, verb in (("restored", "comes back"), ("lost", "is lost")):
            assert row[way] == pair.at_tokens(way)[place]
            assert row[f"told_{way}"].startswith(f"{row['name']} at “")
            assert row[f"told_{way}"].endswith(verb)
    assert max(row["size_lost"] for row in rows) == 1
    for row in figure_named("patched_heads").rows(pair, panel=1)["rows"]:
        assert (
            row["value"]
            == pair.of_heads(list(patched_heads.WHOLE)[row["column"]])[row["layer"], row["head"]]
        )


def test_the_token_that_differs_has_both_texts(pair):
    spec = figure_named("patched_heads").chart(pair).to_dict()
    axis = next(
        layer["encoding"]["x"]["axis"]["labelExpr"]
        for layer in spec["layer"]
        if "encoding" in layer
    )
    assert f'"{pair.start}": "hill / road' in axis
    assert f'"{pair.start + 1}": "was\\u200e' in axis


@pytest.mark.parametrize("sent", paths.FROM)
def test_lines_are_the_largest_paths_above_random_ones(pair, sent):
    find = Findings(pair)
    rows = [row for row in figure_named("paths").rows(pair)["edges"] if row["sent"] == sent]
    sizes = [abs(row["value"]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) > find.floor
    above = [
        edge
        for edge in pair.edges
        if abs(edge.value) > find.floor and (sent == "all" or edge.sender.kind == "head")
    ]
    assert len(rows) == min(len(above), paths.MOST)
    measured = {(e.sender.label, head_label(*e.receiver), e.by): e.value for e in above}
    assert all(measured[row["from"], row["into"], row["by"]] == row["value"] for row in rows)


@pytest.mark.parametrize("sent", paths.FROM)
def test_lines_lead_upwards_between_nodes_that_keep_apart(pair, sent):
    rows = figure_named("paths").rows(pair)
    nodes = [row for row in rows["nodes"] if row["sent"] == sent]
    assert all(edge["y2"] > edge["y"] for edge in rows["edges"])
    order = sorted(nodes, key=lambda node: node["y"])
    assert [node["layer"] for node in order] == sorted(node["layer"] for node in nodes)
    for node in nodes:
        beside = [other for other in nodes if other["y"] == node["y"] and other is not node]
        assert all(abs(other["x"] - node["x"]) > 0.08 for other in beside)


def test_the_chain_that_is_said_is_one_of_lines(pair):
    seen = figure_named("paths").seen(pair, sent="all")
    rows = [row for row in figure_named("paths").rows(pair)["edges"] if row["sent"] == "all"]
    largest = rows[0]
    assert f" leads from {largest['from']} to {largest['into']}." in seen
    *_, chain = seen.strip(".").split(" leads from ")
    steps = [*pairwise(chain.split(" to "))]
    assert steps
    assert {*steps} <= {(row["from"], row["into"]) for row in rows}


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    return hand_pair.study(tmp_path_factory.mktemp("set"), hand_pair.SET)


def test_where_one_points_the_spread_over_pairs_is_read(several):
    for figure, panel in (("patched_heads", 0), ("patched_heads", 1), ("paths", 0)):
        made = figure_named(figure).rows(several, **({"panel": panel} if panel else {}))
        for name in ("told", "told_lost"):
            told = [row[name] for row in made.get("rows", made.get("edges")) if name in row]
            assert all(" ± " in each for each in told)
        assert "means over 2 pairs" in figure_named(figure).caption(several)
    first = figure_named("patched_heads").rows(several)["rows"][0]
    place = first["layer"], first["head"], first["column"] - several.start
    assert first["restored_error"] == several.errors_at_tokens("restored")[place]
    spec = figure_named("patched_heads").chart(several).to_dict()
    axis = next(
        layer["encoding"]["x"]["axis"]["labelExpr"]
        for layer in spec["layer"]
        if "encoding" in layer
    )
    assert f'"{several.start}": "{{here}} / {{there}}' in axis


def test_a_single_pair_has_no_spread(pair):
    rows = figure_named("patched_heads").rows(pair)["rows"]
    assert not any("±" in row["told_lost"] or "lost_error" in row for row in rows)
    assert "means over" not in figure_named("patched_heads").caption(pair)
