"""An adapter is merged by the same numbers however a model is loaded, or refused by its name."""

import json
import math

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import modeling_utils
from transformers.integrations import peft
from transformers.models.auto import auto_factory
from transformers.models.llama import modeling_llama

from report import families
from report.models.attention.structure import structure
from report.models.load import load
from report.models.load.load import load_model
from report.models.partial import merging
from tests.models import tiny_tokenizers
from tests.models.checkpoints import add_adapter, change_config, refused, save
from tests.models.gguf import written as gguf
from tests.models.quantised import written

WAYS = [{}, {"layers": 2}, {"layer_by_layer": True}]
QUERY = "self_attn.q_proj"


@pytest.fixture(params=["peft alone", "accelerate alone"], autouse=True)
def packages(request, monkeypatch):
    """With one of two packages that transformers looks for, as far as it can tell."""
    there = request.param == "peft alone"
    for module in (peft, auto_factory):
        monkeypatch.setattr(module, "is_peft_available", lambda: there)
    monkeypatch.setattr(modeling_utils, "is_accelerate_available", lambda: not there)


one_is_enough = pytest.mark.parametrize("packages", ["peft alone"], indirect=True)


def held(loaded):
    """All tensors that a model has, or reads while it runs."""
    if loaded.partial is None:
        return loaded.model.state_dict()
    partial = loaded.partial
    tensors = partial.read(dict.fromkeys(partial.names))
    table = partial.stored[partial.table].names[0]
    rows = list(range(partial.checkpoint.entry(table).shape[0]))
    return tensors | {partial.table: partial.checkpoint.read_rows(table, rows, torch.float32)}


def require_same(folder, expected, changed):
    """Assert that a model has the `expected` tensors (float64) in all ways, those that are
    `changed` up to rounding and the others exactly."""
    whole = held(load_model(folder))
    assert whole.keys() == expected.keys()
    for name, tensor in expected.items():
        if name in changed:
            torch.testing.assert_close(whole[name].double(), tensor, rtol=2**-23, atol=2**-23)
        else:
            assert torch.equal(whole[name], tensor.to(whole[name].dtype)), name
    for way in WAYS[1:]:
        loaded = load_model(folder, **way)
        for name, tensor in held(loaded).items():
            assert torch.equal(tensor, whole[name]), (way, name)
        assert loaded.identity["adapter"]["tensors_changed"] == len(changed)


def matrices(model, ending, ranks=lambda _: 2):
    """Random A and B of the modules whose paths have an ending.

    ranks: function of a path -> rank, 0 for none
    returns: (tensors by their names in an adapter's file, list of (path, A, B))
    """
    tensors, pairs = {}, []
    for path, module in model.named_modules():
        rank = ranks(path) if f".{path}".endswith(f".{ending}") else 0
        if not rank:
            continue
        sizes = module.weight.shape
        outputs, inputs = sizes if isinstance(module, nn.Linear) else sizes[::-1]
        a, b = torch.randn(rank, inputs), torch.randn(outputs, rank)
        kind, leaf = ("embedding_", "") if isinstance(module, nn.Embedding) else ("", ".weight")
        tensors |= {f"{path}.lora_{kind}A{leaf}": a, f"{path}.lora_{kind}B{leaf}": b}
        pairs.append((path, a.double(), b.double()))
    return tensors, pairs


def doubled(model):
    return {name: tensor.double() for name, tensor in model.state_dict().items()}


def change(expected, model, pairs, scale=lambda _: 4, lengths=None):
    """Change weights as published: W + scale B A, rows of which DoRA gives other lengths.

    returns: names of the weights
    """
    for path, a, b in pairs:
        turned = not isinstance(model.get_submodule(path), nn.Linear)
        weight = expected[f"{path}.weight"]
        merged = (weight.T if turned else weight) + scale(path) * b @ a
        if lengths:
            merged = torch.stack(
                [row / row.norm() * one for row, one in zip(merged, lengths[path], strict=True)]
            )
        expected[f"{path}.weight"] = merged.T if turned else merged
    return {f"{path}.weight" for path, *_ in pairs}


FAMILIES = [
    families.variants(family)[0]
    for family in families.names()
    if not families.read(family).get("unsupported")
]


@one_is_enough
@pytest.mark.parametrize("family", FAMILIES)
def test_all_ways_have_the_same_tensors_of_every_family(family, tmp_path):
    model = families.tiny(family)
    save(model, tmp_path / "it")
    path_of = {module: path for path, module in model.named_modules()}
    ending = path_of[structure(model)[0].output_projection].partition(".0.")[2]
    tensors, pairs = matrices(model, ending)
    add_adapter(tmp_path / "it", tensors, target_modules=[ending])
    expected = doubled(model)
    require_same(tmp_path / "it", expected, change(expected, model, pairs))


KINDS = {
    "rank": ("llama", QUERY, {}, lambda _: 2, lambda _: 4),
    "root of rank": ("llama", QUERY, {"use_rslora": True}, lambda _: 2, lambda _: 8 / math.sqrt(2)),
    "turned": ("gpt2/default", "c_attn", {"target_modules": ["c_attn"]}, lambda _: 2, lambda _: 4),
    "embedding": (
        "llama",
        "embed_tokens",
        {"target_modules": ["embed_tokens"]},
        lambda _: 2,
        lambda _: 4,
    ),
    "patterns": (
        "llama",
        QUERY,
        {"rank_pattern": {"layers.1.self_attn.q_proj": 3}, "alpha_pattern": {"^model.+0.+": 5}},
        lambda path: 3 if ".1." in path else 2,
        lambda path: 5 / 2 if ".0." in path else 8 / 3 if ".1." in path else 4,
    ),
    "some layers": (
        "llama",
        QUERY,
        {"layers_to_transform": [0, 2], "layers_pattern": "layers"},
        lambda path: 0 if ".1." in path else 2,
        lambda _: 4,
    ),
    "a pattern of targets": (
        "llama",
        QUERY,
        {"target_modules": r".*\.1\..*q_proj"},
        lambda path: 2 if ".1." in path else 0,
        lambda _: 4,
    ),
    "excluded": (
        "llama",
        QUERY,
        {"exclude_modules": ["layers.1.self_attn.q_proj"]},
        lambda path: 0 if ".1." in path else 2,
        lambda _: 4,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dora", [False, True])
def test_weights_become_what_is_published_of_each_variant(kind, dora, tmp_path):
    family, ending, stated, ranks, scale = KINDS[kind]
    model = families.tiny(family)
    save(model, tmp_path / "it")
    tensors, pairs = matrices(model, ending, ranks)
    lengths = {path: 1 + torch.rand(len(b)) for path, _, b in pairs} if dora else {}
    tensors |= {f"{path}.lora_magnitude_vector": one for path, one in lengths.items()}
    add_adapter(tmp_path / "it", tensors, use_dora=dora, **stated)
    if dora and kind == "embedding":
        for way in WAYS:
            refused(tmp_path / "it", "embed_tokens.* an embedding, of which DoRA", **way)
        return
    expected = doubled(model)
    require_same(tmp_path / "it", expected, change(expected, model, pairs, scale, lengths))


@pytest.mark.parametrize(
    ("family", "ending", "stated", "whole"),
    [
        ("llama", QUERY, {"modules_to_save": ["norm"]}, lambda name: "norm" in name),
        ("gpt2/default", "attn.c_attn", {"bias": "all"}, lambda name: name.endswith("bias")),
        ("qwen2/default", QUERY, {"bias": "lora_only"}, lambda name: name.endswith("q_proj.bias")),
    ],
)
def test_whole_tensors_take_the_place_of_the_models(family, ending, stated, whole, tmp_path):
    model = families.tiny(family)
    save(model, tmp_path / "it")
    tensors, pairs = matrices(model, ending)
    expected = doubled(model)
    changed = change(expected, model, pairs)
    for name in filter(whole, list(expected)):
        path, _, leaf = name.rpartition(".")
        inside = f"{path}.base_layer.{leaf}" if path in {path for path, *_ in pairs} else name
        tensors[inside] = torch.randn(expected[name].shape)
        expected[name] = tensors[inside].double()
        changed.add(name)
    add_adapter(tmp_path / "it", tensors, target_modules=[ending], **stated)
    require_same(tmp_path / "it", expected, changed)


@one_is_enough
@pytest.mark.parametrize(
    ("family", "ours", "theirs", "targets"),
    [
        ("gpt2/default", "transformer.", "", ["c_attn"]),
        ("gemma3/multimodal", "model.", "model.language_model.", r".*language_model.*q_proj"),
    ],
)
def test_names_of_the_model_in_another_wrapper_are_understood(
    family, ours, theirs, targets, tmp_path
):
    save(families.tiny(family), tmp_path / "it")
    model = load_model(tmp_path / "it").model
    tensors, pairs = matrices(model, "c_attn" if family.startswith("gpt2") else QUERY)
    tensors = {theirs + name.removeprefix(ours): one for name, one in tensors.items()}
    if "multimodal" in family:
        tensors["model.vision_tower.it.lora_A.weight"] = torch.ones(1, 1)
    add_adapter(tmp_path / "it", tensors, target_modules=targets)
    expected = doubled(model)
    require_same(tmp_path / "it", expected, change(expected, model, pairs))
    tensors = {name: one for name, one in tensors.items() if ".1." not in name}
    add_adapter(tmp_path / "it", tensors, target_modules=targets)
    refused(tmp_path / "it", r"\.1\..*is one of target_modules.* missing")


@pytest.fixture
def beside(tmp_path):
    """A folder with a Llama and an adapter of its queries."""
    model = families.tiny("llama")
    add_adapter(save(model, tmp_path / "it"), matrices(model, QUERY)[0])
    return tmp_path / "it"


def change_adapter(folder, **stated):
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | stated))


@one_is_enough
@pytest.mark.parametrize(
    ("stated", "named"),
    [
        *(({"peft_type": kind}, kind) for kind in ("IA3", "PREFIX_TUNING", "LOHA", "VERA", None)),
        ({"trainable_token_indices": [3]}, "trainable_token_indices"),
        ({"target_parameters": ["experts.down_proj"]}, "target_parameters"),
        ({"alora_invocation_tokens": [1]}, "alora_invocation_tokens"),
        ({"what_comes_next": 1}, "what_comes_next"),
        ({"init_lora_weights": "pissa"}, "pissa"),
        ({"r": 0}, "r is 0"),
        ({"r": 3}, r"lora_A.*\[2, 64\].*\[3, 64\]"),
        ({"lora_alpha": math.inf}, "lora_alpha is inf"),
        ({"lora_alpha": 10**400}, "lora_alpha is 1000"),
        *(
            ({"rank_pattern": {one: 2}}, "pattern")
            for one in ("(", "(.|.)*[0-9]", "((a{999}){999}")
        ),
        ({"target_modules": None}, "target_modules"),
        ({"target_modules": ["q_proj", "k_proj"]}, r"layers\.0\.self_attn\.k_proj.*missing"),
        ({"target_modules": ["v_proj"]}, r"layers\.0\.self_attn\.q_proj.*none of target_modules"),
        ({"layers_to_transform": [0, 1]}, r"layers\.2\.self_attn\.q_proj.*none of target_modules"),
        ({"modules_to_save": ["lm_head"]}, r"lm_head\.weight.*missing"),
        ({"use_dora": True}, "lora_magnitude_vector"),
    ],
)
def test_settings_that_are_not_merged_are_refused_before_memory_is_asked_for(
    beside, monkeypatch, stated, named
):
    change_adapter(beside, **stated)
    for loader in ("from_pretrained", "open_partial"):
        monkeypatch.setattr(load, loader, lambda *_, **__: pytest.fail("it was loaded"))
    for way in WAYS:
        refused(beside, f"model 'it' has an adapter that is not merged here: .*{named}", **way)


@one_is_enough
def test_patterns_that_are_many_are_not_tried_without_end(beside, monkeypatch):
    monkeypatch.setattr(merging, "PATIENCE_WITH_ALL", 0)
    change_adapter(beside, alpha_pattern={f"never_{number}": 1 for number in range(9)})
    refused(beside, "its pattern .*never_1.* cannot be used")


def without(ending):
    return lambda held: {name: one for name, one in held.items() if not name.endswith(ending)}


@one_is_enough
@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (without("0.self_attn.q_proj.lora_B.weight"), r"layers\.0\.self_attn\.q_proj.*lora_B"),
        (without("0.self_attn.q_proj.lora_A.weight"), r"layers\.0\.self_attn\.q_proj.*lora_A"),
        (
            lambda held: held | {"base_model.model.score.weight": torch.ones(2, 64)},
            r"score\.weight",
        ),
        (lambda held: held | {"vera_lambda": torch.ones(2)}, "vera_lambda"),
        (
            lambda held: (
                held | {f"base_model.model.model.layers.0.{QUERY}.weight": torch.ones(64, 64)}
            ),
            r"q_proj\.weight",
        ),
        (
            lambda held: {name: one[:, :-1] for name, one in held.items()},
            r"q_proj\.lora_A.*\[2, 63\].*\[2, 64\]",
        ),
        (
            lambda held: (
                held | {name.removesuffix(".weight"): one + 1 for name, one in held.items()}
            ),
            r"lora_A\.weight' is there twice, as '.*\.lora_A'",
        ),
        (
            lambda held: (
                held
                | {name.replace("model.layers.", "layers."): one + 1 for name, one in held.items()}
            ),
            r"q_proj\.weight' twice, as '",
        ),
        (lambda held: {name: one.char() for name, one in held.items()}, "whole numbers"),
        (lambda held: {name: one.bool() for name, one in held.items()}, "whole numbers"),
        (
            lambda held: {name: torch.zeros_like(one) for name, one in held.items()},
            "nothing but zeros",
        ),
        (lambda _: {}, "no weight"),
        (lambda _: {"base_model.model.model.norm.weight": torch.ones(64)}, "q_proj.* missing"),
    ],
)
def test_tensors_that_fit_no_weight_or_are_missing_are_refused(beside, damage, named):
    path = beside / "adapter_model.safetensors"
    save_file({name: one.contiguous() for name, one in damage(load_file(path)).items()}, path)
    for way in WAYS:
        refused(beside, f"(not merged here: |hold|holds).*{named}", **way)


@one_is_enough
def test_files_that_are_missing_damaged_or_pickled_are_refused(beside):
    weights, config = beside / "adapter_model.safetensors", beside / "adapter_config.json"
    kept = config.read_text()
    config.write_text("[]")
    refused(beside, "'it/adapter_config.json' is not JSON of an adapter")
    config.write_text(kept.replace("{", '{"r": 3, ', 1))
    refused(beside, "JSON of an adapter: the name 'r' comes twice")
    config.unlink()
    refused(beside, "no adapter_config.json beside adapter_model.safetensors")
    config.write_text(kept)
    weights.rename(beside / "adapter_model.bin")
    refused(beside, "no adapter_model.safetensors beside .*pickle")


@one_is_enough
@pytest.mark.parametrize(
    ("family", "ending", "named"),
    [
        ("gpt2/default", "wte", "two parts of the model share"),
        ("mixtral", "experts.0.w1", "not stored as one tensor"),
    ],
)
def test_weights_that_are_no_tensor_of_their_own_are_refused(family, ending, named, tmp_path):
    model = families.tiny(family)
    save(model, tmp_path / "it")
    tensors, _ = matrices(model, ending)
    if not tensors:
        rows = {"A": torch.ones(2, 64), "B": torch.ones(96, 2)}
        path = "model.layers.0.block_sparse_moe.experts.0.w1.lora_"
        tensors = {f"{path}{letter}.weight": one for letter, one in rows.items()}
    add_adapter(tmp_path / "it", tensors, target_modules=[ending])
    for way in WAYS:
        refused(tmp_path / "it", named, **way)


@pytest.mark.promise("model-folder")
@pytest.mark.parametrize("base", ["folder", "packed"])
def test_an_adapter_alone_is_merged_into_its_model(base, tmp_path):
    model = families.tiny("llama" if base == "folder" else "qwen3")
    folder = save(model, tmp_path / "base")
    expected = held(load_model(folder))
    if base == "packed":
        folder, _ = written.written(folder, "int-quantized", tmp_path / "packed")
        expected = held(load_model(folder))
    tensors, pairs = matrices(model, QUERY)
    alone = tmp_path / "tuned"
    add_adapter(alone, tensors, base_model_name_or_path=str(folder))
    (alone / "trainer_state.json").write_text('{"global_step": 7}')
    expected = {name: tensor.double() for name, tensor in expected.items()}
    require_same(alone, expected, change(expected, model, pairs))
    said = []
    facts = load_model(alone, announce=said.append).identity
    assert len(said) == 1
    assert "rank 2" in said[0]
    assert (facts["name"], facts["source"], facts["training_step"]) == ("tuned", "folder", 7)
    assert facts["adapter"] | {"sha256": ""} == {
        **{"name": "tuned", "kind": "LoRA", "ranks": [2], "tensors_changed": 3, "sha256": ""},
        "base": folder.name,
    }


def test_tensors_in_bfloat16_are_rounded_once_and_the_same(beside):
    whole = held(load_model(beside, dtype="bfloat16"))
    exact = held(load_model(beside))
    for way in WAYS[1:]:
        for name, tensor in held(load_model(beside, dtype="bfloat16", **way)).items():
            if "embed" not in name:
                assert torch.equal(tensor, whole[name])
                assert torch.equal(tensor, exact[name].bfloat16())


@one_is_enough
def test_a_class_that_another_package_put_in_place_is_refused(beside, monkeypatch):
    theirs = type("FastNorm", (modeling_llama.LlamaRMSNorm,), {"__module__": "fast.kernels"})
    monkeypatch.setattr(modeling_llama, "LlamaRMSNorm", theirs)
    for way in WAYS:
        refused(beside, r"layers\.0\.input_layernorm.* is a fast\.kernels\.FastNorm", **way)


@one_is_enough
def test_weights_that_config_json_names_elsewhere_are_refused(beside):
    (beside / "model.safetensors").rename(beside / "other.safetensors")
    save(families.tiny("llama", seed=1), beside)
    change_config(beside, transformers_weights="other.safetensors")
    for way in WAYS:
        refused(beside, r"transformers_weights is 'other\.safetensors'", **way)


@one_is_enough
def test_an_adapter_of_a_gguf_file_is_merged_as_into_its_checkpoint(tmp_path):
    # whose queries llama.cpp stores in another order of rows, which the adapter does not know
    model = gguf.tiny("llama")
    base = gguf.Written(gguf.saved(model, tiny_tokenizers.llama2(), tmp_path / "tiny"))
    tensors, pairs = matrices(model, QUERY)
    for name, path in (("plain", base.folder), ("packed", base.to(tmp_path / "it.gguf"))):
        add_adapter(tmp_path / name, tensors, base_model_name_or_path=str(path))
    for way in WAYS:
        plain, packed = (load_model(tmp_path / name, **way) for name in ("plain", "packed"))
        assert packed.identity["adapter"]["base"] == "it.gguf"
        assert packed.identity["adapter"]["tensors_changed"] == len(pairs)
        expected, found = held(plain), held(packed)
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
