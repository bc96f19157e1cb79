"""The self-check passes on a sound model and stops on each kind of fault."""

import pytest
import torch

from report.errors import ReportError
from report.measurements import decomposition
from report.measurements.updates import HeadUpdate
from report.models import falcon, measure, self_check


def test_a_sound_model_passes_with_room_to_spare(loaded):
    result = self_check.self_check(loaded)
    assert result["layers_called"] == 3
    assert result["tokens"] == 16
    assert result["differences"].keys() == result["limits"].keys()
    for name, difference in result["differences"].items():
        assert 0 <= difference < result["limits"][name] / 2, name
    assert max(result["differences"].values()) > 0


def test_the_check_is_the_same_every_time(loaded):
    assert self_check.self_check(loaded) == self_check.self_check(loaded)


def test_measuring_checks_once_per_loaded_model(loaded, token_ids, monkeypatch):
    runs = []
    original = self_check.self_check
    monkeypatch.setattr(self_check, "self_check", lambda model: runs.append(1) or original(model))
    measure.measure_passage(loaded, token_ids)
    measure.measure_corpus(loaded, [token_ids])
    assert len(runs) == 1
    assert loaded.checked["layers_called"] == 3


@pytest.mark.parametrize("name", list(self_check.LIMITS))
def test_each_difference_has_a_limit_that_is_enforced(loaded, name, monkeypatch):
    monkeypatch.setitem(self_check.LIMITS, name, -1.0)
    message = rf"self-check failed: {name.replace('_', ' ')} is off by .*, allowed is -1"
    with pytest.raises(ReportError, match=message):
        self_check.self_check(loaded)


def expect_failure(loaded, what):
    with pytest.raises(ReportError, match=f"self-check failed: {what} is off by"):
        self_check.self_check(loaded)


def test_alibi_counted_twice_is_noticed(loaded, monkeypatch):
    original = falcon.measured_forward

    def doubled(module, record):
        forward = original(module, record)
        return lambda hidden_states, alibi=None, **rest: forward(hidden_states, 2 * alibi, **rest)

    monkeypatch.setattr(falcon, "measured_forward", doubled)
    expect_failure(loaded, "logits")


def test_a_forgotten_term_is_noticed(loaded, monkeypatch):
    monkeypatch.setattr(decomposition, "bias", lambda factors: torch.zeros_like(factors.position))
    expect_failure(loaded, "terms sum to score")


def test_biases_of_another_head_are_noticed(loaded, monkeypatch):
    original = falcon._biases
    monkeypatch.setattr(
        falcon, "_biases", lambda module: tuple(bias.roll(1, 0) for bias in original(module))
    )
    expect_failure(loaded, "biases")


def test_the_check_leaves_no_hook_behind(loaded):
    self_check.self_check(loaded)
    assert not any(module._forward_pre_hooks for module in loaded.model.modules())


def test_a_wrong_slice_of_the_output_projection_is_noticed(loaded, monkeypatch):
    original = HeadUpdate.of_projection
    monkeypatch.setattr(
        HeadUpdate, "of_projection", lambda weight, heads: original(weight.roll(8, 1), heads)
    )
    expect_failure(loaded, "update length")


def test_numbers_that_are_not_numbers_fail():
    differences = dict.fromkeys(self_check.LIMITS, 0.0) | {"logits": float("nan")}
    with pytest.raises(ReportError, match="logits is off by nan"):
        self_check._require_within_limits(differences)


def test_a_model_in_training_mode_stays_in_it(loaded):
    loaded.model.train()
    self_check.self_check(loaded)
    assert loaded.model.training
