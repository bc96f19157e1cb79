"""Files as Ollama's own converter writes them, which leaves out what its runtime knows."""

import gguf
import pytest
import torch
from transformers import AutoConfig

from report.models.gguf.architectures import architecture_of
from report.models.load.load import load_model
from tests.close import require_close
from tests.fuzz.refusals import tried
from tests.models import tiny_tokenizers
from tests.models.gguf.written import Written, saved, tiny

SMALL = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "query_pre_attn_scalar": 8,
    "rms_norm_eps": 1e-6,
    "layer_types": None,
}
LOCAL = {"rope_type": "default", "rope_theta": 10_000.0}
WHOLE = {"rope_type": "default", "rope_theta": 1_000_000.0}
EIGHTFOLD = WHOLE | {"rope_type": "linear", "factor": 8.0}

PICTURES = dict.fromkeys(
    (
        "attention.layer_norm_rms_epsilon",
        "rope.freq_base",
        "rope.freq_base_swa",
        "rope.scaling.type",
        "rope.scaling.factor",
        "rope.dimension_count",
    )
) | {"mm.tokens_per_image": 256, "vision.block_count": 27}
"""Keys of files of 4 B and more: what is missing, and what is added."""

TEXT = {"rope.freq_base_swa": None, "rope.dimension_count": None, "rope.local.freq_base": 1e4}

GEMMAS = {
    "4b": (34, 131_072, EIGHTFOLD, PICTURES, 4),
    "1b": (26, 32_768, WHOLE, TEXT, 0),
    "1b of an older converter": (
        26,
        32_768,
        WHOLE,
        TEXT | {"rope.freq_base": None, "rope.global.freq_base": 1e6},
        0,
    ),
    "4b text alone": (
        34,
        131_072,
        EIGHTFOLD,
        TEXT | {"rope.scaling.type": None, "rope.scaling.factor": None},
        1,
    ),
    "text of llama.cpp before the second base": (
        26,
        32_768,
        WHOLE,
        {"rope.freq_base_swa": None},
        1,
    ),
}
"""A file -> layers, context, rotation of layers without a window, keys, and how many values of it
are said to be taken from elsewhere."""


def gemma3(folder, layers, context, rotation, **changes):
    rope = {"full_attention": rotation, "sliding_attention": LOCAL}
    sizes = {"num_hidden_layers": layers, "max_position_embeddings": context}
    settings = {key: value for key, value in (SMALL | sizes | changes).items() if value is not None}
    model = tiny("gemma3/text", left_out=["layer_types"], rope_parameters=rope, **settings)
    return Written(saved(model, tiny_tokenizers.gemma(), folder))


def keys(given):
    return {f"gemma3.{key}": value for key, value in given.items()}


@pytest.mark.parametrize("name", GEMMAS)
def test_a_gemma_has_the_settings_that_it_had(name, tmp_path):
    layers, context, rotation, given, count = GEMMAS[name]
    whole = gemma3(tmp_path / "tiny", layers, context, rotation)
    file = architecture_of(whole.to_file(tmp_path, **keys(given)))
    config = AutoConfig.for_model(**file.config).to_dict()
    expected = whole.config.to_dict()
    same = ("rope_parameters", "layer_types", "rms_norm_eps", "query_pre_attn_scalar", "head_dim")
    assert {key: config[key] for key in same} == {key: expected[key] for key in same}
    assert len(file.defaults) == count


@pytest.mark.parametrize(
    ("layers", "given"),
    [
        (6, PICTURES),  # no size that Ollama has
        (34, {"rope.freq_base": None}),  # nothing says that it is Ollama's
        (26, {"rope.freq_base": 0.0}),
    ],
)
def test_a_gemma_that_nothing_tells_the_base_of_is_refused(layers, given, tmp_path):
    whole = gemma3(tmp_path / "tiny", layers, 512, WHOLE)
    found, sentence = tried(load_model, whole.to(tmp_path / "it.gguf", **keys(given)), device="cpu")
    assert found is None
    assert "gemma3.rope.freq_base" in sentence


def test_tokens_are_those_of_the_model(tmp_path):
    """No space is put before a text, a token for pictures has no embedding, and a value that the
    file does not state is said."""
    whole = gemma3(tmp_path / "tiny", 6, 64, WHOLE)
    theirs = load_model(whole.folder, device="cpu").tokenizer
    whole.tensors["model.embed_tokens.weight"] = whole.tensors["model.embed_tokens.weight"][
        : len(theirs)
    ]
    stated = whole.to_file(tmp_path).values
    more = {
        "tokens": [*stated["tokenizer.ggml.tokens"], "<image_soft_token>"],
        "token_type": [*stated["tokenizer.ggml.token_type"].tolist(), int(gguf.TokenType.CONTROL)],
        "scores": [*stated["tokenizer.ggml.scores"].tolist(), -1000.0],
        "add_space_prefix": None,
    }
    values = {f"tokenizer.ggml.{key}": value for key, value in more.items()} | keys(
        {"rope.freq_base_swa": None}
    )
    heard, path = [], whole.to(tmp_path / "it.gguf", **values)
    loaded = load_model(path, device="cpu", announce=heard.append)
    (default,), (sentence,) = loaded.identity["defaults"], heard
    assert default in sentence
    ours = loaded.tokenizer
    for text in ("the lamp was", " the lamp", "Lamp"):
        assert ours(text)["input_ids"] == theirs(text)["input_ids"]
    assert len(ours) == len(theirs)


def test_a_llama_may_state_the_length_of_a_head_twice(tmp_path):
    whole = Written(saved(tiny("llama"), tiny_tokenizers.llama2(), tmp_path / "tiny"))
    for length, right in ((16, True), (8, False)):
        path = whole.to(tmp_path / f"{length}.gguf", **{"llama.attention.head_dim": length})
        found, sentence = tried(load_model, path, device="cpu")
        assert right is (found is not None)
        assert right or "llama.attention.head_dim is 8" in sentence


def test_experts_have_the_width_of_their_tensors(tmp_path):
    model = tiny("qwen3_moe", norm_topk_prob=False)
    whole = Written(saved(model, tiny_tokenizers.llama2(), tmp_path / "tiny"))
    given = {"expert_feed_forward_length": None, "norm_top_k_prob": False}
    path = whole.to(
        tmp_path / "it.gguf", **{f"qwen3moe.{key}": value for key, value in given.items()}
    )
    ids = torch.arange(12)[None]
    with torch.no_grad():
        found = load_model(path, device="cpu").model(ids).logits
        require_close(found, load_model(whole.folder, device="cpu").model(ids).logits, 2**12)
