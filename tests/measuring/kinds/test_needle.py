"""Facts in a long text: what is measured, beside plain passes of transformers and hooks."""

import numpy as np
import pytest
import torch

from report.errors import ReportError
from report.figures import needle_heads
from report.figures.parts.heads import head_label
from report.inputs.needles import DEPTHS, Needle, NeedlesSpec, filler
from report.inputs.passages import corpus
from report.kinds.prediction.measure import replacements
from report.kinds.regions.data import verify
from report.kinds.regions.findings import Findings
from report.kinds.regions.measure_needle import SETS
from report.measurements.needle import beside_elsewhere, error
from report.models.attention.structure import structure
from report.models.text.needle import Hiding
from tests.figures import hand_regions
from tests.figures.hand_regions import NEEDLE, measured


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return hand_regions.study(tmp_path_factory.mktemp("needle"))


@pytest.fixture(scope="module")
def hiding():
    return Hiding(measured()[0], filler([text.text for text in corpus()]).text)


def whole(loaded, ids):
    before = loaded.model.config._attn_implementation
    loaded.model.set_attn_implementation("eager")
    with torch.no_grad():
        output = loaded.model(torch.tensor([ids]), output_attentions=True, use_cache=False)
    loaded.model.set_attn_implementation(before)
    return torch.cat(output.attentions).double().numpy(), output.logits[0].double()


def loss(logits, text):
    return -np.mean([float(logits[t - 1].log_softmax(-1)[text.token_ids[t]]) for t in text.answer])


def test_a_fact_stands_where_its_tokens_are_said_to(hiding):
    tokenizer, needle = measured()[0].tokenizer, NEEDLE.facts[0]
    plain = hiding.text_of(needle, 300, None)
    assert needle.fact not in tokenizer.decode(plain.token_ids)
    before = 0
    for depth in range(DEPTHS):
        text = hiding.text_of(needle, 300, depth)
        ids = text.token_ids
        spelt = [tokenizer.decode(ids[part.start : part.stop]).strip() for part in (
            text.places[depth], text.question, text.answer)]  # fmt: skip
        assert spelt == [needle.fact, needle.question, needle.answer.strip()]
        assert text.answer.stop == len(ids) <= 300
        assert len({len(place) for place in text.places}) == 1
        starts = [place.start for place in text.places]
        assert starts == sorted(starts)
        assert before < starts[depth] == pytest.approx((depth + 0.5) / DEPTHS * 290, abs=20)
        before = starts[depth]
        rest = ids[: text.places[depth].start] + ids[text.places[depth].stop :]
        assert rest == plain.token_ids


@pytest.mark.parametrize(
    ("needle", "length", "message"),
    [
        ({}, 10**6, "all short texts have .* name smaller `lengths`"),
        ({"fact": "The lamp is red. " + "So it is. " * 30}, 300, "places overlap; shorten it"),
    ],
)
def test_what_cannot_be_hidden_is_refused(hiding, needle, length, message):
    one = Needle(**NEEDLE.facts[0].model_dump() | needle)
    with pytest.raises(ReportError, match=message):
        hiding.text_of(one, length, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"facts": [NEEDLE.facts[0]]}, "at least 2"),
        ({"lengths": [512, 300]}, "must grow"),
        ({"lengths": [20]}, "from 256 tokens"),
        (
            {"facts": [NEEDLE.facts[0].model_dump() | {"answer": " blue"}] * 2},
            "no part of its fact",
        ),
    ],
)
def test_needles_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        NeedlesSpec(**NEEDLE.model_dump() | change)


def test_shares_and_losses_are_those_of_plain_passes_over_whole_texts(hiding, data):
    loaded, result, _ = measured()
    texts = [hiding.text_of(NEEDLE.facts[1], 300, depth) for depth in (*range(DEPTHS), None)]
    passes = [whole(loaded, text.token_ids) for text in texts]
    for layer, head in ((0, 3), (1, 26), (4, 11)):
        shares = np.zeros((DEPTHS, DEPTHS))
        for depth, (text, (attention, _)) in enumerate(zip(texts[:-1], passes, strict=False)):
            rows = [t - 1 for t in text.answer]
            for at, place in enumerate(text.places):
                given = [sum(attention[layer, head, q, k] for k in place) for q in rows]
                shares[depth, at] = np.mean(given)
        here = result.needles.given[1, 0, :, layer, head, 0]
        assert here == pytest.approx(shares.diagonal(), abs=1e-5)
        loop = [np.mean([shares[d, at] for d in range(DEPTHS) if d != at]) for at in range(DEPTHS)]
        assert result.needles.elsewhere[1, 0, :, layer, head, 0] == pytest.approx(loop, abs=1e-5)
    plain = [loss(logits, text) for text, (_, logits) in zip(texts, passes, strict=True)]
    assert data.needle_losses()[1, 0] == pytest.approx(plain, abs=2e-4)


def test_rises_are_those_of_hooks_from_the_question_on(hiding, data):
    loaded, result, _ = measured()
    needles, rises = result.needles, []
    mean = replacements(loaded, hand_regions.INPUTS.corpus)[0][1]
    for depth in range(DEPTHS):
        text = hiding.text_of(NEEDLE.facts[1], 300, depth)
        hooks = []
        for layer, part in enumerate(structure(loaded.model)):

            def hook(_, args, layer=layer, heads=part.heads, start=text.question.start):
                context = args[0].clone()
                cells = context.view(*context.shape[:2], heads, -1)
                for at, head in needles.chosen:
                    if at == layer:
                        cells[:, start:, head] = mean.of(layer)[0, head].to(cells)
                return (context,)

            hooks.append(part.output_projection.register_forward_pre_hook(hook))
        without = loss(whole(loaded, text.token_ids)[1], text)
        for each in hooks:
            each.remove()
        rises.append(without - needles.losses[1, 0, depth])
    assert needles.rises[0, 0, :, 0] == pytest.approx(rises, abs=2e-4)
    values, errors = data.needle_rises()
    assert values.shape == (1, 1 + SETS)
    assert values[0, 0] == pytest.approx(np.mean(rises), abs=2e-4)
    assert errors[0, 0] == pytest.approx(np.std(rises, ddof=1) / np.sqrt(DEPTHS), abs=2e-4)


def test_places_are_compared_with_texts_whose_fact_is_elsewhere():
    shares = np.random.default_rng(0).random((4, 2, 4))
    given, elsewhere = beside_elsewhere(shares)
    for depth, head in np.ndindex(4, 2):
        assert given[depth, head] == shares[depth, head, depth]
        others = [shares[other, head, depth] for other in range(4) if other != depth]
        assert elsewhere[depth, head] == pytest.approx(np.mean(others))
    assert error(np.array([1.0, 2, 3])) == pytest.approx(1 / np.sqrt(3))


def test_what_may_be_said_and_what_is_drawn(data):
    verify(data)
    find = Findings(data)
    needles = measured()[1].needles
    assert {(h.layer, h.head) for h in find.finders} == {*needles.chosen}
    more = (needles.given - needles.elsewhere)[..., 0]
    top = find.finders[0]
    assert top.value == pytest.approx(more.mean((0, 1, 2))[top.layer, top.head], abs=2e-4)
    look = find.looks(top, 0)
    units = more[:, 0, :, top.layer, top.head].ravel()
    assert look.fact - look.place == pytest.approx(units.mean(), abs=2e-4)
    assert look.error == pytest.approx(units.std(ddof=1) / np.sqrt(units.size), abs=2e-4)
    assert find.at_depths(top, 0).mean() == pytest.approx(look.fact, abs=2e-4)
    assert find.answered(0).absent == pytest.approx(needles.losses[:, 0, -1].mean(), abs=2e-4)
    assert find.rise_without(0).receivers == data.needle_rises()[0][0, 0]
    assert find.above(0.1) == (data.needle_score() >= 0.1).sum()
    heads = needle_heads.shown(data)
    assert heads[0] == np.unravel_index(data.needle_score().argmax(), data.needle_score().shape)
    rows = needle_heads.rows(data, 0, length=0)["heads"]
    assert [row["name"] for row in rows[::2]] == [head_label(*at) for at in heads]
    for row in rows:
        column = "answer" if row["kind"] == "the fact" else "answer_elsewhere"
        here = data.needle_heads(column)[row["layer"], row["head"], 0]
        assert row["share"] == pytest.approx(here, abs=1e-4)
    cells = needle_heads.rows(data, 1, length=0)["depths"]
    assert len(cells) == len(heads) * DEPTHS
    for cell in cells:
        here = data.needle_depths("answer")[cell["layer"], cell["head"], 0, cell["depth"]]
        assert cell["share"] == pytest.approx(here, abs=1e-4)
