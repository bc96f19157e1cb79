"""The figures of predictions: what they draw is what was measured, added up by plain loops; and, on
one page for all six, what a reader reads, marks and chooses."""

import json
import math
import re

import numpy as np
import pytest

from report.figures import (
    direct_and_ablation,
    effect_by_target,
    effects_by_head,
    logit_lens,
    score_origins,
)
from report.figures.build.find import figure_named
from report.figures.parts import signed_map
from report.figures.parts.heads import largest
from report.kinds.prediction.data import PredictionData
from report.text import number as in_words
from tests import made_prediction
from tests.figures.live_page import (
    OF,
    TOOLTIP,
    given,
    go_live,
    ink_at_rest,
    until,
)
from tests.figures.test_decoders import assert_same

NUMBERS = {name: number for number, name in enumerate(OF["prediction"], 1)}

STORED = 0.001
"""Unit of stored scores: a part is off by half of it at most."""

HALF = 0.5


@pytest.fixture(scope="module")
def text(prediction):
    """The first text; its last token asks for one word against another."""
    return prediction.sentences[0]


# --- What is drawn, by plain loops ------------------------------------------------------------


def test_bars_begin_at_nothing_and_end_at_the_logit(prediction):
    for place, sentence in enumerate(prediction.sentences):
        parts = 2 + sentence.heads[0].size + 3 * prediction.layers
        for back in range(sentence.rows):
            steps = figure_named("effects_by_head").rows(
                prediction, panel=1, sentence=f"{place}", back=back
            )["steps"]
            total = 0.0
            for step in steps:
                assert step["before"] == pytest.approx(total)
                total += step["value"]
                assert step["after"] == pytest.approx(total)
            assert [step["last"] for step in steps] == [0] * (len(steps) - 1) + [1]
            off = abs(total - sentence.logit[sentence.rows - 1 - back])
            assert off <= parts * 0.0001  # what each part and the logit are stored in


def test_a_cell_is_a_head_and_its_mark_a_part_of_the_largest(prediction, text):
    found = figure_named("effects_by_head").rows(prediction, panel=0, sentence="0", back=2)
    row = text.rows - 3
    largest = max(abs(row["value"]) for rows in found.values() for row in rows)
    for cell in found["heads"]:
        assert cell["value"] == text.heads[row, cell["layer"], cell["head"]]
        assert cell["size"] == pytest.approx(abs(cell["value"]) / largest)
    forward = [c["value"] for c in found["others"] if c["part"] == effects_by_head.FORWARD]
    assert forward == text.feed_forward[row].tolist()
    assert len(found["heads"]) == text.heads[0].size


def test_a_model_without_biases_has_no_row_of_them(prediction, text, monkeypatch):
    def below():
        parts = {
            cell["part"] for cell in figure_named("effects_by_head").rows(prediction)["others"]
        }
        assert ("biases" in effects_by_head.caption(prediction)) == ("biases" in parts)
        return parts

    assert below() == {"feed-forward", "biases"}
    none = property(lambda sentence: np.zeros_like(sentence.feed_forward))
    monkeypatch.setattr(type(text), "attention_bias", none)
    assert below() == {"feed-forward"}


def test_beyond_the_first_token_there_is_none(prediction):
    lengths = [sentence.rows for sentence in prediction.sentences]
    short, most = int(np.argmin(lengths)), max(lengths)
    assert min(lengths) < most
    first, beyond = (
        figure_named("effects_by_head").rows(prediction, panel=1, sentence=f"{short}", back=back)
        for back in (min(lengths) - 1, most - 1)
    )
    assert first == beyond


@pytest.mark.parametrize("panel", [0, 1])
def test_marks_are_on_the_fewest_targets_with_half(prediction, text, panel):
    rows = figure_named("effect_by_target").rows(
        prediction, panel=panel, sentence="0", layer=2, head=1
    )["markers"]
    head = text.head(2, 1)
    values = (head.probability, head.effect)[panel]
    for current in range(text.rows):
        marked = [row["target_token"] for row in rows if row["current_token"] == current]
        left = {target: abs(values[current, target]) for target in range(current + 1)}
        half, reached, expected = HALF * sum(left.values()), 0.0, []
        while reached < half and len(expected) < effect_by_target.MOST_MARKED:
            best = max(left, key=lambda target: (left[target], -target))
            reached += left.pop(best)
            expected.append(best)
        assert marked == expected
    if panel:
        for row in rows:
            value = head.effect[row["current_token"], row["target_token"]]
            assert (row["kind"] == signed_map.AGAINST) == (value < 0)


@pytest.mark.parametrize("after", ["attention", "feed-forward"])
def test_the_lens_has_the_first_guess_of_every_state(prediction, text, after):
    rows = figure_named("logit_lens").rows(prediction, panel=0, sentence="0", after=after)[
        "guesses"
    ]
    lens = text.lens
    assert len(rows) == (1 + prediction.layers) * min(text.rows, logit_lens.SHOWN)
    for row in rows:
        end = f"layer {row['row']}, {after}" if row["row"] >= 0 else "embedding"
        state = lens.labels.index(end)
        best = lens.words[int(lens.tokens[state, row["token"], 0])]
        assert row["guess_said"] == f"“{best}”"
        logs = lens.log_probability[state, row["token"]]
        assert row["probability"] == pytest.approx(math.exp(max(logs)))
        right = int(lens.tokens[state, row["token"], 0]) == text.target(row["token"]).id
        assert (row["rank"] == 0) == right


def test_the_lens_has_the_last_of_many_layers_and_those_evenly_before_it(
    prediction, text, monkeypatch
):
    monkeypatch.setattr(logit_lens, "MOST_ROWS", 2)
    every = -(-prediction.layers // 2)
    rows = figure_named("logit_lens").rows(prediction, panel=0, sentence="0")["guesses"]
    layers = {row["row"] for row in rows} - {-1}
    last = prediction.layers - 1
    assert layers == {layer for layer in range(last + 1) if (last - layer) % every == 0}
    assert f"of which one in {every} is drawn" in logit_lens.caption(prediction)
    boxes = logit_lens.boxes(prediction)
    monkeypatch.undo()
    assert boxes[0].aspect > logit_lens.boxes(prediction)[0].aspect
    assert "is drawn" not in logit_lens.caption(prediction)


def test_both_words_rise_state_by_state(prediction, text):
    rows = figure_named("logit_lens").rows(prediction, panel=1, sentence="0")["rise"]
    lens = text.lens
    for line, values in enumerate((lens.target_log_probability[:, -1], lens.other_log_probability)):
        mine = [row for row in rows if row["line"] == line]
        assert [row["log_probability"] for row in mine] == values.tolist()
        assert [row["state"] for row in mine] == sorted(row["state"] for row in mine)
    earlier = figure_named("logit_lens").rows(prediction, panel=1, sentence="0", back=1)["rise"]
    assert {row["kind"] for row in earlier} == {"the answer"}


@pytest.mark.parametrize("ablation", ["zero", "mean"])
def test_a_point_has_both_effects_of_its_head(prediction, text, ablation):
    drawn = figure_named("direct_and_ablation").rows(prediction, sentence="0", ablation=ablation)
    direct, drop = text.heads[-1], text.drop(ablation)
    for row in drawn["heads"]:
        at = row["layer"], row["head"]
        assert (row["direct"], row["drop"]) == (direct[at], drop[at])
    named = {(row["layer"], row["head"]) for row in drawn["heads"] if row["name"]}
    off = np.abs(drop - direct)
    assert tuple(map(int, np.unravel_index(off.argmax(), off.shape))) in named
    said = figure_named("direct_and_ablation").seen(prediction, sentence="0", ablation=ablation)
    together = np.corrcoef(direct.ravel(), drop.ravel())[0, 1]
    assert f"correlate by {in_words(together)}." in said


def test_heads_of_the_text_are_named_and_no_others(prediction, text, monkeypatch):
    """Far from each other each has its name; where all points are one, they share it."""
    drop = text.drop("mean")
    most, least = largest(drop), largest(-drop)
    data = prediction.naming(most, least)
    for near, expected in (
        (direct_and_ablation.AT_ONE, {most.label, least.label}),
        (2, {f"{most.label}, {least.label}"}),
    ):
        monkeypatch.setattr(direct_and_ablation, "AT_ONE", near)
        rows = figure_named("direct_and_ablation").rows(data, sentence="0", ablation="mean")[
            "heads"
        ]
        assert {row["name"] for row in rows} - {""} == expected
    assert "Heads of the text are named." in direct_and_ablation.caption(data)
    assert prediction.in_prose == ()


def test_the_mean_over_generated_sentences_comes_last_and_first(
    prediction, tmp_path, falcon_folder
):
    known = PredictionData(prediction.path)
    known.generated = made_prediction.generated_study(tmp_path / "g", falcon_folder)
    texts, switch = direct_and_ablation.controls(known)
    assert texts.value == list(texts.options)[-1] == "mean"
    assert f"{known.generated.number} generated" in texts.options["mean"]
    others = direct_and_ablation.controls(prediction)[0].options
    assert others == {name: label for name, label in texts.options.items() if name != "mean"}
    assert set(switch.options) <= set(known.generated.ablations)
    rows = figure_named("direct_and_ablation").rows(known)["heads"]
    direct, error = known.generated.mean("direct"), known.generated.error("direct")
    for row in rows:
        at = row["layer"], row["head"]
        assert row["direct"] == direct[at]
        assert row["direct_said"] == f"{signed(direct[at])} ± {error[at]:.2f}"
    alt = figure_named("direct_and_ablation").alt(known)
    assert f"as means over {known.generated.number} generated sentences" in alt


def test_words_are_those_of_the_head_in_order(prediction, text):
    for chosen, place in enumerate(prediction.shown_heads[:3]):
        head = text.head(*place)
        for panel, side in enumerate(("promoted", "suppressed")):
            rows = figure_named("what_a_head_writes").rows(
                prediction, panel=panel, sentence="0", chosen=chosen
            )
            for row in rows["words"]:
                token, rank = row["token"], row["column"] - 1
                word = getattr(head.writes, side)[token, rank]
                assert row["said"] == f"“{head.writes.words[int(word)]}”"
                assert row["value"] == getattr(head.writes, f"{side}_by")[token, rank]
            shares = {row["token"]: row["share"] for row in rows["tokens"]}
            assert sum(shares.values()) == pytest.approx(1, abs=1e-3)


def test_bars_of_both_sides_sum_to_the_score_above_the_mean(prediction, text):
    for chosen, place in enumerate(prediction.shown_heads):
        head = text.head(*place)
        score, parts = head.origins.score, len(head.origins.parts)
        for rank in (0, 2):
            target = int(np.argsort(-head.probability[-1], kind="stable")[rank])
            above = score[head.origins.targets.index(target)] - score.mean()
            for panel in (0, 1):
                rows = figure_named("score_origins").rows(
                    prediction, panel=panel, sentence="0", chosen=chosen, rank=rank
                )
                bars = [row["value"] for table in rows.values() for row in table]
                assert sum(bars) == pytest.approx(above, abs=(parts + 2) * STORED)
                assert len(bars) <= score_origins.SHOWN + 1


# --- Live, on one page ------------------------------------------------------------------------


def walk(page, number, *keys, panel=0):
    """Press keys in a chart; returns the tooltip afterwards."""
    go_live(page, number)
    page.locator(f"#fig-{number} .live-figure__chart").nth(panel).focus()
    for key in keys:
        page.keyboard.press(key)
    return page.evaluate(TOOLTIP)


def signed(value, digits=2):
    return f"{value:+.{digits}f}".replace("-", "−")


def at_head(told):
    """((layer, head), effect as text) of the tooltip of a cell of the map of heads."""
    place, value = told["title"].removesuffix(" logits").split(": ")
    return tuple(map(int, place.removeprefix("L").split("H"))), value


@pytest.mark.browser
def test_tooltips_say_what_was_measured(page, prediction_address, prediction, text):
    page.goto(prediction_address)
    told = walk(page, NUMBERS["effects_by_head"], "Home", "ArrowRight", "ArrowUp")
    at, value = at_head(told)
    assert value == signed(text.heads[-1][at])
    told = walk(page, NUMBERS["effects_by_head"], "Home", "End", panel=1)
    assert told["part"] == "all biases"
    assert float(told["sum so far"].replace("−", "-")) == pytest.approx(text.logit[-1], abs=0.02)

    number = NUMBERS["effect_by_target"]
    layer, head = (
        int(page.input_value(f"#fig-{number} input[name={name}]")) for name in ("layer", "head")
    )
    for panel in (0, 1):
        told = walk(page, number, "End", "ArrowUp", "ArrowLeft", panel=panel)
        i, j = (int(told[f"{which} token"].split()[0]) for which in ("current", "target"))
        one = text.head(layer, head)
        assert given(told) == (pytest.approx(one.probability[i, j], abs=6e-4), i - j)
        assert float(told["direct effect"].replace("−", "-")) == pytest.approx(
            one.effect[i, j], abs=0.0006
        )
        page.keyboard.press("Escape")

    told = walk(page, NUMBERS["logit_lens"], "Home", "ArrowRight", "ArrowUp")
    token, lens = int(told["token"].split()[0]), text.lens
    after = re.match(r"After (?:layer (\d+)|the embedding), ", told["title"])
    state = 2 * int(after[1]) + 2 if after[1] else 0
    word = lens.words[int(lens.tokens[state, token, 0])]
    share = math.exp(lens.log_probability[state, token].max())
    said = told["title"].removeprefix(after[0])
    assert said == f"“{word}” is the first guess, with {share:.1%}"

    told = walk(page, NUMBERS["direct_and_ablation"], "Home", "ArrowRight", "ArrowRight")
    name, adds, _, lost = re.match(
        r"(L\d+H\d+) adds (\S+) logits([;,].*) (\S+) is lost without it", told["title"]
    ).groups()
    layer, head = map(int, name.removeprefix("L").split("H"))
    assert adds == signed(text.heads[-1][layer, head])
    assert lost == signed(text.drop("mean")[layer, head])

    told = walk(page, NUMBERS["what_a_head_writes"], "Home", "ArrowDown")
    one = text.head(*map(int, told["head"].removeprefix("L").split("H")))
    token = int(told["when it reads"].split()[0])
    assert told["logit it would add"] == signed(one.writes.promoted_by[token].max())
    assert told["share of attention"] == f"{one.probability[-1, token]:.1%}"

    told = walk(page, NUMBERS["score_origins"], "Home")
    one = text.head(*prediction.shown_heads[0])
    target = int(told["token"].split()[0])
    assert target == one.probability[-1].argmax()
    place = [part.label for part in one.origins.parts].index(told["written by"])
    above = one.origins.by_key[place] - one.origins.by_key[place].mean()
    assert told["in the score, above the mean"] == signed(above[one.origins.targets.index(target)])


@pytest.mark.browser
def test_maps_draw_what_python_draws(page, prediction_address, prediction, text, monkeypatch):
    # as it is before a file of few colours is made of it
    monkeypatch.setattr(effect_by_target.raster, "data_url", lambda pixels: pixels)
    page.goto(prediction_address)
    state = {"sentence": "0", "layer": 1, "head": 2}
    file = json.loads((prediction.path / "head/0/1/2.json").read_text("utf-8"))
    labels = [token.label for token in text.tokens]
    for panel in (0, 1):
        spec = figure_named("effect_by_target").chart(prediction, panel=panel, **state).to_dict()
        report = spec["usermeta"]["report"]
        found = page.evaluate(
            """async ([decode, file, tokens, state, report]) => {
            const { decoders } = await import('/assets/data/decoders.js');
            const { coloured, wholeOf } = await import('/assets/data/raster.js');
            const { datasets, signals, picture, map } =
                decoders[decode](file, tokens, state, report);
            const { across, down, shades } = picture(wholeOf(map), [999, 999]);
            const pixels = [...coloured({ shades }, report.ramp.light)];
            return { datasets, signals, across, down, pixels }; }""",
            [report["data"]["decode"], file, labels, state, report],
        )
        rows = figure_named("effect_by_target").rows(prediction, panel=panel, **state)
        assert_same(found["datasets"]["markers"], rows["markers"], "markers")
        params = {param["name"]: param.get("value") for param in spec["params"]}
        for name, value in found["signals"].items():
            assert value == params[name] or value == pytest.approx(params[name]), name
        assert [found["across"], found["down"]] == [text.rows, text.rows]
        pixels = np.reshape(found["pixels"], (text.rows, text.rows, 4))
        expected = rows["map"][0]["image"].astype(int)
        assert np.array_equal(pixels[..., 3], expected[..., 3])
        assert (pixels[..., 3] > 0).tolist() == np.tri(text.rows, dtype=bool).tolist()
        assert np.abs(pixels - expected).max() <= 2  # the script rounds to 255 shades


@pytest.mark.browser
def test_a_head_that_is_pinned_is_shown_by_all_figures_of_one_head(
    page, prediction_address, prediction
):
    page.goto(prediction_address)
    before = ink_at_rest(page, NUMBERS["direct_and_ablation"])
    told = walk(page, NUMBERS["effects_by_head"], "Home", "ArrowRight", "Enter")
    (layer, head), _ = at_head(told)
    value = "document.querySelector('#fig-{} input[name={}]').value"
    map_ = NUMBERS["effect_by_target"]
    until(page, f"{value.format(map_, 'layer')} === '{layer}'")
    until(page, f"{value.format(map_, 'head')} === '{head}'")
    chosen = prediction.shown_heads.index((layer, head))
    for name in ("what_a_head_writes", "score_origins"):
        until(page, f"{value.format(NUMBERS[name], 'chosen')} === '{chosen}'")
    assert ink_at_rest(page, NUMBERS["direct_and_ablation"]) != before
    until(page, f"location.hash.includes('pinned_layer={layer},pinned_head={head}')")


@pytest.mark.browser
def test_another_sentence_has_other_tokens_on_the_axes(page, prediction_address, prediction):
    number = NUMBERS["effect_by_target"]
    page.goto(f"{prediction_address}#fig-{number}:sentence=1,layer=1,head=0")
    told = walk(page, number, "End")
    other = prediction.sentences[1]
    assert told["current token"] == f"{other.rows - 1}  “{other.tokens[other.rows - 1].label}”"
    assert told["asked for"] == f"“{other.target().label.strip()}”"
