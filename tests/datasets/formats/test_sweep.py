"""The small table of a sweep, and which of its models are checkpoints of one training."""

import numpy as np
import pytest

from report.datasets import store
from report.datasets.formats import columnar, sweep
from report.errors import ReportError
from report.kinds.sweep.data import opened, training_step, training_steps
from report.measures import shipped
from tests.figures import hand_sweep


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return hand_sweep.study(tmp_path_factory.mktemp("sweep"))


def reopened(data, labels):
    return opened([model.path for model in data.models], labels)


def test_habits_come_back_as_they_were_measured():
    corpus, repeated = hand_sweep.statistics(4, 4), hand_sweep.repetition(4, 4)
    table = columnar.decode(sweep.encode(corpus, repeated, shipped().values()))["heads"]
    assert set(table) == {
        *("layer", "head", *sweep.REPEATED, *shipped()),
        *(f"{beside}_{name}" for beside in ("error", "even") for name in shipped()),
    }
    assert table["layer"].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert table["head"].tolist() == [0, 1, 2, 3] * 3
    expected = repeated.induction.mean(0)
    np.testing.assert_allclose(table["induction"].reshape(3, 4), expected, atol=sweep.STEP / 2)
    np.testing.assert_allclose(table["first_token"][:4], 0.15, atol=sweep.STEP / 2)


def test_the_error_is_that_of_the_mean_over_sequences():
    repeated = hand_sweep.repetition(4, 4)
    table = columnar.decode(sweep.encode(hand_sweep.statistics(4, 4), repeated, ()))["heads"]
    values = repeated.induction[:, 2, 1]
    mean = sum(values) / 5
    expected = (sum((value - mean) ** 2 for value in values) / 4 / 5) ** 0.5
    assert table["induction_error"].reshape(3, 4)[2, 1] == pytest.approx(expected, abs=sweep.STEP)


def test_what_is_written_is_valid(data):
    for model in data.models:
        for name in ("manifest.json", sweep.FILE):
            store.read(model.path / name)  # against its schema


def test_revisions_are_the_training_and_the_rest_is_compared(data):
    assert [model.step for model in data.training] == list(hand_sweep.STEPS)
    assert [model.label for model in data.training][:2] == ["step-0", "step-50"]
    assert [model.label for model in data.compared] == ["finished", "other"]


def test_checkpoints_are_sorted_by_step_however_they_are_named(data):
    labels = [None, None, "step-900", "b", "c", "d", "e"]
    steps = [model.step for model in reopened(data, labels).training]
    assert steps == sorted(hand_sweep.STEPS)  # what lies beside a checkpoint counts, not its name


def test_models_of_one_shape_that_know_their_steps_are_a_training(data):
    assert len(opened([model.path for model in data.training]).training) == 5


def test_models_of_several_shapes_are_none(data):
    several = opened([model.path for model in data.models])
    assert several.training == []
    assert several.compared == several.models


def test_one_checkpoint_is_no_training(data):
    [only] = data.training[:1]
    assert opened([only.path], ["step-0"]).training == []


def test_an_unknown_measure_is_told_the_ones_there_are(data):
    with pytest.raises(ReportError, match="unknown measure 'sink'; measured are: concentration, "):
        data.models[0].habit("sink")


def model(step=None, family="falcon", parameters=100):
    return {"training_step": step, "family": family, "parameters": parameters}


@pytest.mark.parametrize(
    ("said", "label", "step"),
    [
        (400, "step-100", 400),  # what lies beside the checkpoint knows better than its name
        (0, "step-100", 0),
        (None, "step1000", 1000),
        (None, "checkpoint-500", 500),
        (None, "main", None),
        (400, "main", 400),
    ],
)
def test_the_step_is_the_checkpoint_s_own_word_then_its_name_s(said, label, step):
    assert training_step(model(said), label) == step


def test_datasets_of_before_say_nothing_of_steps():
    assert training_step({"family": "falcon"}, "step-7") == 7


@pytest.mark.parametrize(
    ("models", "labels", "steps"),
    [
        ([model(2), model(1)], ["a", "b"], [2, 1]),
        ([model(2), model()], ["a", "b"], None),
        ([model(2), model()], ["a", "step-9"], [2, 9]),
        ([model(2), model(1, "llama")], ["a", "b"], None),  # two models, each trained to its end
        ([model(2), model(1, parameters=5)], ["a", "b"], None),
        ([model(2), model(1, "llama")], ["step-2", "step-1"], [2, 1]),
    ],
)
def test_checkpoints_of_one_training_have_steps_and_one_shape(models, labels, steps):
    assert training_steps(models, labels) == steps
