"""Which heads of SmolLM2 give Mary the drink: by way of the datasets of an article, and asked."""

import numpy as np
import pytest

from report import files
from report.datasets.read.study import open_study
from report.datasets.write.folder import write_folder
from report.effects import sentence as of_one
from report.inputs.predictions import Prompt
from report.kinds.prediction import measure as kind
from report.kinds.prediction.findings import PredictionFindings
from report.models.find.names import is_here
from report.models.load.load import load_model
from tests.made_conditions import provenance

SENTENCE = "When Mary and John went to the store, John gave a drink to"


@pytest.fixture(scope="module")
def smollm2():
    """SmolLM2 where it is installed, and the token ids of SENTENCE, " Mary" and " John"."""
    if not is_here("smollm2-135m"):
        # where a person left it out, nothing of it can be tried
        pytest.skip("smollm2-135m is not installed (REAL=no)")
    loaded = load_model("smollm2-135m", device="cpu")
    ids = [loaded.tokenizer(one)["input_ids"] for one in (SENTENCE, " Mary", " John")]
    return loaded, ids[0], ids[1][0], ids[2][0]


@pytest.fixture(scope="module")
def data(smollm2, tmp_path_factory):
    """The sentence, of which two heads are told in full."""
    loaded = smollm2[0]
    folder = tmp_path_factory.mktemp("drink") / "ab9876543210"
    inputs = kind.Inputs([Prompt(SENTENCE, " Mary", " John")], ["Mary and John went home."])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_one, "HEADS", 2)
        measured, facts = kind.measure(loaded, inputs, lambda *_: None, lambda _: None)
    told = provenance(1, 30, {"name": "smollm2-135m", "num_attention_heads": 9})
    told.pop("prompts")
    with files.new_folder(folder) as temporary:
        write_folder(temporary, kind.write, measured, told | {"kind": "prediction"} | facts)
    return open_study([folder])


def test_its_heads_write_the_answer_and_against_it(data):
    """The numbers that the datasets must give back, and that no other head has larger ones."""
    [one] = data.sentences
    assert one.logit[-1] == pytest.approx(6.1, abs=0.05)
    heads = one.heads[-1]
    told = {(23, 3): 2.9, (29, 1): 1.7, (23, 0): 0.8, (23, 1): 0.8, (24, 4): -1.1, (29, 0): -1.0}
    assert {head: round(heads[head], 1) for head in told} == told
    order = [divmod(int(place), 9) for place in np.argsort(heads.ravel())]
    assert set(order[-4:]) == {(23, 3), (29, 1), (23, 0), (23, 1)}
    assert set(order[:2]) == {(24, 4), (29, 0)}


def test_it_needs_these_heads(data):
    [one] = data.sentences
    assert one.before == pytest.approx(6.1, abs=0.05)
    drop = one.drop("zero")
    told = {(23, 3): 3.0, (1, 5): 2.2, (29, 1): 1.7, (1, 3): 1.3, (20, 0): 1.3, (16, 0): 1.2}
    assert {head: round(drop[head], 1) for head in told} == told
    assert {divmod(int(place), 9) for place in np.argsort(drop.ravel())[-6:]} == set(told)


def test_what_is_said_of_it(data):
    find = PredictionFindings(data)
    assert find.able
    assert [one.label for one in find.writers[:2]] == ["L23H3", "L29H1"]
    assert [one.label for one in find.against] == ["L24H4", "L29H0"]
    assert find.through[0].label in {"L0H0", "L20H0"}  # close to each other
    assert find.constant.label == "L1H5"
    [one] = data.sentences
    together = np.corrcoef(one.heads[-1].ravel(), one.drop("zero").ravel())[0, 1]
    assert together == pytest.approx(0.5, abs=0.05)
    seen = find.seen(find.strongest)
    assert (seen.looked_at, seen.mattered) == ("John", "John")
    assert "John" in seen.suppressed
    assert find.lowers(find.strongest)
    assert find.rise().before is not None
