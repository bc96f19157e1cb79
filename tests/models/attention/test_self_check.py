"""The self-check passes on a sound model, says what it measures, and stops on any fault."""

from dataclasses import replace

import pytest
import torch
from transformers import PaliGemmaConfig, PaliGemmaModel

from report import families
from report.errors import ReportError
from report.families.verify import in_float64
from report.measurements import decomposition
from report.measurements.decomposition import PLACED
from report.measurements.precision import tolerance
from report.models.attention import own_forwards, rotation, self_check
from report.models.attention.own_forwards import OWN_FORWARDS
from report.models.attention.self_check import SUMMED, capabilities, checked
from report.models.attention.structure import LayerStructure, structure
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage
from tests.models.remote_code import random_remote
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

EVERYTHING = "gemma2"  # the model with a norm after its attention, and a row constant
BIASED = "qwen2/default"
ADDING = "bert/encoder"  # the model that adds positions to its embeddings


@pytest.mark.parametrize("name", [EVERYTHING, BIASED, "falcon/alibi", "gpt_oss", ADDING])
def test_a_sound_model_passes(name):
    result = self_check.self_check(families.loaded(name))
    assert (result["layers_called"], result["tokens"]) == (3, 16)
    assert result["differences"].keys() == result["limits"].keys()
    for what, difference in result["differences"].items():
        assert 0 <= difference <= result["limits"][what], what
    for what in ("probability_from_terms", "terms_sum_to_score"):
        assert result["differences"][what] > 0  # terms of float64, so never exact
    lacks = {EVERYTHING: {"biases", "positions"}, BIASED: {"positions", "updates_sum_to_norm"}}
    lacks[ADDING] = {"updates_sum_to_norm"}
    if name in lacks:
        assert result["differences"].keys() == SUMMED.keys() - lacks[name]


def test_a_model_is_checked_once_and_keeps_what_was_found(monkeypatch):
    runs = []
    original = self_check.self_check
    monkeypatch.setattr(self_check, "self_check", lambda one: runs.append(1) or original(one))
    loaded = families.loaded(BIASED)
    assert capabilities(loaded) == checked(loaded)["capabilities"]
    assert loaded.identity["capabilities"] == capabilities(loaded)
    assert len(runs) == 1


@pytest.mark.parametrize("what", SUMMED)
def test_each_difference_has_a_limit_that_is_enforced(what, monkeypatch):
    limit = self_check.limit
    monkeypatch.setattr(
        self_check, "limit", lambda name, *sizes: -1.0 if name == what else limit(name, *sizes)
    )
    message = rf"self-check failed: {what.replace('_', ' ')} is off by .*, allowed is -1"
    with pytest.raises(ReportError, match=message):
        name = {"biases": BIASED, "positions": ADDING}.get(what, EVERYTHING)
        self_check.self_check(families.loaded(name))


def prefixed():
    """PaliGemma, whose text is causal with eager attention alone."""
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4}
    text = sizes | {"num_hidden_layers": 2, "num_key_value_heads": 1, "head_dim": 8}
    config = PaliGemmaConfig(
        text_config=text | {"model_type": "gemma", "vocab_size": 99},
        vision_config=sizes | {"num_hidden_layers": 1, "image_size": 28, "patch_size": 14},
        projection_dim=32,
    )
    loaded = families.loaded("gemma")
    loaded.model = PaliGemmaModel._from_config(config, attn_implementation="sdpa").eval()
    families.randomise(loaded.model, 2.0, torch.Generator().manual_seed(0))
    return replace(loaded, identity=loaded.identity | {"layers_measured": 2})


@pytest.mark.parametrize("layer_by_layer", [False, True])
def test_a_model_that_is_another_with_eager_attention_is_refused(
    layer_by_layer, tmp_path, monkeypatch
):
    """PaliGemma, and Falcon's ALiBi where it is not known to be added twice, in every load."""
    with pytest.raises(ReportError, match=r"PaliGemmaModel.*eager"):
        self_check.self_check(prefixed())
    monkeypatch.setattr(self_check, "_other", lambda _: "eager")
    for part in (random_falcon(), byte_level_tokenizer()):
        part.save_pretrained(tmp_path)
    loaded = load_model(tmp_path, layer_by_layer=layer_by_layer)
    with pytest.raises(ReportError, match=r"FalconForCausalLM.*eager"):
        self_check.self_check(loaded)


def test_the_factor_of_alibi_does_not_touch_the_check():
    loaded = families.loaded("falcon/alibi")
    loaded.identity["alibi_factor"] = 2
    assert self_check.self_check(loaded) == self_check.self_check(families.loaded("falcon/alibi"))


def longer(updates):
    def changed(*given):
        found = updates(*given)
        found.magnitude.mul_(1.001)
        return found

    return changed


def nothing(axes):
    """In place of a term: zeros of heads and so many axes of tokens."""
    return lambda _: lambda factors: torch.zeros(factors.heads, *axes * [factors.length])


def twice(made):
    return lambda module, attention, alibi_factor: made(module, attention, 2 * alibi_factor)


# Biases of another head: no sum of terms would show them, as another term has what one lacks.
# With a limit this lenient, biases before a norm would be taken for separable.
FAULTS = [
    ("falcon/alibi", OWN_FORWARDS, "falcon", twice, "output"),
    ("falcon/alibi", vars(decomposition), "bias", nothing(1), "terms sum to score"),
    (BIASED, vars(decomposition), "bias", nothing(1), "terms sum to score"),
    (ADDING, vars(decomposition), "bias", nothing(1), "terms sum to score"),
    ("llama/default", vars(decomposition), "rotary_position", nothing(2), "terms sum to score"),
    (
        "falcon/alibi",
        vars(own_forwards),
        "_biases",
        lambda biases: lambda module: tuple(bias.roll(1, 0) for bias in biases(module)),
        "biases",
    ),
    ("phi/qk-layernorm", vars(rotation), "LINEAR", lambda _: 10.0, "biases"),
    ("llama/default", vars(self_check), "updates", longer, "update length"),
]


@pytest.mark.parametrize(("name", "names", "changed", "change", "what"), FAULTS)
def test_a_fault_is_noticed(name, names, changed, change, what, monkeypatch):
    monkeypatch.setitem(names, changed, change(names[changed]))
    with pytest.raises(ReportError, match=f"self-check failed: {what} is off by"):
        self_check.self_check(families.loaded(name))


def test_a_wrong_order_of_heads_in_the_output_projection_is_noticed(monkeypatch):
    original = LayerStructure.output_weight
    monkeypatch.setattr(LayerStructure, "output_weight", lambda part: original(part).roll(8, 1))
    with pytest.raises(ReportError, match="updates sum to output is off by"):
        self_check.self_check(families.loaded("llama/default"))


def test_a_norm_that_is_not_linear_in_a_token_is_noticed():
    loaded = families.loaded("olmo2")
    for layer in loaded.model.model.layers:
        norm = torch.nn.LayerNorm(64)
        torch.nn.init.normal_(norm.bias)
        layer.post_attention_layernorm = norm
    with pytest.raises(ReportError, match="updates sum to norm is off by"):
        self_check.self_check(loaded)


def test_large_scores_may_be_rounded_more():
    """As Qwen's biases make them: hundreds, of which float32 keeps four digits after the point."""
    loaded = families.loaded(BIASED)
    for layer in loaded.model.model.layers:
        for projection in (layer.self_attn.q_proj, layer.self_attn.k_proj):
            projection.bias.data.mul_(40)
    result = self_check.self_check(loaded)
    factors = measure_passage(loaded, list(range(9))).factors[0]
    largest = decomposition.score(factors).abs().max()
    assert largest > 100
    off = result["differences"]["probability_from_terms"]
    assert off <= result["limits"]["probability_from_terms"] < 1e-5


def test_numbers_that_are_not_numbers_fail():
    with pytest.raises(ReportError, match="output is off by nan"):
        self_check._require_within_limits({"output": float("nan")}, {"output": 1.0})


def test_the_check_leaves_the_model_as_it_was():
    loaded = families.loaded(BIASED)
    loaded.model.train()
    hooks = [len(module._forward_pre_hooks) for module in loaded.model.modules()]
    self_check.self_check(loaded)
    assert loaded.model.training
    assert [len(module._forward_pre_hooks) for module in loaded.model.modules()] == hooks


def test_a_short_context_takes_fewer_tokens():
    loaded = families.loaded("gpt2/default")
    loaded.identity["context"] = 9
    assert self_check.self_check(loaded)["tokens"] == 9
    loaded.identity["context"] = None
    assert self_check.self_check(loaded)["tokens"] == 16


@pytest.mark.parametrize("name", ["llama/bias", "gemma2"])
def test_half_precision_is_checked_with_limits_of_its_own(name):
    loaded = families.loaded(name)
    loaded.model.bfloat16()
    result = self_check.self_check(loaded)
    assert result["limits"]["output"] == self_check.HALF_PRECISION_LIMIT
    whole = self_check.self_check(families.loaded(name))["limits"]
    assert result["limits"]["terms_sum_to_score"] == whole["terms_sum_to_score"] < 1e-5


def test_limits_grow_with_what_is_summed():
    """As the square root of the number of terms, up to that of the whole model for its output."""
    limits = self_check.self_check(families.loaded(EVERYTHING))["limits"]
    assert limits["rows_sum_to_one"] == tolerance(self_check.TOKENS)
    assert limits["updates_sum_to_output"] < limits["updates_sum_to_norm"] < limits["output"]
    with in_float64():
        finer = self_check.self_check(families.loaded(EVERYTHING))["limits"]
    eps = [torch.finfo(dtype).eps for dtype in (torch.float64, torch.float32)]
    for name, limit in limits.items():
        assert finer[name] == pytest.approx(limit * eps[0] / eps[1])


# Route, terms, updates and whether there is the four-way split, from the formulas of each family.
MEASURED = {
    "falcon/alibi": ("own forward", ["content", "bias", "position"], "raw", False),
    "llama/default": ("interface", ["content", "position"], "raw", False),
    "qwen2/default": ("interface", ["content", "bias", "position"], "raw", True),
    "phi/qk-layernorm": ("interface", ["content", "position"], "raw", False),
    "gemma2": ("interface", ["content", "position"], "effective", False),
    "gpt_oss": ("interface", ["content", "bias", "position", "row_constant"], "raw", True),
    "glm4": ("interface", ["content", "bias", "position"], "effective", True),
    "gpt2/default": ("interface", [*PLACED, "mixed", "bias"], "raw", False),
    "bert/encoder": ("interface", [*PLACED, "mixed", "bias"], "raw", False),
    "gptj": ("softmax", ["score"], "raw", False),
}


@pytest.mark.parametrize("name", MEASURED)
def test_a_model_says_what_is_measured(name):
    found = capabilities(families.loaded(name))
    route, terms, updates, rotary_terms = MEASURED[name]
    assert (found["route"], found["terms"]) == (route, terms)
    assert (found["updates"], found["rotary_terms"]) == (updates, rotary_terms)
    assert found["probabilities"] is True
    missing = {"bias", "position"} - set(terms) if terms != ["score"] else {"terms"}
    expected = missing | (set() if rotary_terms else {"rotary_terms"})
    assert found["reasons"].keys() == expected


def test_what_is_missing_has_a_reason():
    assert capabilities(families.loaded("gptj"))["reasons"]["terms"] == self_check.SCORES_ONLY
    reasons = capabilities(families.loaded("phi/qk-layernorm"))["reasons"]
    assert reasons["bias"] == self_check.ENTANGLED
    reasons = capabilities(families.loaded("gpt2/default"))["reasons"]
    assert "every hidden state" in reasons["position"]


def remote(change):
    loaded = families.loaded("gpt2/default")
    loaded.model = random_remote()
    change(loaded.model)
    return loaded


def test_code_of_a_checkpoints_own_shows_its_scores():
    found = capabilities(remote(lambda model: None))
    assert (found["route"], found["terms"], found["updates"]) == ("sdpa", ["score"], "raw")


def test_updates_into_something_else_are_not_measured():
    class Widening(torch.nn.Module):
        """An attention that writes to twice the size, from which the layer takes a half."""

        def __init__(self, mixer):
            super().__init__()
            self.mixer = mixer
            mixer.wo = torch.nn.Linear(32, 64)

        def forward(self, x):
            return self.mixer(x)[..., :32]

    def widen(model):
        for block in model.blocks:
            block.mixer = Widening(block.mixer)

    loaded = remote(widen)
    found = capabilities(loaded)
    assert found["updates"] is None
    assert found["reasons"]["updates"] == "its attention writes to something of another size"
    assert not any(part.measures_updates for part in structure(loaded.model))


def test_a_projection_of_more_than_the_contexts_has_no_updates_of_heads():
    class Twice(torch.nn.Module):
        def forward(self, x):
            return torch.cat([x, x], -1)

    loaded = families.loaded("llama/default")
    for layer in loaded.model.model.layers:
        layer.self_attn.o_proj = torch.nn.Sequential(Twice(), torch.nn.Linear(128, 64))
    found = capabilities(loaded)
    assert found["updates"] is None
    assert "more than its heads' contexts" in found["reasons"]["updates"]
