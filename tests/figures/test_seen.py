"""What is to be seen in a figure, said of numbers whose answer one knows."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets.formats import attention
from report.datasets.formats.visible import Visible
from report.figures import (
    alignment_vs_magnitude,
    attention_breakdown,
    attention_map,
    bias_vs_position,
    classes_by_layer,
    filler_against,
    filler_effect,
    filler_layers,
    filler_lines,
    magnitude_by_position,
    renderings_compared,
    table_attention_map,
    update_alignment,
    update_magnitude,
)
from report.figures.build.find import figure_named
from report.figures.parts import choices
from report.kinds.passage.data import Token
from report.text import percent
from tests.figures import hand_conditions

attending_to_first_token = figure_named("attending_to_first_token")
attention_concentration = figure_named("attention_concentration")
T = 10


class Study(SimpleNamespace):
    """A study that can be a key of a cache, as a real one can."""

    __hash__ = object.__hash__


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


def looking(step=None, at=None, causal=True, rows=range(T)):
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


@pytest.mark.parametrize(
    ("probability", "causal", "said", "where"),
    [
        (looking(-1), True, "the token just before", "just below the diagonal"),
        (looking(at=0), True, "the first token", "down the left edge"),
        (looking(0), True, "the token itself", "along the diagonal"),
        (looking(1, causal=False), False, "the token just after", "just above the diagonal"),
    ],
)
def test_the_map_names_the_habit_of_a_head(probability, causal, said, where):
    text = attention_map.seen(one_head(probability, causal=causal))
    assert text == (
        f"This head looks at {said}: that is the top target for 100\u00a0% of the tokens, and "
        f"it gets 60\u00a0% of the probability on average. The markers lie {where}."
    )


def test_the_map_names_no_habit_where_there_is_none():
    probability = looking(-2)
    probability[1:4] = looking(0)[1:4]
    text = attention_map.seen(one_head(probability))
    # tokens 1, 2 and 3 of nine; all others look two tokens back
    assert text == (
        "This head has no single habit of place: its top target is the token itself for "
        "33\u00a0% of the tokens, and the first token and the token just before for no more."
    )
    probability = looking(2, causal=False)
    probability[-2:] = looking(-2, causal=False)[-2:]
    text = attention_map.seen(one_head(probability, causal=False))
    assert text.startswith("This head has no habit of place: ")
    assert "%" not in text


def test_the_breakdown_names_the_term_that_speaks_most():
    bias = np.zeros(T)
    bias[1] = 1.0
    content = np.zeros((T, T))
    content[2:, 1] = 3.0
    terms = {"content": ("cell", content), "bias": ("target", bias)}
    data = one_head(looking(at=1), terms)
    assert attention_breakdown.seen(data) == (
        # token 1 sees no content; all others get three times as much of it
        "The content term speaks most for the top target of 89\u00a0% of the tokens: those "
        "points lie below the dashed line."
    )
    text = attention_breakdown.seen(data, sort_idx=9)
    assert text == "No target of this rank has a place in the figure."


@pytest.mark.parametrize(
    ("bias", "slope", "said"),
    [
        (-0.1, 0.2, "(dashed) falls by 0.90 and the ALiBi term rises by 1.8. The two work against"),
        (0.1, 0.2, "rises by 0.90 and the ALiBi term rises by 1.8. The two pull the same way."),
        (0.001, 0.2, "stays level and the ALiBi term rises by 1.8. Only one of the two leans"),
        (0.001, 0.002, "stays level and the ALiBi term stays level. Neither line leans"),
    ],
)
def test_terms_by_target_rise_and_fall(bias, slope, said):
    places = np.arange(T)
    terms = {"bias": ("target", bias * places), "position": ("target_difference", slope * places)}
    assert said in bias_vs_position.seen(one_head(looking(-1), terms))


def test_a_term_that_goes_by_the_token_is_not_said_to_pull_anywhere():
    bias = np.where(np.arange(T) % 2, -1, 1) + 0.01 * np.arange(T)
    terms = {"bias": ("target", bias), "position": ("target_difference", 0.2 * np.arange(T))}
    assert bias_vs_position.seen(one_head(looking(-1), terms)) == (
        "The bias term jumps from target to target, between −1.0 (“t1”) and 1.0 (“t8”). From the "
        "first target token to the last, the fitted line of the bias term (dashed) falls by 0.46 "
        "and the ALiBi term rises by 1.8."
    )


def test_terms_by_distance_say_where_they_are_highest():
    past = np.subtract.outer(np.arange(T), np.arange(T))
    rotary = np.where(past == 2, 1.5, 0) * np.tri(T)
    terms = {"content": ("cell", 0.1 * np.tri(T)), "position": ("cell", rotary)}
    text = bias_vs_position.seen(one_head(looking(-1), terms))
    assert "Distance moves the rotary position term most, by 1.5" in text
    assert text.endswith("It speaks most for targets 2 tokens before.")


def statistics(values):
    values = np.asarray(values, float)
    layers, heads = values.shape
    columns = {"source": np.full(values.size, "corpus")}
    columns |= {name: values.ravel() for name in ("itself", "first_token", "concentration")}
    return SimpleNamespace(layers=layers, heads=heads, measured=lambda name: columns)


def test_sorted_heads_name_the_first_the_middle_and_the_layers():
    data = statistics([[0.1, 0.2, 0.3], [0.9, 0.5, 0.4]])
    assert attending_to_first_token.seen(data, source="corpus") == (
        "L1H0 has the first token as its top target most often, for 90\u00a0% of the tokens; "
        "half of all 6 heads are at 35\u00a0% or below. The average is highest in layer 1 "
        "(60\u00a0%) and lowest in layer 0 (20\u00a0%)."
    )
    level = statistics([[0.5, 0.496, 0.5], [0.494, 0.1, 0.1]])
    assert "(2 other heads come within a hundredth of that)" in attention_concentration.seen(
        level, source="corpus"
    )
    nothing = statistics([[0.0, 0.0, 0.0]])
    assert attention_concentration.seen(nothing, source="corpus") == "For all 3 heads, this is 0."
    few = attending_to_first_token.seen(statistics([[0.0, 0.0, 0.3]]), source="corpus")
    assert few.endswith("half of all 3 heads are at 0\u00a0%.")
    level = statistics([[0.5, 0.5]])
    assert attention_concentration.seen(level, source="corpus") == (
        "L0H0 is the most concentrated, its top target 0.50 ahead of the next (another head "
        "comes within a hundredth of that); half of all 2 heads are at 0.50 or below."
    )
    assert "The average" not in attending_to_first_token.seen(
        statistics([[0.5, 0.1], [0.1, 0.5]]), source="corpus"
    )
    alone = attending_to_first_token.seen(statistics([[0.25]]), source="corpus")
    assert alone == (
        "L0H0 has the first token as its top target most often, for 25\u00a0% of the tokens."
    )


def updates(**columns):
    columns = {name: np.asarray(values) for name, values in columns.items()}
    length = 1 + int(columns.get("token", np.zeros(1)).max())
    read = {"updates": lambda layer: {"points": columns}}
    return SimpleNamespace(layers=1, heads=2, length=length, causal=True, **read)


def test_histograms_name_the_middle_and_both_ends():
    data = updates(
        head=[0, 0, 0, 1, 1, 1],
        magnitude=[0.1, 0.2, 0.3, 1.0, 2.0, 3.0],
        alignment=[-0.5, -0.4, -0.3, -0.2, 0.1, 0.2],
    )
    assert update_magnitude.seen(data) == (
        "Half of all updates are shorter than 0.65 times the hidden state. Head 1 writes most "
        "(median 2.0), head 0 least (0.20)."
    )
    assert update_alignment.seen(data) == (
        "Of the updates, 67\u00a0% lie left of 0, against the hidden state. Head 0 is farthest to "
        "the left (median −0.40), head 1 farthest to the right (0.10)."
    )
    other = updates(head=[0, 1], magnitude=[0.1, 0.1], alignment=[0.2, 0.2])
    assert update_alignment.seen(other) == (
        "Of the updates, 100\u00a0% lie right of 0, along with it."
    )
    assert update_magnitude.seen(other).count(".") == 2  # of the number, and at the end


def test_the_scatter_says_how_length_goes_with_direction():
    tokens, magnitude = np.arange(5), np.array([9, 0.1, 0.2, 0.3, 0.4])
    along = updates(token=tokens, alignment=np.array([9, 0.1, 0.2, 0.3, 0.4]), magnitude=magnitude)
    assert alignment_vs_magnitude.seen(along) == (
        "Of the updates, 100\u00a0% point along with the hidden state; longer updates tend to lie "
        "more to the right (correlation 1.0)."
    )
    apart = updates(token=tokens, alignment=np.array([9, -1, 1, 1, -1]), magnitude=magnitude)
    assert alignment_vs_magnitude.seen(apart) == (
        "Of the updates, 50\u00a0% point against the hidden state; how long an update is says "
        "little about which way it points (correlation nearly 0)."
    )


@pytest.mark.parametrize(
    ("magnitude", "said"),
    [
        (
            [9, 1, 1, 4, 4],
            "their updates are shorter than the others: the median is 1.0 against 4.0",
        ),
        (
            [9, 4, 4, 1, 1],
            "their updates are longer than the others: the median is 4.0 against 1.0",
        ),
        ([9, 2, 2, 2.1, 2.1], "their updates are about as long as the others (2.0)."),
    ],
)
def test_updates_at_the_first_token_are_compared_with_the_others(magnitude, said):
    data = updates(token=np.arange(5), largest_target=[0, 0, 0, 1, 1], magnitude=magnitude)
    text = magnitude_by_position.seen(data)
    assert text.startswith("Of the points, 50\u00a0% look most at the first token; ")
    assert said in text
    none = updates(token=np.arange(3), largest_target=[0, 1, 1], magnitude=[1, 2, 3])
    assert magnitude_by_position.seen(none).endswith("so there is nothing to compare them with.")


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


def test_a_head_of_a_table_is_known_by_what_gets_most_beyond_uniform_attention():
    given = {"first_token": [[0.2] * 2] * 2, "same_column": [[0.65] * 2] * 2}
    data = shares(given, {"first_token": [0.01] * 2, "same_column": [0.34] * 2})
    assert table_attention_map.seen(data, layer=0, head=0) == (
        "From a cell, this head gives 65\u00a0% of its attention to the same column above, where "
        "uniform attention would give 34\u00a0%."
    )


def test_classes_of_a_table_are_compared_with_even_attention():
    given = {
        "delimiter": [[0.3, 0.2], [0.2, 0.2]],
        "same_column": [[0.2, 0.1], [0.8, 0.2]],
    }
    data = shares(given, {"delimiter": [0.5, 0.5], "same_column": [0.1, 0.2]})
    assert classes_by_layer.seen(data, target="same_column") == (
        "L1H0 gives 80\u00a0% of its attention to the same column above, where uniform attention "
        "would give 20\u00a0%. 2 of the 4 heads go beyond one and a half times uniform attention; "
        "the dashed line is uniform attention itself."
    )
    assert "No head goes beyond" in classes_by_layer.seen(data, target="delimiter")
    assert table_attention_map.seen(data, layer=1, head=0) == (
        "From a cell, this head gives 80\u00a0% of its attention to the same column above, where "
        "uniform attention would give 20\u00a0%."
    )
    assert table_attention_map.seen(data, layer=0, head=1) == (
        "This head prefers no class of tokens by much: from a cell, most goes to delimiters, "
        "20\u00a0%, where uniform attention would give 50\u00a0%."
    )
    assert renderings_compared.seen(data) == (
        "Averaged over all heads and compared with uniform attention, most goes to the same column "
        "above: 2.2 times as much; least goes to delimiters: 0.45 times as much (as CSV)."
    )
    assert renderings_compared.seen(data, shown="probability") == (
        "Averaged over all heads, most goes to the same column above: 32\u00a0%; least goes to "
        "delimiters: 22\u00a0% (as CSV)."
    )


def written_in_ways(given, even):
    """A table as CSV and JSON, of one layer of two heads; class -> share in each of them."""
    heads = np.ones((1, 2))
    return SimpleNamespace(
        kind="table",
        targets=list(given),
        renderings={name: SimpleNamespace(label=name.upper()) for name in ("csv", "json")},
        shares=lambda target, rendering: heads * given[target][rendering == "json"],
        even=lambda target, rendering: np.array([even[target]]),
    )


def test_each_way_of_writing_has_its_own_most_and_least():
    given = {"header": (0.1, 0.2), "delimiter": (0.2, 0.1), "same_column": (0.6, 0.7)}
    data = written_in_ways(given, {"header": 0.4, "delimiter": 0.4, "same_column": 0.2})
    said = renderings_compared.seen(data)
    assert said == (
        "Averaged over all heads and compared with uniform attention, most goes to the same column "
        "above: 3.0 and 3.5 times as much (as CSV and JSON); least goes to column names: 0.25 "
        "times as much (as CSV), and to delimiters: 0.25 times as much (as JSON)."
    )
    given["delimiter"] = 0.1, 0.9
    assert renderings_compared.seen(written_in_ways(given, dict.fromkeys(given, 0.5))) == (
        "Averaged over all heads and compared with uniform attention, most goes to the same column "
        "above: 1.2 times as much (as CSV), and to delimiters: 1.8 times as much (as JSON); least "
        "goes to column names: 0.20 and 0.40 times as much (as CSV and JSON)."
    )
    given["delimiter"] = 0.2, 0.3
    assert renderings_compared.seen(data).endswith("0.25 and 0.50 times as much (as CSV and JSON).")


def test_points_outside_their_bar_are_counted():
    def of(*heads):
        data = written_in_ways({"header": (0.1, 0.1)}, {"header": 0.4})
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
    layers = filler_layers.seen(hand_conditions.panels(counted, "filler_layers"))
    assert layers == (
        "With meaningless tokens, the other tokens get less: 25\u00a0%, 25\u00a0% and 25\u00a0% of "
        "the average weight that they have without, panel by panel."
    )
    lines = filler_lines.seen(hand_conditions.panels(counted, "filler_lines"))
    assert lines.endswith("Below, the highest point lies outside the grey part in all 3 panels.")
    against = filler_against.seen(hand_conditions.panels(counted, "filler_against"))
    assert "gets 0.50 and 0.50 times the average weight that a token of “Random" in against


def test_prompts_that_differ_in_no_addition_are_not_said_to_have_one(counted):
    panels = hand_conditions.panels(counted, "filler_lines")
    panels = replace(panels, lines={"filler": "Kind", "none": "Plain"})
    for said in (filler_lines.seen(panels), filler_layers.seen(panels)):
        assert said == (
            "Under “Plain”, the tokens that both prompts have get 400\u00a0%, 400\u00a0% and "
            "400\u00a0% of the average weight that they have under “Kind”, panel by panel."
        )
    words = f"{filler_lines.title(panels)} {filler_lines.caption(panels)}"
    assert "under “Kind” and under “Plain”" in words
    assert "without" not in words


def test_numbers_of_one_row_have_the_same_decimals():
    assert filler_against._as_exact([1.027, 1.581, 0.728]) == ["1.03", "1.58", "0.73"]
    assert filler_against._as_exact([1.027, 1.581]) == ["1.0", "1.6"]


def test_the_heat_map_names_the_largest_the_middle_and_the_one_shown(conditions):
    panels = hand_conditions.panels(conditions, "filler_effect")
    model = panels.places[0].model
    cells = filler_effect.cells(model, "filler", "mean")
    top = max(cells, key=lambda cell: cell["taken"])
    shown = next(cell for cell in cells if (cell["layer"], cell["head"]) == (1, 2))
    assert top != shown
    middle = np.median([cell["taken"] for cell in cells])
    assert filler_effect.seen(panels) == (
        f"L{top['layer']}H{top['head']} gives most to meaningless tokens: "
        f"{percent(top['taken'])}; in half of the 12 heads, {100 * middle:.0f}\u00a0% or "
        f"less; in the head drawn underneath, {100 * shown['taken']:.0f}\u00a0%."
    )
    at_top = filler_effect.seen(panels, layer=top["layer"], head=top["head"])
    assert at_top.endswith("or less.")
    assert filler_effect.seen(panels, measure="total_variation").startswith(
        "The rest moves most in L"
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
