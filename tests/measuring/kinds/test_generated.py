"""Generated sentences: what they are made of, and the means that are kept of them."""

import json

import numpy as np
import pytest

from report.datasets import store
from report.datasets.formats import generated as dataset
from report.effects.ablation import ablation
from report.effects.asked import Asked
from report.effects.direct import direct_effects
from report.effects.replacing import of_text, zeros
from report.errors import ReportError
from report.inputs import generated
from report.inputs.specs import GeneratedSpec
from report.kinds.prediction import measure_generated as kind
from report.models.load.load import load_model
from report.models.text.tokens import encode
from tests.made_prediction import CORPUS, NAMES, gathered, generated_study

WORDS = {"names": generated.NAMES, "places": generated.PLACES, "things": generated.THINGS}


@pytest.fixture(scope="module")
def measured(tmp_path_factory, falcon_folder):
    folder = tmp_path_factory.mktemp("generated") / "ab9876543210"
    return generated_study(folder, falcon_folder)


def test_pairs_differ_only_in_who_is_named_first():
    made = generated.sentences(240, 0, WORDS)
    assert len({one.text for one in made}) == 240
    for first, second in zip(made[::2], made[1::2], strict=True):
        assert (first.target, first.other, first.form) == (second.target, second.other, second.form)
        assert sorted(first.text.split()) == sorted(second.text.split())
        assert first.text.index(first.target) < first.text.index(first.other)
        assert second.text.index(second.other) < second.text.index(second.target)
    assert {one.form for one in made} == set(range(len(generated.FORMS)))
    for one in made:
        assert one.text.count(one.other) == 2
        assert one.text.count(one.target) == 1
        assert not {one.target.strip(), one.other.strip()} & {*one.resampled.split()}
    assert generated.sentences(240, 0, WORDS) == made
    assert generated.sentences(240, 1, WORDS) != made


def test_a_model_that_knows_too_few_names_is_refused():
    with pytest.raises(ReportError, match="of 32 names, tiny knows 2 as one token each, and 4 are"):
        generated.known_words(lambda word: word in ("Mary", "John", "store"), "tiny")


def test_a_set_that_there_is_not_is_refused():
    with pytest.raises(ReportError, match="unknown set of generated sentences 'takers'; known: "):
        generated.require_set("takers")


def test_means_are_those_of_the_sentences(measured, falcon_folder):
    """Each sentence again, by itself."""
    loaded, data = load_model(falcon_folder), measured
    assert data.number == 6
    assert data.about["ablated"] == {"zero": 2, "mean": 2, "resample": 2}
    made = generated.sentences(6, 0, data.about["words"])
    assert data.texts == [one.text for one in made]
    direct, drops = [], {"zero": [], "resample": []}
    for place, one in enumerate(made):
        ids = encode(loaded, one.text)
        after = [encode(loaded, one.text + name)[len(ids)] for name in (one.target, one.other)]
        asked = [Asked(-1, *after)]
        direct.append(direct_effects(loaded, ids, asked))
        assert data.logit[place] == pytest.approx(direct[-1].logit[0], abs=1e-4)
        if place < 2:
            other = of_text(loaded, encode(loaded, one.resampled))
            for replacement in (zeros(loaded), other):
                found = ablation(loaded, ids, asked, replacement)
                drops[replacement.kind].append(found.drop[0])
    heads = np.concatenate([one.heads for one in direct])
    np.testing.assert_allclose(data.mean("direct"), heads.mean(0), atol=1e-4)
    error = [np.std([one[layer] for one in heads[:, :, 1]], ddof=1) / 6**0.5 for layer in range(3)]
    np.testing.assert_allclose(data.error("direct")[:, 1], error, atol=1e-4)
    for name, found in drops.items():
        np.testing.assert_allclose(data.mean(name), np.mean(found, 0), atol=1e-4)
    assert data.right.tolist() == (data.logit > 0).tolist()
    with pytest.raises(ReportError, match="'other' was not measured; measured are: direct, zero"):
        data.mean("other")


def test_another_number_is_another_key(falcon_folder):
    keys = [
        kind.parts(kind.Inputs(GeneratedSpec(set="givers", number=number), ("a text",)))
        for number in (100, 200)
    ]
    assert keys[0]["prompts"] != keys[1]["prompts"]


def test_any_division_gives_the_same_dataset_in_every_bit(falcon_folder, monkeypatch):
    monkeypatch.setattr(kind, "known_words", lambda _: NAMES)
    loaded = load_model(falcon_folder)
    spec = GeneratedSpec.model_construct(set="givers", number=6, ablated=2, seed=0)
    inputs = kind.Inputs(spec, CORPUS)
    told = lambda *_: None, lambda _: None
    whole, facts = gathered(loaded, inputs, *told)
    divided, same = gathered(loaded, inputs, *told, size=1)
    kept = store.dumps(store.check(divided.told.as_json(), "here"))
    expected = dataset.encode(whole.sentences, whole.told)
    for rows in (divided.told, kind.tally_of(json.loads(kept))):
        assert dataset.encode(divided.sentences, rows) == expected
    assert same == facts


@pytest.mark.parametrize(("number", "ablated"), [(240, 60), (20, 20), (21, 2), (30, None)])
def test_every_part_has_its_share_of_the_sentences_that_are_ablated(number, ablated):
    inputs = kind.Inputs(GeneratedSpec(set="givers", number=number, ablated=ablated), ())
    order = [each for each, _ in inputs.corpus]
    assert sorted(order) == list(range(number))
    assert len(inputs.corpus) == number
    ablated = ablated or number
    for half in (order[: number // 2], order[number // 2 :]):
        assert abs(sum(each < ablated for each in half) - ablated / 2) <= 1


def test_what_cannot_be_measured_says_which_and_what_to_do():
    advice = kind.Numbers(20, 2).left_out("3, 7")
    assert advice == "Take another `seed` below `generated:`, which has no such sentences."
