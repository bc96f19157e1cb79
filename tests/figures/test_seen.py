"""What is to be seen in a figure, said of numbers whose answer one knows."""

from dataclasses import replace
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from report.datasets.formats import attention
from report.datasets.formats.visible import Visible
from report.figures import (
    filler_against,
    filler_effect,
    filler_lines,
    renderings_compared,
)
from report.figures.build.find import figure_named
from report.figures.parts import choices
from report.kinds.passage.data import PassageData, Token
from report.text import percent
from tests.figures import hand_conditions

T = 10


class Study(SimpleNamespace):
    """A study that can be a key of a cache, as a real one can."""

    __hash__ = object.__hash__
    regions = MappingProxyType({})


def one_head(probability, terms=(), causal=True):
    """A study of a single head; probability: float [T, T]; terms: dict of name to (per, values)."""
    probability = np.asarray(probability, float)
    visible = Visible.causal(T) if causal else Visible.full(T)
    largest = np.argsort(-np.where(visible.mask(), probability, -1), axis=1, kind="stable")
    found = SimpleNamespace(
        probability=probability,
        largest_targets=largest[:, :11],
        visible=visible,
        terms={
            name: attention.DecodedTerm(name, per, np.asarray(values, float), visible)
            for name, (per, values) in dict(terms).items()
        },
    )
    return Study(
        layers=1,
        heads=1,
        length=T,
        causal=causal,
        terms=tuple(dict(terms)),
        capabilities={"terms": list(dict(terms)), "updates": "raw"},
        attention=lambda layer, head: found,
        tokens=[Token(n, n, f"t{n}", f"t{n}", False) for n in range(T)],
    )


def looking(step=None, causal=True, at=None, rows=range(T)):
    """Probabilities that look `step` tokens on, or `at` a token, with 0.6; the rest is even."""
    seen = np.tri(T) if causal else np.ones((T, T))
    found = seen / seen.sum(1, keepdims=True)
    for row in rows:
        target = row + step if at is None else at
        if 0 <= target < T and seen[row, target] and seen[row].sum() > 1:
            others = seen[row].copy()
            others[target] = 0
            found[row] = 0.4 * others / others.sum()
            found[row, target] = 0.6
    return found


def statistics(values):
    values = np.asarray(values, float)
    layers, heads = values.shape
    columns = {"source": np.full(values.size, "corpus")}
    columns |= {name: values.ravel() for name in ("itself", "first_token", "concentration")}
    known = {"has_corpus": True, "sources": PassageData.sources, "measured": lambda name: columns}
    return SimpleNamespace(layers=layers, heads=heads, **known)


def updates(**columns):
    columns = {name: np.asarray(values) for name, values in columns.items()}
    length = 1 + int(columns.get("token", np.zeros(1)).max())
    read = {"updates": lambda layer: {"points": columns}}
    return SimpleNamespace(layers=1, heads=2, length=length, causal=True, **read)


def shares(given, even):
    """A study of a table as CSV; given, even: dict of class to [layer, head] and to [layer]."""
    return SimpleNamespace(
        kind="table",
        layers=2,
        heads=2,
        targets=list(given),
        first=SimpleNamespace(name="csv"),
        renderings={"csv": SimpleNamespace(label="CSV")},
        shares=lambda target, rendering: np.array(given[target]),
        even=lambda target, rendering: np.array(even[target]),
    )


def in_ways(given, even):
    """A table as CSV and JSON, of one layer of two heads; class -> share in each of them."""
    heads = np.ones((1, 2))
    return SimpleNamespace(
        kind="table",
        targets=list(given),
        renderings={name: SimpleNamespace(label=name.upper()) for name in ("csv", "json")},
        shares=lambda target, rendering: heads * given[target][rendering == "json"],
        even=lambda target, rendering: np.array([even[target]]),
    )


def no_habit():
    """Tokens 1, 2 and 3 of nine look at themselves, all others two tokens back."""
    found = looking(-2)
    found[1:4] = looking(0)[1:4]
    return one_head(found)


def habits_of_all_kinds():
    found = looking(2, causal=False)
    found[-2:] = looking(-2, causal=False)[-2:]
    return one_head(found, causal=False)


def speaking():
    """Token 1 sees no content; all others get three times as much of it as of bias."""
    content, places = np.zeros((T, T)), np.arange(T)
    content[2:, 1] = 3.0
    return one_head(
        looking(at=1), {"content": ("cell", content), "bias": ("target", 1.0 * (places == 1))}
    )


def leaning(bias, slope=0.2):
    places = np.arange(T)
    terms = {"bias": ("target", bias * places), "position": ("target_difference", slope * places)}
    return one_head(looking(-1), terms)


def jumping():
    places = np.arange(T)
    bias = np.where(places % 2, -1, 1) + 0.01 * places
    terms = {"bias": ("target", bias), "position": ("target_difference", 0.2 * places)}
    return one_head(looking(-1), terms)


def far():
    past = np.subtract.outer(np.arange(T), np.arange(T))
    rotary = np.where(past == 2, 1.5, 0) * np.tri(T)
    return one_head(
        looking(-1), {"content": ("cell", 0.1 * np.tri(T)), "position": ("cell", rotary)}
    )


HISTOGRAM = updates(
    head=[0, 0, 0, 1, 1, 1],
    magnitude=[0.1, 0.2, 0.3, 1.0, 2.0, 3.0],
    alignment=[-0.5, -0.4, -0.3, -0.2, 0.1, 0.2],
)
LEVEL = updates(head=[0, 1], magnitude=[0.1, 0.1], alignment=[0.2, 0.2])
SINK = shares(
    {"first_token": [[0.2] * 2] * 2, "same_column": [[0.65] * 2] * 2},
    {"first_token": [0.01] * 2, "same_column": [0.34] * 2},
)
TABLE = shares(
    {"delimiter": [[0.3, 0.2], [0.2, 0.2]], "same_column": [[0.2, 0.1], [0.8, 0.2]]},
    {"delimiter": [0.5, 0.5], "same_column": [0.1, 0.2]},
)
EVEN = {"header": 0.4, "delimiter": 0.4, "same_column": 0.2}
HALF = dict.fromkeys(EVEN, 0.5)
HEADER = {"header": (0.1, 0.2)}


def scattered(alignment):
    return updates(token=np.arange(5), alignment=alignment, magnitude=[9, 0.1, 0.2, 0.3, 0.4])


def of_first(magnitude, largest=(0, 0, 0, 1, 1)):
    return updates(token=np.arange(len(largest)), largest_target=largest, magnitude=magnitude)


CASES = {
    "attention_map": [
        (one_head(looking(-1)), "100 %|the token just before|60 %|just below the diagonal"),
        (one_head(looking(at=0)), "100 %|the first token|60 %|down the left edge"),
        (one_head(looking(0)), "100 %|the token itself|60 %|along the diagonal"),
        (
            one_head(looking(1, False), causal=False),
            "100 %|just after|60 %|just above the diagonal",
        ),
        (no_habit(), "no single habit|the token itself (33 %|first token|just before are"),
        (habits_of_all_kinds(), "This head has no habit of place. |!%"),
    ],
    "attention_breakdown": [
        (speaking(), "89 %|the content term|below the dashed line"),
        (speaking(), "No target of this rank has a place", {"sort_idx": 9}),
    ],
    "bias_vs_position": [
        (leaning(-0.1), "bias term falls by 0.90|ALiBi term rises by 1.8|work against"),
        (leaning(0.1), "rises by 0.90|ALiBi term rises by 1.8|pull the same way"),
        (leaning(0.001), "stays level|ALiBi term rises by 1.8|Only one of the two leans"),
        (leaning(0.001, 0.002), "stays level|ALiBi term stays level|Neither line leans"),
        (jumping(), "jumps|−1.0 (“t1”)|1.0 (“t8”)|bias term falls by 0.46|rises by 1.8|!The two"),
        (far(), "rotary position term most, by 1.5|2 tokens before."),
    ],
    "attending_to_first_token": [
        (
            statistics([[0.1, 0.2, 0.3], [0.9, 0.5, 0.4]]),
            "L1H0|90 %|all 6 heads are at 35 % or|highest in layer 1 (60 %)|layer 0 (20 %)",
        ),
        (statistics([[0, 0, 0.3]]), "Half of all 3 heads are at 0 %."),
        (statistics([[0.5, 0.1], [0.1, 0.5]]), "!The average"),
        (statistics([[0.25]]), "L0H0|25 %|!Half of all|!other head"),
    ],
    "attention_concentration": [
        (statistics([[0.5, 0.496, 0.5], [0.494, 0.1, 0.1]]), "2 other heads come within"),
        (statistics([[0.0, 0.0, 0.0]]), "For all 3 heads, this is 0."),
        (
            statistics([[0.5, 0.5]]),
            "L0H0|a probability of 0.50|Another head comes|all 2 heads are at 0.50",
        ),
    ],
    "update_magnitude": [
        (HISTOGRAM, "shorter than 0.65 times|Head 1 writes most (median 2.0), head 0 least (0.20)"),
        (LEVEL, "shorter than 0.10 times|!writes most"),
    ],
    "update_alignment": [
        (HISTOGRAM, "67 %|left of 0, against|Head 0|left (median −0.40), head 1|right (0.10)"),
        (LEVEL, "100 %|right of 0, along|!farthest"),
    ],
    "alignment_vs_magnitude": [
        (scattered([9, 0.1, 0.2, 0.3, 0.4]), "100 %|along|Longer|to the right (correlation 1.0)"),
        (scattered([9, -1, 1, 1, -1]), "50 %|against|says little about|(correlation nearly 0)"),
    ],
    "magnitude_by_position": [
        (of_first([9, 1, 1, 4, 4]), "50 %|shorter updates|1.0 against 4.0"),
        (of_first([9, 4, 4, 1, 1]), "50 %|longer updates|4.0 against 1.0"),
        (of_first([9, 2, 2, 2.1, 2.1]), "50 %|about as long as the others (2.0)."),
        (of_first([1, 2, 3], (0, 1, 1)), "nothing to compare them with."),
    ],
    "table_attention_map": [
        (SINK, "65 %|same column above|34 %", {"layer": 0, "head": 0}),
        (TABLE, "80 %|same column above|20 %", {"layer": 1, "head": 0}),
        (TABLE, "no class of tokens|delimiters, 20 %|50 %", {"layer": 0, "head": 1}),
    ],
    "classes_by_layer": [
        (TABLE, "L1H0 gives 80 %|column above|20 %|2 of the 4 heads", {"target": "same_column"}),
        (TABLE, "No head goes beyond", {"target": "delimiter"}),
    ],
    "renderings_compared": [
        (
            TABLE,
            "same column above: 2.2 times|Least|delimiters: 0.45 times uniform attention (as CSV)",
        ),
        (TABLE, "column above: 33 %|Least|delimiters: 22 % (as CSV)", {"shown": "probability"}),
        (
            in_ways(HEADER | {"delimiter": (0.2, 0.1), "same_column": (0.6, 0.7)}, EVEN),
            "same column above: 3.0 and 3.5 times uniform attention (as CSV and JSON)|Least|column "
            "names: 0.25 times|(as CSV)|delimiters: 0.25 times|(as JSON)",
        ),
        (
            in_ways(HEADER | {"delimiter": (0.1, 0.9), "same_column": (0.6, 0.7)}, HALF),
            "column above: 1.2|(as CSV)|delimiters: 1.8|(as JSON)|column names: 0.20 and 0.40",
        ),
        (
            in_ways(HEADER | {"delimiter": (0.2, 0.3), "same_column": (0.6, 0.7)}, EVEN),
            "Least|column names: 0.25 and 0.50 times uniform attention (as CSV and JSON).",
        ),
    ],
}
"""Figure -> data, what its sentence says in this order (after "!": what it does not), state."""


@pytest.mark.parametrize(
    ("name", "data", "facts", "state"),
    [(name, *(*case, {})[:3]) for name, cases in CASES.items() for case in cases],
)
def test_a_sentence_has_the_facts_of_its_numbers(name, data, facts, state):
    figure = figure_named(name)
    corpus = {"source": "corpus"} if name.startswith("att") and hasattr(data, "measured") else {}
    assert_facts(figure.seen(data, **corpus, **state), facts)


def assert_facts(text, facts):
    place, text = 0, text.replace("\u00a0", " ")
    for fact in facts.split("|"):
        if fact.startswith("!"):
            assert fact[1:] not in text
        else:
            assert fact in text[place:], (fact, text)
            place = text.index(fact, place) + len(fact)


def test_points_outside_their_bar_are_counted():
    def of(*heads):
        data = in_ways({"header": (0.1, 0.1)}, {"header": 0.4})
        data.shares = lambda target, rendering: np.array([heads])
        return renderings_compared.caption(data)

    assert "as 2 of the 2 points do" in of(0.1, 0.1, 0.1, 0.1, 0.9)
    assert "outside" not in of(0.1, 0.2, 0.3, 0.4)
    assert "outside" not in of(0.1, 0.1, 0.1)


@pytest.fixture
def counted(conditions, monkeypatch):
    """The hand-made study of conditions, each line as high as its condition says everywhere."""
    heights = {"none": 0.4, "filler": 0.1, "sentence": 0.2}

    def received(self, layer, head):
        return {
            name: {
                each: (np.full(len(self.condition(name).counts), height),) * 2
                for each in ("mean", "last", "all")
            }
            for name, height in heights.items()
        }

    monkeypatch.setattr(type(conditions.models[0]), "received", received)
    return conditions


def test_fillers_say_what_the_other_tokens_keep(counted):
    for name, facts in (
        ("filler_layers", "meaningless tokens|keep 25 %, 25 % and 25 %|without"),
        ("filler_lines", "outside the grey part in all 3 panels"),
        ("filler_against", "0.50 and 0.50 times|“Random"),
    ):
        assert_facts(figure_named(name).seen(hand_conditions.panels(counted, name)), facts)


def test_prompts_that_differ_in_no_addition_are_not_said_to_have_one(counted):
    panels = hand_conditions.panels(counted, "filler_lines")
    panels = replace(panels, lines={"filler": "Kind", "none": "Plain"})
    for said in (
        figure_named("filler_lines").seen(panels),
        figure_named("filler_layers").seen(panels),
    ):
        assert_facts(said, "“Plain”|400 %, 400 % and 400 %|“Kind”")
    words = f"{filler_lines.title(panels)} {filler_lines.caption(panels)}"
    assert "under “Kind” and under “Plain”" in words
    assert "without" not in words


def test_numbers_of_one_row_have_the_same_decimals():
    assert filler_against._as_exact([1.027, 1.581, 0.728]) == ["1.03", "1.58", "0.73"]
    assert filler_against._as_exact([0.9998, 1.1977, 0.7633]) == ["1.00", "1.20", "0.76"]
    assert filler_against._as_exact([1.027, 1.581]) == ["1.0", "1.6"]


def test_the_heat_map_names_the_largest_the_middle_and_the_one_shown(conditions):
    panels = hand_conditions.panels(conditions, "filler_effect")
    model = panels.places[0].model
    cells = filler_effect.cells(model, "filler", "mean")
    top = max(cells, key=lambda cell: cell["taken"])
    shown = next(cell for cell in cells if (cell["layer"], cell["head"]) == (1, 2))
    assert top != shown
    middle = np.median([cell["taken"] for cell in cells])
    assert figure_named("filler_effect").seen(panels) == (
        f"L{top['layer']}H{top['head']} gives most to meaningless tokens: "
        f"{percent(top['taken'])}. In half of the 12 heads it is {100 * middle:.0f}\u00a0% or "
        f"less. In the head drawn underneath it is {100 * shown['taken']:.0f}\u00a0%."
    )
    at_top = figure_named("filler_effect").seen(panels, layer=top["layer"], head=top["head"])
    assert at_top.endswith("or less.")
    assert (
        figure_named("filler_effect")
        .seen(panels, measure="total_variation")
        .startswith("The rest moves most in L")
    )


def test_a_state_is_said_in_words():
    controls = [
        choices.Control("layer", "Layer", 0, 3, 2),
        choices.Control("head", "Head", 0, 3, 1),
        choices.Control("sort_idx", "Rank (0 = largest)", 0, 3, 0),
        choices.Control("only", "Only one", 1, 1, 1),
        choices.Switch("source", "Measured on", {"a": "this passage", "b": "many texts"}, "b"),
    ]
    assert choices.said(controls) == "layer 2, head 1, rank 0; measured on: many texts"
    assert choices.said(controls[3:4]) == ""
