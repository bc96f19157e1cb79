"""What was loaded is identified exactly, and what it can take."""

import hashlib
import json

import pytest
import torch
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from report import families
from report.errors import ReportError
from report.measurements import decomposition
from report.measurements.precision import tolerance
from report.measuring.forecast import beyond
from report.models.load.identity import training_step
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage
from tests.models.checkpoints import change_config, refused, save


def test_identity_says_what_was_loaded(falcon_folder):
    loaded = load_model(falcon_folder)
    identity = loaded.identity
    assert identity["name"] == "tiny-falcon"
    assert identity["family"] == "falcon"
    assert identity["revision"] is None
    assert (identity["source"], identity["device"]) == ("folder", "cpu")
    assert (identity["layers_measured"], identity["alibi_factor"]) == (3, 1)
    weights = (falcon_folder / "model.safetensors").read_bytes()
    assert loaded.weights_sha256 == hashlib.sha256(weights).hexdigest()
    tokenizer = (falcon_folder / "tokenizer.json").read_bytes()
    assert identity["tokenizer_sha256"] == hashlib.sha256(tokenizer).hexdigest()
    numbers = ("num_hidden_layers", "num_attention_heads", "hidden_size", "head_dim", "made_for")
    assert [identity[name] for name in numbers] == [3, 4, 32, 8, 512]
    assert identity["context"] is None
    assert identity["vocabulary"] == 320
    # tied embeddings are counted once
    assert identity["parameters"] == sum(p.numel() for p in set(loaded.model.parameters()))
    assert identity["special_tokens_added"] == ["<|begin_of_text|>"]
    assert str(falcon_folder.parent) not in json.dumps(identity)


@pytest.mark.parametrize(
    ("name", "text", "step"),
    [
        ("training.json", '{"steps": 400}', 400),
        ("trainer_state.json", '{"global_step": 1500, "epoch": 0.5}', 1500),
        ("training.json", '{"steps": 0}', 0),
        ("training.json", '{"steps": "many"}', None),
        ("training.json", "[400]", None),
        ("training.json", "not JSON", None),
        ("other.json", '{"steps": 400}', None),
        ("training.json", '{"steps": true}', None),
        # which of its steps the weights are of, the Trainer does not say in the folder above
        ("trainer_state.json", '{"global_step": 9, "best_model_checkpoint": "checkpoint-6"}', None),
    ],
)
def test_the_training_step_is_what_a_file_beside_the_weights_says(tmp_path, name, text, step):
    (tmp_path / name).write_text(text)
    assert training_step(tmp_path) == step


@pytest.mark.parametrize(
    ("name", "changes", "context"),
    [
        ("roberta", {"max_position_embeddings": 66}, 64),
        ("opt", {"max_position_embeddings": 64}, 64),
        ("gpt2", {"n_positions": 48}, 48),
        ("gptj", {"n_positions": 48}, 48),
        ("mpt", {"max_seq_len": 40}, 40),
        ("llama", {"max_position_embeddings": 128}, None),
        ("bloom", {}, None),
    ],
)
def test_the_most_tokens_of_a_text_are_those_the_model_has_positions_for(
    name, changes, context, tmp_path
):
    config = families.tiny(name).config
    torch.manual_seed(0)
    model = type(families.tiny(name))(type(config)(**config.to_dict() | changes)).eval()
    loaded = load_model(save(model, tmp_path / "tiny"))
    assert loaded.identity["context"] == context
    if context:
        with torch.no_grad():
            loaded.model(torch.ones(1, context, dtype=torch.long) * 5, use_cache=False)


def test_a_tokenizer_with_more_tokens_of_its_own_than_the_model_is_refused(tmp_path):
    folder = save(families.tiny("llama"), tmp_path / "tiny", words=100)
    refused(folder, "model 'tiny': the tokenizer has 100 tokens, the model 99; use the tokenizer")


def test_tokens_added_to_a_tokenizer_may_exceed_the_model_while_nobody_uses_them(folder):
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    tokenizer.add_tokens([f"<{number}>" for number in range(330 - len(tokenizer))])
    tokenizer.save_pretrained(folder)
    assert load_model(folder).identity["vocabulary"] == 320


ROPE = {"default": {}, "linear": {"factor": 2.0}, "dynamic": {"factor": 2.0}}
ROPE |= {"yarn": {"factor": 2.0, "original_max_position_embeddings": 16}}


@pytest.mark.parametrize("rope", ROPE)
def test_a_text_may_be_longer_than_a_model_was_made_for_only_where_positions_go_on(tmp_path, rope):
    """And then the numbers are transformers' own."""
    folder = save(families.tiny("llama"), tmp_path / "model")
    rope_parameters = ROPE[rope] | {"rope_theta": 1e4, "rope_type": rope}
    change_config(folder, max_position_embeddings=32, rope_parameters=rope_parameters)
    loaded = load_model(folder)
    ids = torch.randint(5, 90, (70,), generator=torch.Generator().manual_seed(1)).tolist()
    if rope == "dynamic":
        assert (loaded.identity["context"], loaded.identity["made_for"]) == (32, None)
        with pytest.raises(ReportError, match="at most 32"):
            measure_passage(loaded, ids)
        return
    assert (loaded.identity["context"], loaded.identity["made_for"]) == (None, 32)
    assert "at most 32 tokens" in beyond(loaded.identity, 70)
    assert beyond(loaded.identity, 32) == ""
    found = measure_passage(loaded, ids)
    eager = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    with torch.no_grad():
        expected = eager(torch.tensor([ids]), output_attentions=True).attentions
    for factors, attention in zip(found.factors, expected, strict=True):
        off = (decomposition.probability(factors) - attention[0]).abs().max()
        assert off <= tolerance(70, dtype=torch.float32)
