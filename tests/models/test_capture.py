"""Attaching leaves no trace, whatever happens."""

import pytest
import torch
from transformers import LlamaConfig

from report.errors import ReportError
from report.models.capture import attached, family_of, run_measured
from report.models.falcon import attention, layers
from report.models.kernel import streaming_attention


def stream(layer, _, factors, value):
    return streaming_attention(factors, value, lambda *_: None, layer)


def plain_logits(model, token_ids):
    with torch.no_grad():
        return model(torch.tensor([token_ids]), use_cache=False).logits


def state(model):
    return (
        [attention(layer).forward.__func__ for layer in layers(model)],
        [len(layer._forward_pre_hooks) for layer in layers(model)],
        model.config._attn_implementation,
        [module.training for module in model.modules()],
    )


def test_logits_with_measuring_equal_the_plain_ones(loaded, token_ids):
    measured = run_measured(loaded.model, token_ids, stream, logits=True)
    torch.testing.assert_close(
        measured, plain_logits(loaded.model, token_ids)[0], atol=1e-5, rtol=0
    )


def test_the_model_is_as_before_afterwards(loaded, token_ids):
    before, logits = state(loaded.model), plain_logits(loaded.model, token_ids)
    run_measured(loaded.model, token_ids, stream)
    assert state(loaded.model) == before
    assert torch.equal(plain_logits(loaded.model, token_ids), logits)


@pytest.mark.parametrize("failing_layer", [0, 2])
def test_the_model_is_as_before_after_an_exception(loaded, token_ids, failing_layer):
    before, logits = state(loaded.model), plain_logits(loaded.model, token_ids)

    def fail(layer, *rest):
        if layer == failing_layer:
            raise KeyboardInterrupt
        return stream(layer, *rest)

    with pytest.raises(KeyboardInterrupt):
        run_measured(loaded.model, token_ids, fail)
    assert state(loaded.model) == before
    assert torch.equal(plain_logits(loaded.model, token_ids), logits)


def test_a_forward_that_another_library_put_on_the_instance_survives(loaded, token_ids):
    module = attention(layers(loaded.model)[1])
    wrapped = module.forward
    module.forward = lambda *args, **kwargs: wrapped(*args, **kwargs)
    before = module.forward
    run_measured(loaded.model, token_ids, stream)
    assert module.forward is before


def test_a_model_in_training_is_measured_without_dropout_and_stays_in_training(loaded, token_ids):
    model = loaded.model
    model.config.hidden_dropout = 0.5
    for layer in layers(model):
        layer.hidden_dropout = 0.5
    expected = plain_logits(model, token_ids)[0]
    model.train()
    model.transformer.h[1].eval()
    before = state(model)
    measured = run_measured(model, token_ids, stream, logits=True)
    assert state(model) == before
    torch.testing.assert_close(measured, expected, atol=1e-5, rtol=0)


def test_hidden_states_are_those_that_enter_the_layers(loaded, token_ids):
    seen = []

    def record(layer, hidden_state, factors, value):
        seen.append(hidden_state)
        return stream(layer, hidden_state, factors, value)

    run_measured(loaded.model, token_ids, record)
    with torch.no_grad():
        output = loaded.model(torch.tensor([token_ids]), use_cache=False, output_hidden_states=True)
    for found, expected in zip(seen, output.hidden_states, strict=False):
        torch.testing.assert_close(found, expected[0], atol=1e-5, rtol=0)
    assert len(seen) == 3


def test_layers_that_were_not_measured_stop_the_measurement(loaded, token_ids, monkeypatch):
    first = loaded.model.transformer.h[0]
    monkeypatch.setattr(first, "forward", lambda hidden_states, **_: (hidden_states, None))
    with pytest.raises(ReportError, match=r"called for layers \[1, 2\], expected each of 0 to 2"):
        run_measured(loaded.model, token_ids, stream)


def test_no_dense_mask_is_built_while_attached(loaded, token_ids):
    masks = []
    loaded.model.transformer.h[0].register_forward_pre_hook(
        lambda _, args, kwargs: masks.append(kwargs["attention_mask"]), with_kwargs=True
    )
    run_measured(loaded.model, token_ids, stream)
    assert masks == [None]


def test_an_unknown_family_is_refused():
    with pytest.raises(ReportError, match="'llama' is not supported; supported: falcon"):
        family_of(LlamaConfig())


def test_calls_are_counted_in_order(loaded, token_ids):
    with torch.no_grad(), attached(loaded.model, stream) as calls:
        loaded.model(torch.tensor([token_ids]), use_cache=False)
    assert calls == [0, 1, 2]
