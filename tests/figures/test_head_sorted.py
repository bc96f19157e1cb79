import itertools

import pytest

from report.figures import attending_to_first_token, attending_to_itself, attention_concentration

MEASURES = {
    "itself": attending_to_itself,
    "first_token": attending_to_first_token,
    "concentration": attention_concentration,
}
every_measure = pytest.mark.parametrize(("measure", "figure"), MEASURES.items())


@every_measure
@pytest.mark.parametrize("source", ["passage", "corpus"])
def test_lines_never_cross(data, measure, figure, source):
    rows = [row for row in figure.rows(data)["heads"] if row["source"] == source]
    for layer in range(data.layers):
        here = sorted((r for r in rows if r["layer"] == layer), key=lambda r: r[f"rank_{measure}"])
        assert [row[f"rank_{measure}"] for row in here] == list(range(data.heads))
        assert all(low[measure] <= high[measure] for low, high in itertools.pairwise(here))


@every_measure
def test_every_point_names_a_head_of_its_own(data, measure, figure):
    rows = figure.rows(data)["heads"]
    heads = {(row["source"], row["layer"], row["head"]) for row in rows}
    assert len(heads) == len(rows) == 2 * data.layers * data.heads


@every_measure
def test_lines_join_ranks_and_not_heads(data, measure, figure):
    lines, _, points, *_ = figure.chart(data).to_dict()["layer"]
    assert lines["encoding"]["detail"]["field"] == f"rank_{measure}"
    titles = {each["title"]: each["field"] for each in points["encoding"]["tooltip"]}
    assert titles["real head"] == "named"
    assert titles["value"] == measure


def test_alt_text_names_the_largest_head(data):
    table = data.head_statistics
    best = max(
        (row for row in attending_to_itself.rows(data)["heads"] if row["source"] == "corpus"),
        key=lambda row: row["itself"],
    )
    assert len(table["head"]) == 2 * data.layers * data.heads
    text = attending_to_itself.alt(data, source="corpus")
    assert f"{best['itself']:.1%}, head {best['head']} of layer {best['layer']}" in text
