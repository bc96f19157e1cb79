"""Which models are checkpoints of one training: what files say, what names say, and neither."""

import pytest

from report.kinds.sweep.data import training_step, training_steps


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
