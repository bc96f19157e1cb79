"""A pair of prompts from front matter to a page, each number beside plain hooks."""

import html
import json
import re
import shutil

import numpy as np
import pytest
import torch

from report.datasets.formats.pair import AT_TOKEN, HEADS, LEAST, STEP
from report.datasets.read.study import open_study
from report.effects.parts import Part
from report.effects.patching import pair
from report.effects.paths import CHANNELS, into
from report.errors import ReportError
from report.kinds.pair import measure as kind
from report.kinds.pair.data import verify
from report.kinds.pair.findings import Findings
from report.kinds.pair.measure import matched_with, receivers_of
from report.models.load.load import load_model
from report.models.text.tokens import encode
from report.study.study import read_study
from tests.commands import report
from tests.figures import hand_pair
from tests.figures.hand_pair import INPUTS, PATTERN, SET
from tests.themed import write_themed

CLEAN, CORRUPTED = INPUTS.clean, INPUTS.corrupted


@pytest.fixture(scope="module")
def falcon():
    return load_model("falcon-8x8")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return hand_pair.study(tmp_path_factory.mktemp("pair"))


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    return hand_pair.study(tmp_path_factory.mktemp("set"), SET)


def one_of(number):
    """A pair of the set by itself, spelt out."""
    here, there = (SET.fills[name][number] for name in ("here", "there"))
    texts = PATTERN.format(here=here), PATTERN.format(here=there)
    return kind.Inputs(*texts, f" {here}", f" {there}", INPUTS.corpus)


def run(model, ids, replaced=None, keep=None):
    """Logits at the last token of a text; replaced: layer, head, tokens, and what entered all
    output projections of another run; keep: a list that gets what enters these."""
    hooks = []
    for at, layer in enumerate(model.transformer.h):
        projection = layer.self_attention.dense

        def hook(_, args, at=at):
            context = args[0].clone()
            if replaced and replaced[0] == at:
                _, head, places, other = replaced
                cells, others = (c.unflatten(-1, (8, -1)) for c in (context, other[at]))
                cells[:, places, head] = others[:, places, head]
            if keep is not None:
                keep.append(context)
            return (context, *args[1:])

        hooks.append(projection.register_forward_pre_hook(hook))
    with torch.no_grad():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0, -1].double()
    for each in hooks:
        each.remove()
    return logits


def test_its_numbers_are_those_of_plain_hooks(falcon, data):
    model, (clean, corrupted) = falcon.model, (encode(falcon, t) for t in (CLEAN, CORRUPTED))
    hill, road = (encode(falcon, CLEAN + word)[-1] for word in (" hill", " road"))
    kept = [], []
    logits = [run(model, ids, keep=k) for ids, k in zip((clean, corrupted), kept, strict=True)]
    first, second = (float(each[hill] - each[road]) for each in logits)
    assert (data.clean.difference, data.corrupted.difference) == pytest.approx(
        (first, second), abs=1e-3
    )
    assert [token.id for token in data.corrupted.tokens] == corrupted
    assert clean[data.start] != corrupted[data.start]
    heads = [(each.layer, each.head) for each in Findings(data).sorted()[:2]] + [(3, 0)]
    for layer, head in heads:
        for place in (data.start, data.changed[-1], slice(None)):
            logit = run(model, corrupted, (layer, head, place, kept[0]))
            restored = (float(logit[hill] - logit[road]) - second) / (first - second)
            logit = run(model, clean, (layer, head, place, kept[1]))
            lost = (first - float(logit[hill] - logit[road])) / (first - second)
            for way, share in (("restored", restored), ("lost", lost)):
                values = data.of_heads(way)[layer, head]
                if isinstance(place, int):
                    values = data.at_tokens(way)[layer, head, place - data.start]
                assert values == pytest.approx(share, abs=3e-4)
    zeros = [torch.zeros_like(context) for context in kept[0]]
    layer, head = heads[0]
    logit = run(model, clean, (layer, head, slice(None), zeros))
    lost = (first - float(logit[hill] - logit[road])) / (first - second)
    assert data.of_heads("zero")[layer, head] == pytest.approx(lost, abs=3e-4)
    assert data.of_heads("mean")[layer, head] != pytest.approx(lost, abs=3e-4)


def test_receivers_are_the_heads_that_matter_and_random_ones_of_their_layers(data):
    restored = data.of_heads("restored")
    receivers = [each.place for each in data.receivers if not each.matched]
    assert receivers == receivers_of(restored)
    assert len(receivers) == kind.RECEIVERS
    assert (
        min(abs(restored[place]) for place in receivers) >= np.sort(np.abs(restored.ravel()))[-13]
    )
    others = [each.place for each in data.receivers if each.matched]
    assert others == matched_with(receivers, 8) != matched_with(receivers[:-1], 8)
    assert not {*receivers} & {*others}
    layers = [[layer for layer, _ in sorted(places)] for places in (receivers, others)]
    assert layers[0] == layers[1]
    assert matched_with([(0, 0), (0, 1)], 2) == []


def test_what_may_be_said_of_it(data):
    verify(data)
    find = Findings(data)
    top = find.strongest
    assert top.value == data.of_heads("restored").max() == find.value("restored", top)
    token = find.token(top)
    values = data.at_tokens("restored")[top.layer, top.head]
    assert find.there(top) == max(values, key=abs) == values[token.index - data.start]
    edges = find.into(find.head(*data.receivers[0].place))
    sizes = [abs(each.value) for each in edges]
    assert sizes == sorted(sizes, reverse=True)
    assert {each.receiver for each in edges} == {data.receivers[0].place}
    assert find.floor == max(abs(each.value) for each in data.matched_edges)
    assert all(abs(each.value) > find.floor for each in find.between)
    first = find.between[0]
    sender, receiver = find.head(first.sender.layer, first.sender.head), find.head(*first.receiver)
    assert find.edge(sender, receiver, first.by) == first.value
    assert find.edge(find.head(7, 7), find.head(7, 6), "Q") == 0
    assert find.receiver(receiver).place == first.receiver
    assert min(abs(each.value) for each in data.edges) >= LEAST - STEP


def test_numbers_of_a_set_are_means_over_its_pairs(data, several, tmp_path):
    alone = [data, hand_pair.study(tmp_path, one_of(1))]
    assert [one.pairs[0] for one in alone] == several.pairs
    assert several.start == alone[0].start
    assert [t.text for t in several.clean.tokens if "{" in t.text] == ["{here}"]
    assert several.clean.tokens[several.start].label == "{here}"
    assert several.corrupted.tokens[several.start].label == "{there}"
    for whose in ("clean", "corrupted"):
        differences = [getattr(one, whose).difference for one in alone]
        assert getattr(several, whose).difference == pytest.approx(np.mean(differences), abs=1e-4)
    rounding = {"rtol": 0, "atol": 2 * STEP}
    for method, names in (("at_tokens", AT_TOKEN), ("of_heads", HEADS)):
        for name in names:
            each = [getattr(one, method)(name) for one in alone]
            error = np.std(each, 0, ddof=1) / 2**0.5
            means, errors = (getattr(several, start + method)(name) for start in ("", "errors_"))
            np.testing.assert_allclose(means, np.mean(each, 0), **rounding)
            np.testing.assert_allclose(errors, error, **rounding)
    assert several.errors_of_heads("restored").max() > 100 * STEP
    find = Findings(several)
    top = find.strongest
    errors = several.errors_of_heads("restored")
    assert find.error("restored", top) == errors[top.layer, top.head]
    with pytest.raises(ReportError, match="has no standard error"):
        Findings(alone[0]).error("restored", top)


def test_paths_of_a_set_are_means_into_the_heads_that_restore_most_on_the_mean(falcon, several):
    receivers = [each.place for each in several.receivers if not each.matched]
    assert receivers == receivers_of(several.of_heads("restored"))
    found = []
    for each in (one_of(number) for number in range(2)):
        ids = (encode(falcon, text) for text in (each.clean, each.corrupted))
        of = pair(falcon, *ids, kind._question(falcon, each))
        found.append({(one.layer, one.head): one for one in into(of, receivers[:1])}[receivers[0]])
    edges = np.array([one.edges for one in found])
    means = edges.mean(0)
    errors = edges.std(0, ddof=1) / 2**0.5
    told = [edge for edge in several.edges if edge.receiver == receivers[0]]
    assert len(told) == (np.abs(means) >= LEAST).sum() > 3
    for edge in told:
        sender = Part(edge.sender.kind, edge.sender.layer, edge.sender.head)
        at = CHANNELS.index(edge.by), found[0].senders.index(sender)
        assert edge.value == pytest.approx(means[at], abs=STEP)
        assert edge.error == pytest.approx(errors[at], abs=STEP)


def test_a_set_of_one_pair_has_its_numbers_in_every_bit(data, tmp_path):
    fills = {name: words[:1] for name, words in SET.fills.items()}
    alone = hand_pair.study(tmp_path, kind.Inputs(**(vars(SET) | {"fills": fills})))
    assert (alone.path / "pair.json").read_bytes() == (data.path / "pair.json").read_bytes()
    assert alone.pairs == data.pairs
    assert alone.errors_of_heads("lost") is None


@pytest.mark.parametrize(
    ("fills", "message"),
    [
        (
            {"here": ("hill", "bridge"), "there": ("road", "table")},
            r"pair 2 \(here: 'bridge', there: 'table'\): the clean prompt has 17 tokens",
        ),
        (
            {"here": ("hill", "bridge"), "there": ("road", "strawberry")},
            r"pair 2 .*the clean prompt has 17 tokens .*18",
        ),
        (
            {"here": ("hill", "bridge"), "there": ("road", "bridges")},
            r"pair 2 .*: ' bridge' has 2 tokens of falcon-8x8 in the clean prompt \(“ brid”, “ge”\)"
            ", and ' hill' in pair 1 has 1",
        ),
    ],
)
def test_pairs_whose_tokens_are_not_aligned_are_refused_by_their_word(falcon, fills, message):
    with pytest.raises(ReportError, match=message):
        kind.tokenized(falcon, kind.Inputs(**(vars(SET) | {"fills": fills})))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["tables"]["heads"]["columns"].pop("zero"), "has other columns"),
        (
            lambda d: d["tables"]["heads"]["columns"]["layer"]["values"].reverse(),
            "each: 8 of layer",
        ),
        (
            lambda d: d["tables"]["tokens"]["columns"]["token"]["values"].reverse(),
            "8 of head, 11 of token",
        ),
        (lambda d: d["tables"]["receivers"]["columns"]["all"].update(step=1.0), "another share"),
        (lambda d: d["tables"]["edges"]["columns"]["edge"].update(step=1e-9), "smaller than"),
    ],
)
def test_a_damaged_dataset_is_refused(data, tmp_path, change, message):
    folder = shutil.copytree(data.path, tmp_path / data.path.name)
    path = folder / "pair.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    damaged = open_study([folder])
    damaged.manifest["files"]["pair.json"] = None
    with pytest.raises(ReportError, match=message):
        verify(damaged)


FRONT = """---
title: Who
date: 2026-01-02
author: Ann
summary: Who?
pair: {{clean: The lamp, corrupted: The hill, answer: {answer}, other: " road"}}
{more}---
"""


@pytest.mark.parametrize(
    ("answer", "more", "message"),
    [
        ('" road"', "", "says the same as `answer` and as `other`"),
        ('" lamp"', "layers: 2\n", "a pair of prompts needs all of them"),
        ('" lamp"', "models: [falcon-8x8, llama-4x4]\n", "name one `model`"),
        ('" lamp"', "kind: passage\n", "`kind: passage`"),
        ('" lamp"', "passage: the-lamp\n", "which an article about a pair of prompts does not"),
        ("5", "", "answer"),
    ],
)
def test_front_matter_that_does_not_fit_is_refused(tmp_path, answer, more, message):
    path = tmp_path / "templates" / "articles" / "who.md.j2"
    path.parent.mkdir(parents=True)
    path.write_text(FRONT.format(answer=answer, more=more))
    with pytest.raises(ReportError, match=message):
        read_study(path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"corrupted": CORRUPTED + " old"}, r"the corrupted one 1\d; from token 5 on .* “ hill”"),
        ({"corrupted": CLEAN}, "the same tokens"),
        ({"clean": f"{CLEAN} " * 5, "corrupted": f"{CORRUPTED} " * 5}, "a pair has at most 64"),
        ({"answer": " hill", "other": " hill"}, "begin with the same token"),
        ({"answer": ""}, "do not part there"),
    ],
)
def test_prompts_that_do_not_fit_are_refused(falcon, changed, message):
    inputs = kind.Inputs(**(vars(INPUTS) | changed))
    with pytest.raises(ReportError, match=message):
        kind.measure(falcon, inputs, lambda *_: None, lambda _: None)


def test_a_model_whose_parts_cannot_be_told_apart_has_no_paths(falcon, monkeypatch):
    def refuse(*_):
        raise ReportError("they cannot be told apart")

    monkeypatch.setattr("report.effects.paths.into", refuse)
    measured, facts = kind.measure(falcon, INPUTS, lambda *_: None, lambda _: None)
    assert (measured.receivers, measured.matched) == ([], [])
    assert facts["pair"]["reason"] == "they cannot be told apart"


def test_an_article_is_made_measured_drawn_and_checked(tmp_path):
    root = write_themed(tmp_path / "publication")
    assert report("new", "two", "--kind", "pair", "--project", root).returncode == 0
    built = report("site", "--study", "two", "--project", root)
    assert built.returncode == 0, built.stdout + built.stderr
    text = (root / "site_src" / "articles" / "two" / "index.md").read_text()
    words = re.sub("<[^>]*>", "", html.unescape(text))
    assert re.search(r"what L\dH\d hands on .* \d+\W+% of the difference", words)
    assert text.count('<figure class="live-figure') >= 2
    checked = report("check", root / "site")
    assert checked.returncode == 0, checked.stdout + checked.stderr
