"""An atlas of heads from front matter to datasets, each number beside a plain way to it."""

import json
from collections import Counter
from itertools import pairwise
from weakref import WeakSet

import numpy as np
import pytest
import torch

from report.datasets.formats.passage import part_name
from report.datasets.formats.portraits import MANY, NAMED
from report.datasets.read.study import open_study
from report.effects.asked import MEAN, Asked
from report.effects.direct import direct_effects
from report.errors import ReportError
from report.inputs.corpora import Corpus
from report.kinds.atlas import measure as kind
from report.kinds.atlas.agreement import HEADVIS, agreement
from report.kinds.atlas.data import verify
from report.kinds.atlas.findings import Findings
from report.measurements.portraits import STARTS, WINDOW, Portraits, TextPortrait
from report.measures import shipped
from report.measuring import run
from report.models.attention.capture import attached
from report.models.load.load import load_model
from report.models.measure import repetition as repetition_module
from report.models.measure.passage import measure_corpus
from report.models.measure.repetition import repetition
from report.models.text.tokens import encode, tokenize
from report.project import project as project_in
from report.study.study import read_study
from tests.models.recording import DenseRecorder, plain, probabilities

ARTICLE = """---
title: Atlas
date: 2026-01-02
author: Ann
summary: What it says.
atlas: true
effects: 3
corpus: texts.txt
cover: heads_by_two
---
{{ figure("heads_by_two") }}
"""
TEXTS = (
    "The lamp on the hill was lit, and the lamp went out.",
    "Nobody answered Ann.",
    "Ann saw the lamp; Bo saw the lamp, too.",
    "The window stood by the old lamp.",
    "One, two, three, one, two, three, one.",
    "Who lit it, 你?",
)


@pytest.fixture(autouse=True)
def few_sequences(monkeypatch):
    monkeypatch.setattr(repetition_module, "SEQUENCES", 2)


def write_atlas(root, keys="effects: 3"):
    """The article of a small atlas in a project of its own; keys: lines of its front matter."""
    article = root / "templates" / "articles" / "small.md.j2"
    article.parent.mkdir(parents=True)
    article.write_text(ARTICLE.replace("effects: 3", keys))
    (root / "mkdocs.yml").write_text("site_name: Small\n")
    (root / "texts.txt").write_text("\n".join(TEXTS))
    return article


@pytest.fixture
def root(tmp_path):
    write_atlas(tmp_path)
    return tmp_path


@pytest.fixture
def measured(root, falcon_folder, monkeypatch):
    """A function that measures the article: the folder of its datasets."""
    monkeypatch.chdir(root)

    def measured(force=False, **keys):
        options = {"model": str(falcon_folder)} | keys
        study = read_study(root / "templates" / "articles" / "small.md.j2", **options)
        [found] = run.datasets(study, project_in(root), lambda *_: None, force=force)
        return found.folder

    return measured


def test_every_number_is_what_a_plain_way_gives(measured, falcon_folder):
    data = open_study([measured()])
    verify(data)
    of, loaded = Findings(data), load_model(falcon_folder)
    ids = [encode(loaded, text) for text in TEXTS]
    for source, texts in (
        ("corpus", ids),
        ("control", [kind._shuffled(loaded, text) for text in ids]),
    ):
        plain = measure_corpus(loaded, texts)
        for name in shipped():
            if name in data.measures:
                np.testing.assert_allclose(of.values(name, source), plain.mean(name), atol=6e-5)
    repeated = repetition(loaded)
    np.testing.assert_allclose(of.values("induction"), repeated.induction.mean(0), atol=6e-5)
    control = of.values("induction", "control")
    np.testing.assert_allclose(control, repeated.unrepeated.mean(0), atol=6e-5)
    assert data.about["effects"] == {"texts": 3, "tokens": sum(map(len, ids[::2]))}


def test_numbers_of_headvis_are_compared_in_our_units(measured, falcon_folder, tmp_path):
    """Theirs by Neuronpedia's definitions, in a plain loop over what transformers computes. They
    count first tokens too, which see themselves alone, and sometimes second ones. What transformers
    gives counts ALiBi twice."""
    data, loaded = open_study([measured(alibi_factor=2)]), load_model(falcon_folder)
    ids = [encode(loaded, text) for text in TEXTS]
    tokens = sum(map(len, ids))
    sums = dict.fromkeys([*HEADVIS], 0)
    repeats = 0
    for text in ids:
        layers = loaded.model(torch.tensor([text]), output_attentions=True).attentions
        found = torch.stack(layers)[:, 0].detach().double()
        for current, token in enumerate(text):
            for target in range(current + 1):
                share, far = found[:, :, current, target], current - target
                sums["self_attention_score"] += share * (far == 0)
                sums["prev_token_score"] += share * (far == 1)
                sums["pattern_entropy"] -= share * share.clamp(min=1e-30).log()
                sums["qk_distance"] += share * far
                sums["qk_distance_variance"] += share * far**2
                after = target > 0 and text[target - 1] == token
                sums["induction_score"] += share.where(share >= 0.01, 0) * after
            repeats += token in text[:current]
    counts = dict.fromkeys([*HEADVIS], tokens)
    counts |= {"prev_token_score": tokens - len(ids), "induction_score": repeats}
    means = {name: sums[name] / counts[name] for name in HEADVIS}
    means["qk_distance_variance"] -= means["qk_distance"] ** 2
    rows = [
        {"layer": layer, "head": head}
        | {name: round(means[name][layer, head].item(), 4) for name in HEADVIS}
        for layer, head in np.ndindex(means["qk_distance"].shape)
    ]
    path = tmp_path / "scatter_data.json"
    path.write_text(json.dumps(rows))
    of = {each.words.name: each for each in agreement(path, data)}
    assert {*of} == {column.measure for column in HEADVIS.values()}
    others = 1 - len(ids) / tokens
    for name, first in (("to_itself", 1 - others), ("entropy", 0), ("distance", 0)):
        for pair in of[name].differences:
            assert pair.theirs == pytest.approx(pair.ours * others + first, abs=3e-4)
        assert of[name].pearson > 0.999
    assert of["to_previous_token"].differs
    assert of["to_previous_token"].rank > 0.9
    assert of["prefix_matching"].rank > 0.5
    assert of["distance_spread"].rank > 0.5


def test_effects_are_those_of_plain_hooks(measured, falcon_folder):
    of, loaded = Findings(open_study([measured()])), load_model(falcon_folder)
    texts = [encode(loaded, text) for text in TEXTS[::2]]
    rows = sum(len(ids) - 1 for ids in texts)
    added = sum(
        direct_effects(
            loaded, ids, [Asked(place, token, MEAN) for place, token in enumerate(ids[1:])]
        ).heads.sum(0)
        for ids in texts
    )
    np.testing.assert_allclose(of.values("direct"), added / rows, atol=6e-5)
    others = (added.sum(1, keepdims=True) - added) / (added.shape[1] - 1) / rows
    np.testing.assert_allclose(of.values("direct", "control"), others, atol=6e-5)
    before = sum(loss(loaded.model, ids) for ids in texts)
    heads = len(added[0])
    for layer, head in ((0, 0), (1, heads - 1)):
        rise = sum(loss(loaded.model, ids, without(loaded, texts, layer, head)) for ids in texts)
        assert of.value("lost", of.head(layer, head)) == pytest.approx(
            (rise - before) / rows, abs=1e-4
        )


def loss(model, ids, hooked=None):
    """Summed over the tokens of a text, perhaps with a hook on a module."""
    handle = hooked and hooked[0].register_forward_pre_hook(hooked[1])
    with torch.no_grad():
        logs = model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    if handle:
        handle.remove()
    return -sum(logs[place, token].item() for place, token in enumerate(ids[1:]))


def without(loaded, texts, layer, head):
    """A hook that puts the mean context of a head, first tokens left out, in place of its own."""
    module = loaded.structure[layer].output_projection
    heads, contexts = loaded.structure[layer].heads, []
    handle = module.register_forward_pre_hook(lambda _, args: contexts.append(args[0][0, 1:]))
    with torch.no_grad():
        for ids in texts:
            loaded.model(torch.tensor([ids]))
    handle.remove()
    mean = torch.cat(contexts).double().mean(0)
    size = len(mean) // heads
    part = slice(head * size, (head + 1) * size)

    def replace(_, args):
        context = args[0].clone()
        context[..., part] = mean[part].float()
        return (context, *args[1:])

    return module, replace


def test_a_shuffled_text_has_the_same_tokens_and_special_ones_in_their_places(falcon_folder):
    loaded = load_model(falcon_folder)
    special = loaded.tokenizer.all_special_ids[0]
    ids = [special, *encode(loaded, TEXTS[0]), special]
    shuffled = kind._shuffled(loaded, ids)
    assert Counter(shuffled) == Counter(ids)
    assert shuffled != ids
    assert [n for n, token in enumerate(shuffled) if token == special] == [
        n for n, token in enumerate(ids) if token == special
    ]
    assert kind._shuffled(loaded, ids) == shuffled


@pytest.mark.parametrize("parts", [2, 7])
def test_datasets_are_the_same_however_the_corpus_is_divided(measured, root, parts):
    """Into batches, as a cluster has it, and into files."""
    texts = [*TEXTS, *(f"{text} {text}" for text in TEXTS), *reversed(TEXTS[:2])]
    (root / "texts.txt").write_text("\n".join(texts))
    whole = contents(measured(effects=0))
    size = len(texts) // parts
    assert contents(measured(effects=0, force=True, cluster={"texts": size})) == whole
    for part in range(parts):
        few = texts[part * size :][:size]
        (root / f"part-{part}.txt").write_text("\n".join(few))
    again = measured(effects=0, force=True, cluster={"texts": 3}, corpus={"file": "part-*.txt"})
    assert contents(again) == whole


class Text(str):
    """A text of which it is known when nothing holds it any more."""


def test_texts_held_at_once_do_not_grow_with_the_corpus(measured, root, monkeypatch):
    """A batch of them, the one that is read next, and those that its pieces were made of."""
    texts, most = Corpus._texts, []

    def watched(corpus):
        alive = WeakSet()
        for index, text in texts(corpus):
            each = Text(f"{text} {index}")
            alive.add(each)
            most[-1] = max(most[-1], len(alive))
            yield index, each
            del each

    monkeypatch.setattr(Corpus, "_texts", watched)
    for times in (4, 20):
        most.append(0)
        (root / "texts.txt").write_text("\n".join(TEXTS * times))
        found = open_study([measured(effects=0, force=True, cluster={"texts": 4})])
        assert found.texts["texts"] == len(TEXTS) * times
    assert most[0] == most[1] <= 9


def contents(folder):
    files = [*sorted(folder.glob("heads/*.json")), folder / "portraits.json"]
    return {path.name: path.read_bytes() for path in files}


def test_portraits_are_what_a_plain_loop_gives(measured, falcon_folder):
    data = open_study([measured()])
    loaded = load_model(falcon_folder)
    ids = [encode(loaded, text) for text in TEXTS]
    maps = [attention_maps(loaded, text) for text in ids]
    bins = len(STARTS) + 1
    for layer, head in ((0, 0), (1, data.heads - 1)):
        share, even, rows = np.zeros(bins), np.zeros(bins), 0
        gets, expected, scores = Counter(), Counter(), []
        strong, number = Counter(), Counter()
        for text, attention in zip(ids, maps, strict=True):
            each = attention[layer, head]
            best = []
            for query in range(1, len(text)):
                rows += 1
                for key in range(query + 1):
                    at = 0 if key == 0 else 1 + sum(query - key >= start for start in STARTS[1:])
                    share[at] += each[query, key]
                    even[at] += 1 / (query + 1)
                    if key:
                        gets[text[key]] += each[query, key]
                        expected[text[key]] += 1 / (query + 1)
                best.append(max(each[query, 1 : query + 1]))
                strong[text[query]] += best[-1]
                number[text[query]] += 1
            scores.append(np.mean(best))
        found = data.portrait("distances", layer, head)
        np.testing.assert_allclose(found["share"], share / rows, atol=6e-5)
        np.testing.assert_allclose(found["even"], even / rows, atol=6e-5)
        assert found["share"].sum() == pytest.approx(1, abs=bins * 6e-5)
        whole = sum(gets.values()), sum(expected.values())
        tokens = data.portrait("tokens", layer, head)
        named = {side: tokens["token"][tokens["side"] == side].tolist() for side in ("to", "from")}
        often = [token for token in gets if sum(token in text[1:] for text in ids) >= MANY]
        beyond = {
            "to": {t: gets[t] / whole[0] - expected[t] / whole[1] for t in often},
            "from": {
                t: strong[t] - number[t] * sum(strong.values()) / sum(number.values())
                for t in often
            },
        }
        for side, by in beyond.items():
            require_most(named[side], by, min(NAMED, sum(each > 1e-4 for each in by.values())))
        for n, token in enumerate(tokens["token"].tolist()):
            to = tokens["side"][n] == "to"
            value = gets[token] / whole[0] if to else strong[token] / number[token]
            assert tokens["value"][n] == pytest.approx(value, abs=6e-5)
            assert tokens["number"][n] == number[token]
        examples = data.examples(layer, head)
        require_most([one.text for one in examples[:3]], dict(enumerate(scores)), 3)
        assert data.scores(layer, head) == pytest.approx(dict(enumerate(scores)), abs=6e-5)
        for one in examples:
            text, each = ids[one.text], maps[one.text][layer, head]
            assert [text[0], len(text)] == [text[one.start], len(one.words)]
            assert one.words == [*map(stands_for, tokenize(loaded, TEXTS[one.text]).tokens)]
            weaker = [sum(s < scores[one.text] + off for s in scores) for off in (-1e-5, 1e-5)]
            assert round(100 * weaker[0] / len(ids)) <= one.above <= 100 * weaker[1] / len(ids) + 1
            for query in range(1, len(text)):
                best = each[query, 1 : query + 1].max()
                assert each[query, one.target[query]] == pytest.approx(best, abs=1e-5)
                assert one.target[query] > 0
                assert one.strength[query] == pytest.approx(best, abs=0.0051)


def stands_for(token):
    """What stands for a token in an example: a part of a character names it."""
    return part_name(token["part"]) if "part" in token else token["text"]


def attention_maps(loaded, ids):
    """[layer, head, query, key], as the model computes it."""
    recorder = DenseRecorder()
    with attached(loaded.model, recorder, alibi_factor=loaded.identity["alibi_factor"]):
        plain(loaded.model, ids)
    return torch.stack(probabilities(recorder)).numpy()


def require_most(chosen, by, number):
    """That the first ones are chosen, the largest first, where rounding may not decide it."""
    values = [by[each] for each in chosen]
    assert len({*chosen}) == len(chosen) >= number
    assert all(one >= other - 1e-5 for one, other in pairwise(values))
    assert all(value <= min(values) + 1e-5 for each, value in by.items() if each not in chosen)


def test_a_long_text_is_shown_where_the_head_is_strongest():
    strength = np.zeros((1, 2, 300), np.float32)
    strength[0, 0, 150:160] = 0.5
    strength[0, 1, 290:] = 0.5
    nothing = np.zeros((1, 2, len(STARTS) + 1))
    text = TextPortrait(
        [*range(300)], strength, np.zeros((1, 2, 300), int), strength, strength[:, :1],
        nothing, nothing[:, :1],
    )  # fmt: skip
    found = Portraits.empty(1, 2)
    found.add(0, text, sample=True, tokens=True, shown=True)
    first, second = (found.readings[0][head] for head in (0, 1))
    assert [len(each.strength) for each in (first, second)] == [WINDOW, WINDOW]
    assert first.start <= 150 < 160 <= first.start + WINDOW
    assert second.start == 300 - WINDOW


def test_examples_do_not_grow_with_the_corpus(measured):
    found, rng = Portraits.empty(1, 2), np.random.default_rng(0)
    scores = {}
    for number in range(200):
        strength = rng.random((1, 2, 5)).astype(np.float32)
        scores[number] = strength[0, :, 1:].mean(1, dtype=float)
        nothing = np.zeros((1, 2, len(STARTS) + 1))
        text = TextPortrait(
            [*range(5)], strength, np.zeros((1, 2, 5), int), strength, strength[:, :1],
            nothing, nothing[:, :1],
        )  # fmt: skip
        found.add(number, text, sample=number % 50 == 0, tokens=True, shown=True)
    for head in (0, 1):
        best = sorted(scores, key=lambda n, head=head: -scores[n][head])[:3]
        assert found.best(0, head) == best
    kept = {0, 50, 100, 150, *found.best(0, 0), *found.best(0, 1)}
    assert {*found.readings} == {*found.texts} == kept
    again = Portraits.of_json(json.loads(json.dumps(found.as_json())))
    assert json.dumps(again.as_json()) == json.dumps(found.as_json())
    assert again.best(0, 1) == found.best(0, 1)


def test_without_examples_no_text_and_no_token_is_kept(measured):
    folder = measured(examples="none")
    data = open_study([folder])
    verify(data)
    assert not data.has_examples
    assert {*data.portraits} == {"distances"}
    assert "lamp" not in (folder / "portraits.json").read_text()


def test_without_effects_the_page_says_nothing_of_them(measured):
    data = open_study([measured(effects=0)])
    assert data.about["effects"] is None
    assert not {"direct", "lost"} & {*data.measures}


def test_more_texts_for_effects_than_there_are_take_all(measured):
    assert open_study([measured(effects=99)]).about["effects"]["texts"] == len(TEXTS)


def test_measures_of_the_publication_are_part_of_the_atlas(measured, root):
    (root / "measures").mkdir()
    (root / "measures" / "two_back.py").write_text(
        '"""Mean attention to the token two back."""\n\nTITLE = "Two back"\n\n\n'
        "def rows(attention):\n    return attention.to(attention.query - 2)\n"
    )
    data = open_study([measured()])
    assert "two_back" in data.measures
    assert "token two back" in data.words["two_back"].shows
    assert not np.isnan(Findings(data).values("two_back")).all()


def test_a_table_that_lacks_heads_is_refused(measured):
    folder = measured()
    path = folder / "heads" / "entropy.json"
    table = json.loads(path.read_text())
    for column in table["tables"]["heads"]["columns"].values():
        column["values"] = column["values"][:-1]
    table["tables"]["heads"]["rows"] -= 1
    path.write_text(json.dumps(table))
    data = open_study([folder])
    data.manifest["files"]["heads/entropy.json"] = None
    with pytest.raises(ReportError):
        verify(data)


def test_ranks_and_correlations(measured):
    of = Findings(open_study([measured()]))
    first, *_, last = of.sorted("entropy")
    assert of.rank("entropy", first) == 1
    assert first.value == np.nanmax(of.values("entropy")) >= last.value
    assert of.correlation("entropy", "entropy") == pytest.approx(1)
    expected = np.corrcoef(
        [ranks(of.values(name).ravel().tolist()) for name in ("entropy", "distance")]
    )[0, 1]
    assert of.correlation("entropy", "distance") == pytest.approx(expected)
    top, second = of.falls_most("prefix_matching", 2)
    fall = of.values("prefix_matching") - of.values("prefix_matching", "control")
    assert [top.value, second.value] == pytest.approx(sorted(fall.ravel())[:-3:-1])
    half = of.at_least("entropy", of.sorted("entropy")[5].value)
    assert [of.rank("entropy", head) for head in half] == list(range(1, len(half) + 1))
    assert of.mean("entropy", half) == pytest.approx(sum(h.value for h in half) / len(half))
    assert of.most("entropy", half[2:]) == half[2].value
    assert of.median("entropy") == pytest.approx(np.median(of.values("entropy")))
    assert of.mean("entropy") == pytest.approx(of.values("entropy").mean())


def ranks(values):
    return [sum(v < x for v in values) + sum(v == x for v in values) / 2 for x in values]


def test_what_prose_says_of_a_portrait_is_in_its_tables(measured):
    data = open_study([measured()])
    of = Findings(data)
    head = of.head(1, 2)
    found = data.portrait("distances", 1, 2)
    assert of.share_at(head, -1) == found["share"][0]
    assert of.share_at(head, 1) == found["share"][2]
    best, middle = of.strength(head)
    scores = [*data.scores(1, 2).values()]
    assert (best, middle) == (max(scores), pytest.approx(np.median(scores)))
    word, share, usual = of.most_read(head)
    tokens = data.portrait("tokens", 1, 2)
    assert (share, usual) == (tokens["value"][0], tokens["usual"][0])
    assert word == data.word(int(tokens["token"][0]))
