"""Every number that a figure shows is the one that the model gives, computed a second way."""

import re

import numpy as np
import pytest

from report.datasets.formats.rounding import CELL_ERROR, PROBABILITY_ERROR, STEPS, TOP_ERROR
from report.inputs.passages import corpus
from report.kinds.prediction.measure import MEANS_OF
from report.measurements.precision import summed_by, tolerance
from tests.close import require_close
from tests.figures.live_page import TOOLTIP, first_tooltip, given, go_live, head_of, ink
from tests.figures.tools import open_more
from tests.site.reader import number, state, token_index, tooltip_of_cell, wait_for_state

pytestmark = pytest.mark.browser

NAMES = {"content": "content", "bias": "bias", "position": "ALiBi"}


def rounding(model, truth):
    """What float32 may change in a score of a head, and relatively in a probability."""
    return tolerance(summed_by([model.model], model.length), max(1, abs(truth.score).max()))


def coarse(model, truth, cell):
    """How far the content of a cell may be off: less at the largest targets of its row."""
    row = truth.probability[cell[0]]
    least = row[cell[1]] * (1 - rounding(model, truth))
    return TOP_ERROR if (row > least).sum() <= 11 else CELL_ERROR


def last_digit(shown):
    """Half of the last digit that is shown: "−1.25" is within 0.005."""
    return 0.5 * 10 ** -len(shown.partition(".")[2])


def assert_terms(shown, model, truth, cell):
    """The terms in a tooltip, as many digits as it shows, against the truth and the rounding."""
    others = {"bias": STEPS["bias"] / 2, "position": STEPS["position"]}
    for name, title in NAMES.items():
        bound = others.get(name, sum(others.values()) + coarse(model, truth, cell))
        expected = getattr(truth, name)[cell]
        assert number(shown[f"{title} term"]) == pytest.approx(
            expected, abs=bound + last_digit(shown[f"{title} term"]) + rounding(model, truth)
        ), f"{name} term of cell {cell}"


def assert_probability(shown, model, truth, cell):
    expected = truth.probability[cell]
    assert shown == pytest.approx(
        expected, abs=PROBABILITY_ERROR + 0.0005 + expected * rounding(model, truth)
    ), f"probability of cell {cell}"


def assert_cell(page, model, cell):
    """The tooltip of a cell of figure 1, in whatever state its sliders are."""
    shown = tooltip_of_cell(page, *cell)
    # "−2.00 (content −3.00, ALiBi 1.00)"
    shown["score"], _, parts = shown["score"].removesuffix(")").partition(" (")
    named = (part.rpartition(" ") for part in parts.split(", "))
    shown |= {f"{title} term": value for title, _, value in named}
    truth = model.head(**state(page, 1))
    current, target = cell
    assert shown["current token"].startswith(f"{current}  “")
    assert shown["target token"].startswith(f"{target}  “")
    probability, away = given(shown)
    assert away == current - target
    assert number(shown["score"]) == pytest.approx(
        truth.score[cell],
        abs=coarse(model, truth, cell) + last_digit(shown["score"]) + rounding(model, truth),
    ), f"score of cell {cell}"
    assert_probability(probability, model, truth, cell)
    assert_terms(shown, model, truth, cell)
    return shown


def largest_beside_the_diagonal(truth):
    """The cell with the largest probability that is neither the token itself nor token 0."""
    inner = np.tril(truth.probability, -1)
    inner[:, 0] = 0
    return tuple(int(index) for index in np.unravel_index(inner.argmax(), inner.shape))


def test_the_second_way_is_the_model(model):
    """Its probabilities, times the values, give what the untouched attention modules give."""
    for layer in range(model.layers):
        context = np.concatenate([model.head(layer, h).context for h in range(model.heads)], 1)
        dense = model.attention_module(layer).dense
        weight, bias = (each.detach().double().numpy() for each in (dense.weight, dense.bias))
        found = model.outputs[layer].numpy()
        summed = summed_by([model.attention_module(layer)], model.length)
        scores = [abs(model.head(layer, head).score).max() for head in range(model.heads)]
        require_close(context @ weight.T + bias, found, summed, abs(found).max() * max(1, *scores))


def test_the_map_shows_the_numbers_of_the_model_wherever_a_reader_points(visit, model):
    page = visit()
    go_live(page, 1)
    last, middle = model.length - 1, model.length // 2
    strongest = largest_beside_the_diagonal(model.head(**state(page, 1)))
    for cell in (strongest, (last, 0), (last, last), (middle, middle // 2), (middle, middle - 1)):
        assert_cell(page, model, cell)


def test_sliders_lead_to_other_numbers_that_are_right_again(visit, model):
    page = visit()
    go_live(page, 1)
    cell = model.length - 3, model.length // 3
    before = state(page, 1), assert_cell(page, model, cell), ink(page, 1)
    layer, head = before[0]["layer"], before[0]["head"]

    layer = layer - 1 if layer else 1  # by keyboard
    page.locator("#fig-1 input[name=layer]").focus()
    page.keyboard.press("ArrowLeft" if layer < before[0]["layer"] else "ArrowRight")
    wait_for_state(page, 1, layer=layer, head=head)
    between = state(page, 1), assert_cell(page, model, cell), ink(page, 1)

    slider = page.locator("#fig-1 input[name=head]")  # by mouse
    box = slider.bounding_box()
    head = 0 if head >= model.heads // 2 else model.heads - 1
    side = 3 if head == 0 else box["width"] - 3
    slider.click(position={"x": side, "y": box["height"] / 2})
    wait_for_state(page, 1, layer=layer, head=head)
    after = state(page, 1), assert_cell(page, model, cell), ink(page, 1)

    for one, other in ((before, between), (between, after)):
        assert all(mine != yours for mine, yours in zip(one, other, strict=True))


def test_the_breakdown_shows_the_terms_of_the_target_of_a_rank(visit, model):
    page, rank = visit(), 2
    go_live(page, 2)
    open_more(page, 2)
    page.locator("#fig-2 input[name=sort_idx]").focus()
    for _ in range(rank):
        page.keyboard.press("ArrowRight")
    wait_for_state(page, 2, sort_idx=rank)
    shown = first_tooltip(page, 2)
    at = state(page, 2)
    assert at.pop("sort_idx") == rank
    truth = model.head(**at)
    cell = token_index(shown["current token"]), token_index(shown["target token"])
    by_size = np.sort(truth.probability[cell[0]])[::-1]
    assert truth.probability[cell] == pytest.approx(by_size[rank], rel=2 * rounding(model, truth))
    share, back = given(shown)
    assert back == cell[0] - cell[1]
    assert_probability(share, model, truth, cell)
    assert_terms(shown, model, truth, cell)


def undecided(model, layer, head):
    """Fraction of tokens whose two largest probabilities are equal up to rounding."""
    truth = model.head(layer, head)
    rows = np.sort(truth.probability[1:], axis=1)
    return np.mean(rows[:, -1] - rows[:, -2] <= 2 * rounding(model, truth) * rows[:, -1])


def point_at_a_head(page, figure):
    """The first tooltip of a figure of sorted heads, over the article's own passage."""
    go_live(page, figure)
    open_more(page, figure)
    page.check(f"#fig-{figure} input[value=passage]")
    page.wait_for_timeout(100)
    return first_tooltip(page, figure)


@pytest.mark.parametrize(("figure", "target"), [(4, lambda token: token), (5, lambda token: 0)])
def test_a_sorted_point_names_its_head(visit, model, figure, target):
    shown = point_at_a_head(visit(), figure)
    layer, head, value, rank = head_of(shown)
    shares = np.array([model.share_of_rows(layer, each, target) for each in range(model.heads)])
    near = np.array([undecided(model, layer, each) for each in range(model.heads)])
    assert number(value) == pytest.approx(shares[head], abs=0.0005 + near[head])
    least, most = shares - near, shares + near
    assert (most < least[head]).sum() <= rank <= (least <= most[head]).sum() - 1
    assert near.max() < 0.25, "the order of heads would say nothing"


def test_the_two_terms_of_a_target_are_those_of_the_model_less_their_means(visit, model):
    page = visit()
    shown = first_tooltip(page, 3)
    truth = model.head(**state(page, 3))
    target = token_index(shown["target token"])
    for name, title in (("bias", "bias"), ("position", "ALiBi")):
        row = getattr(truth, name)[-1]  # the last token sees all targets
        expected = row[target] - row.mean()
        bound = STEPS[name] + 0.005 + rounding(model, truth)
        assert number(shown[f"{title} term"]) == pytest.approx(expected, abs=bound)


@pytest.mark.parametrize("figure", [9, 10])
def test_an_update_is_what_the_head_adds_to_the_hidden_state(visit, model, figure):
    page = visit()
    shown = first_tooltip(page, figure)
    layer, head = state(page, figure)["layer"], int(shown["head"])
    token = token_index(shown["current token"])
    truth = model.update(layer, head, token)
    bound = 0.0005 + 0.0001 + rounding(model, model.head(layer, head)) * truth.magnitude
    assert number(shown["magnitude"]) == pytest.approx(truth.magnitude, abs=bound)
    if "orientation" in shown:
        assert number(shown["orientation"]) == pytest.approx(truth.alignment, abs=bound)
    of_head = model.head(layer, head)
    row, near = of_head.probability[token], 2 * rounding(model, of_head)
    assert row[token_index(shown["top target"])] == pytest.approx(row.max(), rel=near)


KEPT = 0.0005
"""Half the unit in which effects of a passage are kept, and half the last digit of a tooltip."""


def figure(page, name):
    """The number of a figure of the article, live."""
    place = page.locator(f"figure[data-figure={name}]").get_attribute("id")
    found = int(place.removeprefix("fig-"))
    go_live(page, found)
    return found


def tooltip(page, place, *keys, panel=0):
    """What a chart says after some keys."""
    page.locator(f"#fig-{place} .live-figure__chart").nth(panel).focus()
    for key in keys:
        page.keyboard.press(key)
    return page.evaluate(TOOLTIP)


def test_a_cell_says_how_much_was_looked_at_and_how_much_it_mattered(visit, model):
    page = visit()
    place = figure(page, "effect_by_target")
    at = state(page, place)
    effects, probability = model.effects(**at), model.head(**at).probability
    rounding = tolerance(summed_by([model.model], model.length), max(1, np.abs(effects).max()))
    for panel, keys in enumerate((("End", "ArrowUp"), ("Home", "ArrowDown", "ArrowDown"))):
        shown = tooltip(page, place, *keys, panel=panel)
        row, column = (token_index(shown[f"{which} token"]) for which in ("current", "target"))
        share, _ = given(shown)
        assert share == pytest.approx(probability[row, column], abs=2 * KEPT + rounding)
        effect = number(shown["direct effect"])
        assert effect == pytest.approx(effects[row, column], abs=2 * KEPT + rounding)
        page.keyboard.press("Escape")


def test_a_dot_says_what_a_head_adds_and_what_is_lost_without_it(visit, model):
    page = visit()
    shown = tooltip(page, figure(page, "direct_and_ablation"), "Home", "ArrowRight")
    said = r"L(\d+)H(\d+) adds (\S+) .* (\S+) is lost without it"
    layer, head, *numbers = re.match(said, shown["title"]).groups()
    layer, head, told = int(layer), int(head), [*map(number, numbers)]
    rounding = tolerance(summed_by([model.model], model.length), 10)
    adds = model.effects(layer, head).sum(1).mean()
    assert told[0] == pytest.approx(adds, abs=0.006 + rounding)
    lost = model.lost(layer, head, [text.text for text in corpus()[:MEANS_OF]])
    assert told[1] == pytest.approx(lost, abs=0.006 + rounding)
