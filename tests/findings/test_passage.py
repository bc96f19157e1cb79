"""Every number that an article may quote, against plain loops over the files."""

import functools
import itertools
import json
import statistics

import numpy as np
import pytest

from report.datasets.formats.attention import PLACED
from report.errors import ReportError
from report.figures.parts.heads import Head, head_label
from report.kinds.passage.findings import FEWEST_POINTS, Findings, Repeats
from report.pages.article import figure_for
from tests.figures import hand_made

LAYERS, HEADS, LENGTH = hand_made.LAYERS, hand_made.HEADS, hand_made.LENGTH
EVERY_HEAD = list(itertools.product(range(LAYERS), range(HEADS)))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A function from a kind of model to a hand-made study of it."""
    return functools.cache(lambda kind: hand_made.study(tmp_path_factory.mktemp("study"), kind))


@pytest.fixture(scope="module")
def data(study):
    return study("alibi_bias")


@pytest.fixture(scope="module")
def find(data):
    return Findings(data)


@pytest.fixture(scope="module")
def heads(data):
    """The rows of the table of heads as the file has them: dict of (source, layer, head)."""
    columns = {}
    for file in (data.path / "heads").glob("*.json"):
        columns |= json.loads(file.read_text())["tables"]["heads"]["columns"]
    rows = {}
    for n, source in enumerate(columns["source"]["values"]):
        at = source, columns["layer"]["values"][n], columns["head"]["values"][n]
        rows[at] = {
            name: column["values"][n] * column.get("step", 1)
            for name, column in columns.items()
            if name != "source"
        }
    return rows


@pytest.fixture(scope="module")
def points(data):
    """All points of figures 7 to 10 as the files have them: list of dicts, with their layer."""
    found = []
    for layer in range(LAYERS):
        table = json.loads((data.path / "updates" / f"{layer}.json").read_text())["tables"]
        columns = table["points"]["columns"]
        for n in range(table["points"]["rows"]):
            row = {name: c["values"][n] * c.get("step", 1) for name, c in columns.items()}
            found.append(row | {"layer": layer})
    assert len(found) == LAYERS * HEADS * LENGTH
    return found


def per_head(points, measure, value):
    """dict of (layer, head) to `measure` of the list of `value`(point), token by token."""
    return {
        (layer, head): measure(
            [value(p) for p in points if (p["layer"], p["head"]) == (layer, head)]
        )
        for layer, head in EVERY_HEAD
    }


@pytest.mark.parametrize("measure", ["itself", "first_token", "concentration"])
@pytest.mark.parametrize("source", ["passage", "corpus"])
def test_measures_of_heads(find, heads, measure, source):
    expected = {(la, he): heads[source, la, he][measure] for la, he in EVERY_HEAD}
    found = find.values(measure, source)
    assert found.shape == (LAYERS, HEADS)
    assert {at: found[at] for at in EVERY_HEAD} == pytest.approx(expected, abs=1e-4)
    best = max(expected, key=expected.get)
    strongest = find.strongest(measure, source)
    assert (strongest.layer, strongest.head) == best
    assert strongest.value == pytest.approx(expected[best])
    assert strongest.label == f"L{best[0]}H{best[1]}" == head_label(*best)
    assert strongest.state == {"layer": best[0], "head": best[1]}
    assert find.count(measure, 0.5, source) == sum(value >= 0.5 for value in expected.values())
    means = [statistics.mean(expected[la, he] for he in range(HEADS)) for la in range(LAYERS)]
    assert find.layer_means(measure, source) == pytest.approx(means)


def test_corpus_is_what_is_meant_where_nothing_is_said(find):
    assert (find.values("itself") == find.values("itself", "corpus")).all()
    assert (find.values("itself") != find.values("itself", "passage")).any()


def test_unknown_measures_are_refused(find):
    with pytest.raises(
        ReportError, match=r"unknown measure 'x'; measured are: concentration, .*previous_token"
    ):
        find.values("x")


def test_previous_token(find, points):
    def share(values):
        return sum(values[1:]) / (LENGTH - 1)

    expected = per_head(points, share, lambda p: p["largest_target"] == p["token"] - 1)
    found = find.values("previous_token", "passage")
    assert {at: found[at] for at in EVERY_HEAD} == pytest.approx(expected, abs=1e-4)
    assert sum(expected.values()) > 0
    assert "next_token" not in find.data.measures
    assert find.neighbour == "previous_token"


def test_neighbours_on_both_sides_in_an_encoder(study):
    data = study("encoder")
    find = Findings(data)
    for name, step in (("previous_token", -1), ("next_token", 1)):
        shares = {}
        for at in EVERY_HEAD:
            target = data.attention(*at).largest_targets[:, 0].tolist()
            hits = [target[i] == i + step for i in range(1, LENGTH) if i + step < LENGTH]
            shares[at] = sum(hits) / len(hits)
        found = find.values(name, "passage")
        assert {at: found[at] for at in EVERY_HEAD} == pytest.approx(shares, abs=1e-4)
        assert sum(shares.values()) > 0


def test_the_least_one_sided_head_has_no_kind_of_target_that_leads_by_much(data, monkeypatch):
    values = {
        "itself": [[0.1, 0.4], [0.3, 0.0]],
        "first_token": [[0.9, 0.3], [0.3, 0.6]],
        "previous_token": [[0.0, 0.2], [0.35, 0.1]],
        "next_token": [[0.0, 0.0], [0.0, 0.0]],
    }
    monkeypatch.setattr(Findings, "values", lambda _, kind, source: np.array(values[kind]))
    found = Findings(data).least_one_sided
    assert found.label == "L1H0"
    assert found.value == pytest.approx(0.65)


@pytest.mark.parametrize("kind", ["alibi_bias", "encoder", "sink"])
def test_mean_probabilities(study, kind):
    data = study(kind)
    found = Findings(data).mean_probability
    for layer, head in EVERY_HEAD:
        rows = data.attention(layer, head).probability.tolist()
        first = statistics.mean(row[0] for row in rows[1:])
        last = statistics.mean(row[-1] for row in rows[:-1])
        assert found["first_token"][layer, head] == pytest.approx(first)
        assert found["last_token"][layer, head] == pytest.approx(last)
        assert (last > 0) == (kind == "encoder")
        nothing = 1 - statistics.mean(map(sum, rows))
        assert found["sink"][layer, head] == pytest.approx(nothing, abs=1e-3)
        assert (found["sink"][layer, head] > 0.1) == (kind == "sink")


@pytest.mark.parametrize("kind", ["alibi_bias", "encoder", "window"])
def test_what_even_attention_would_give(study, kind):
    data = study(kind)
    found = Findings(data).even_attention
    for layer, head in EVERY_HEAD:
        visible = data.visible(layer, head)
        rows = [
            [(first <= j <= last) / (last - first + 1) for j in range(LENGTH)]
            for first, last in zip(visible.first.tolist(), visible.last.tolist(), strict=True)
        ]
        expected = {
            "first_token": [row[0] for row in rows[1:]],
            "last_token": [row[-1] for row in rows[:-1]],
            "previous_token": [rows[i][i - 1] for i in range(1, LENGTH)],
            "next_token": [rows[i][i + 1] for i in range(LENGTH - 1)],
        }
        for name, values in expected.items():
            assert found[name][layer, head] == pytest.approx(statistics.mean(values))


@pytest.mark.parametrize(
    ("even", "value", "habit"), [(0.05, 0.5, True), (0.05, 0.49, False), (0.29, 1.0, False)]
)
def test_a_habit_is_more_than_chance(data, monkeypatch, even, value, habit):
    find = Findings(data)
    monkeypatch.setitem(find.even_attention, "previous_token", np.full((LAYERS, HEADS), even))
    assert find.is_habit(Head(0, 1, value), "previous_token") is habit


@pytest.mark.parametrize("kind", hand_made.KINDS)
def test_spreads_of_terms_and_what_they_lead(study, kind):
    data = study(kind)
    find = Findings(data)
    spreads = {}
    for layer, head in EVERY_HEAD:
        attention = data.attention(layer, head)
        first, last = attention.visible.first, attention.visible.last
        named = {name: term.matrix() for name, term in attention.terms.items()}
        if "mixed" in data.terms and "mixed" not in named:
            named["mixed"] = sum(named.pop(name) for name in PLACED)
        for name in ("content", "mixed", "bias", "position"):
            if name not in named:
                continue
            matrix = named[name]
            rows = [matrix[i][first[i] : last[i] + 1].tolist() for i in range(LENGTH)]
            values = [statistics.pstdev(row) for row in rows if len(row) > 1]
            spreads[name, layer, head] = statistics.mean(values)
    names = list(find.term_spreads)
    assert names == list(dict.fromkeys(name for name, *_ in spreads))
    for name, layer, head in spreads:
        assert find.term_spreads[name][layer, head] == pytest.approx(spreads[name, layer, head])
    assert find.leading_term("no such term") == 0
    if not names:
        return
    leading = [max(names, key=lambda name, at=at: spreads[name, *at]) for at in EVERY_HEAD]
    assert {name: find.leading_term(name) for name in names} == {
        name: leading.count(name) for name in names
    }


def test_magnitudes(find, points):
    for layer in range(LAYERS):
        values = [point["magnitude"] for point in points if point["layer"] == layer]
        assert find.median_magnitude(layer) == pytest.approx(statistics.median(values))


def test_alignments(find, points):
    values = [point["alignment"] for point in points]
    assert find.opposing() == pytest.approx(sum(v < 0 for v in values) / len(values))
    here = [point["alignment"] for point in points if point["layer"] == 1]
    assert find.opposing(1) == pytest.approx(sum(v < 0 for v in here) / len(here))


def test_updates_of_a_head_are_compared_with_its_own(data, monkeypatch):
    """Head 0 writes little and looks at the first token, head 1 writes much and hardly does; each
    writes longer updates when it looks there."""
    few, many = FEWEST_POINTS, 4 * FEWEST_POINTS
    head = np.repeat([0, 0, 1, 1, 2], [many, few, few, many, few])
    target = np.repeat([0, 5, 0, 5, 0], [many, few, few, many, few])
    magnitude = np.repeat([0.2, 0.1, 2.0, 1.0, 0.2], [many, few, few, many, few])
    points = {
        "head": np.append(head, 0),
        "token": np.append(np.ones(len(head), int), 0),
        "largest_target": np.append(target, 5),
        "magnitude": np.append(magnitude, 9.0),  # of token 0, which is left out
    }
    nothing = {name: column[:0] for name, column in points.items()}
    monkeypatch.setattr(
        data, "updates", lambda layer: {"points": nothing if layer else points}, raising=False
    )
    fresh = Findings(data)
    found = {each.label: each.ratio for each in fresh.first_token_updates_of_heads}
    assert found == {"L0H0": pytest.approx(2), "L0H1": pytest.approx(2)}  # head 2: one kind only
    together = fresh.first_token_updates(0)  # most that look there are short ones of head 0
    assert (together.first_token, together.other) == (0.2, 1.0)
    assert fresh.first_token_updates(1) is None


def test_sizes_of_orientations(find, points):
    sizes = [abs(point["alignment"]) for point in points]
    assert find.size_of_orientation() == pytest.approx(statistics.mean(sizes))
    here = [abs(point["alignment"]) for point in points if point["layer"] == 1]
    assert find.size_of_orientation(1) == pytest.approx(statistics.mean(here))


@pytest.mark.parametrize("target", [0, 1])
def test_a_kind_of_target_that_does_not_occur_is_not_compared(data, monkeypatch, target):
    columns = {
        "token": np.arange(40),
        "head": np.zeros(40, int),
        "largest_target": np.full(40, target),
        "magnitude": np.ones(40),
    }
    fresh = Findings(data)
    monkeypatch.setattr(data, "updates", lambda layer: {"points": columns}, raising=False)
    assert fresh.first_token_updates_of_heads == []


def test_titles_and_captions_of_two_models_tell_them_apart_and_share_what_is_alike(tmp_path):
    same, data = (
        hand_made.several(tmp_path / kind, (kind, "alibi_bias"), ("rotary 0", "alibi_bias 1"))
        for kind in ("alibi_bias", "rotary")
    )
    figure = figure_for("bias_vs_position", data)
    assert figure.title(same) == "Bias vs ALiBi"
    titles = ["Content vs rotary position (rotary 0)", "Bias vs ALiBi (alibi_bias 1)"]
    assert figure.title(data) == "; ".join(titles)
    shared = "A point is a current token and one of its top targets. "
    caption = figure_for("attention_breakdown", data).caption(data)
    assert caption.startswith(shared)
    assert caption.count(shared) == 1
    for name in ("rotary 0", "alibi_bias 1"):
        assert f"Of {name}: Its place says" in caption
    apart = figure.caption(data)
    assert apart.startswith("A line is what one term adds to a target’s score. ")
    assert "Of rotary 0: It is shown at each distance" in apart


def test_a_head_that_is_followed_by_plain_loops(data, find):
    """In a text without repetitions nothing is found; in one of two tokens in turns all may be."""
    for layer, head in EVERY_HEAD:
        one, attention = find.head(layer, head), data.attention(layer, head)
        assert (one.label, one.state) == (head_label(layer, head), {"layer": layer, "head": head})
        assert one.gives(5, 2) == attention.probability[5, 2]
        assert one.top(5) == attention.largest_targets[5, 0]
        points = data.updates(layer)["points"]
        rows = zip(points["token"], points["head"], points["magnitude"], strict=True)
        assert [one.magnitude(5)] == [
            m for token, number, m in rows if (token, number) == (5, head)
        ]
        for ids in ([token.id for token in data.tokens], list(range(LENGTH)), [7, 8] * LENGTH):
            one.ids = ids[:LENGTH]
            one.__dict__.pop("repeats", None)
            assert one.repeats == repeats_of(one.ids, one.top), (layer, head)


def test_heads_that_look_somewhere_are_counted_one_by_one(data, find):
    for current, target in ((5, 0), (5, 5), (3, 2)):
        tops = [data.attention(*at).largest_targets[current, 0] for at in EVERY_HEAD]
        assert find.looking(current, target) == tops.count(target)


def repeats_of(ids, top):
    places = found = others = at_first = still_first = 0
    chance = 0.0
    for n in range(len(ids)):
        after = [k + 1 for k in range(1, n) if n and ids[k - 1 : k + 1] == ids[n - 1 : n + 1]]
        if after:
            places += 1
            found += top(n) in after
            still_first += top(n) == 0
            chance += len(after) / (n + 1)
        elif n:
            others += 1
            at_first += top(n) == 0
    return Repeats(places, found, pytest.approx(chance), others, at_first, still_first)


def test_heads_and_tokens_that_are_not_there_are_refused(find, data):
    for layer, head in ((LAYERS, 0), (0, HEADS), (-1, 0)):
        with pytest.raises(ReportError, match=f"no head {head} in layer {layer}"):
            find.head(layer, head)
    label = data.tokens[3].label.strip()
    assert 3 in find.places(label)
    with pytest.raises(ReportError, match="no token of the passage is 'mountain'"):
        find.places("mountain")


def test_random_directions_are_as_far_apart_as_said(find):
    """By drawing them."""
    size = find.data.manifest["model"]["hidden_size"]
    vectors = np.random.default_rng(3).normal(size=(2, 20_000, size))
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    drawn = np.abs((vectors[0] * vectors[1]).sum(-1)).mean()
    assert find.orientation_by_chance == pytest.approx(drawn, rel=0.03)
