"""An adapter is merged by the same numbers however a model is loaded, or refused by its name."""

import math

import pytest
import torch
from torch import nn
from transformers import modeling_utils
from transformers.integrations import peft
from transformers.models.auto import auto_factory
from transformers.models.llama import modeling_llama

from report import families
from report.models.attention.structure import structure
from report.models.load.load import load_model
from report.models.partial import merging
from tests.models import tiny_tokenizers
from tests.models.checkpoints import (
    add_adapter,
    change_config,
    change_weights,
    refused,
    refused_early,
    save,
)
from tests.models.gguf import written as gguf
from tests.models.quantised import written

WAYS = [{}, {"layers": 2}, {"layer_by_layer": True}]
QUERY = "self_attn.q_proj"


@pytest.fixture(autouse=True)
def packages(request, monkeypatch):
    """With one of two packages that transformers looks for, as far as it can tell."""
    there = getattr(request, "param", "peft alone") == "peft alone"
    for module in (peft, auto_factory):
        monkeypatch.setattr(module, "is_peft_available", lambda: there)
    monkeypatch.setattr(modeling_utils, "is_accelerate_available", lambda: not there)


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
    """The class of a model, of which it is asserted that it has the `expected` tensors (float64) in
    all ways, those that are `changed` up to rounding and the others exactly."""
    model = load_model(folder).model
    whole = model.state_dict()
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
    return type(model)


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


@pytest.mark.parametrize("family", FAMILIES)
def test_all_ways_have_the_same_tensors_of_every_family(family, tmp_path):
    model = families.tiny(family)
    save(model, tmp_path / "it")
    path_of = {module: path for path, module in model.named_modules()}
    ending = path_of[structure(model)[0].output_projection].partition(".0.")[2]
    tensors, pairs = matrices(model, ending)
    add_adapter(tmp_path / "it", tensors, target_modules=[ending])
    expected = doubled(model)
    changed = change(expected, model, pairs)
    assert require_same(tmp_path / "it", expected, changed) is type(model)


ALL, NOT_THE_SECOND = (2, 2, 2), (2, 0, 2)
KINDS = {
    "rank": (QUERY, {}, ALL, (4, 4, 4)),
    "root of rank": (QUERY, {"use_rslora": True}, ALL, (8 / math.sqrt(2),) * 3),
    "embedding": ("embed_tokens", {}, ALL, (4, 4, 4)),
    "turned": ("c_attn", {}, ALL, (4, 4, 4)),
    "patterns": (
        QUERY,
        {"rank_pattern": {"layers.1.self_attn.q_proj": 3}, "alpha_pattern": {"^model.+0.+": 5}},
        (2, 3, 2),
        (5 / 2, 8 / 3, 4),
    ),
    "layers": (
        QUERY,
        {"layers_to_transform": [0, 2], "layers_pattern": "layers"},
        NOT_THE_SECOND,
        (4, 4, 4),
    ),
    "targets": (QUERY, {"target_modules": r".*\.1\..*q_proj"}, (0, 2, 0), (4, 4, 4)),
    "excluded": (QUERY, {"exclude_modules": [f"layers.1.{QUERY}"]}, NOT_THE_SECOND, (4, 4, 4)),
}
"""Variant -> the modules that it changes, its settings, ranks and scales by layer."""


def of_layer(values):
    """A function of a path -> the value of its layer; of the embedding that of the first."""
    return lambda path: values[int("".join(filter(str.isdigit, path)) or 0)]


@pytest.mark.parametrize(
    ("kind", "dora"),
    [*((kind, False) for kind in KINDS), ("rank", True), ("turned", True), ("patterns", True)],
)
def test_weights_become_what_is_published_of_each_variant(kind, dora, tmp_path):
    ending, settings, ranks, scales = KINDS[kind]
    model = families.tiny("gpt2/default" if kind == "turned" else "llama")
    save(model, tmp_path / "it")
    tensors, pairs = matrices(model, ending, of_layer(ranks))
    lengths = {path: 1 + torch.rand(len(b)) for path, _, b in pairs} if dora else {}
    tensors |= {f"{path}.lora_magnitude_vector": length for path, length in lengths.items()}
    settings = {"target_modules": [ending.rpartition(".")[2]], "use_dora": dora} | settings
    add_adapter(tmp_path / "it", tensors, **settings)
    expected = doubled(model)
    require_same(
        tmp_path / "it", expected, change(expected, model, pairs, of_layer(scales), lengths)
    )


def test_an_embedding_has_no_dora(tmp_path):
    model = families.tiny("llama")
    tensors, _ = matrices(model, "embed_tokens")
    tensors["model.embed_tokens.lora_magnitude_vector"] = torch.ones(64)
    add_adapter(
        save(model, tmp_path / "it"), tensors, use_dora=True, target_modules=["embed_tokens"]
    )
    refused(tmp_path / "it", "embed_tokens.* an embedding, of which DoRA")


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


WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


def stated(**settings):
    """A damage: other settings of the adapter."""
    return lambda folder: change_config(folder, CONFIG, **settings)


def tensors(change):
    """A damage: the adapter's tensors are a function of those that there are."""
    return lambda folder: change_weights(folder, change, WEIGHTS)


def each(change, rename=lambda name: name, keep=False):
    """A damage: every tensor is another one, or there once more under another name."""
    return tensors(
        lambda held: (
            (held if keep else {}) | {rename(name): change(tensor) for name, tensor in held.items()}
        )
    )


def added(name, *shape):
    return tensors(lambda held: held | {name: torch.ones(shape)})


def text(change):
    return lambda folder: (folder / CONFIG).write_text(change((folder / CONFIG).read_text()))


FIRST = f"base_model.model.model.layers.0.{QUERY}"
FIRST_QUERY, LAST_QUERY = r"layers\.0\.self_attn\.q_proj", r"layers\.2\.self_attn\.q_proj"
DAMAGES = [
    *((kind, stated(peft_type=kind)) for kind in ("IA3", "PREFIX_TUNING")),
    ("trainable_token_indices", stated(trainable_token_indices=[3])),
    ("target_parameters", stated(target_parameters=["experts.down_proj"])),
    ("alora_invocation_tokens", stated(alora_invocation_tokens=[1])),
    ("what_comes_next", stated(what_comes_next=1)),
    ("pissa", stated(init_lora_weights="pissa")),
    ("r is 0", stated(r=0)),
    (r"lora_A.*\[2, 64\].*\[3, 64\]", stated(r=3)),
    ("lora_alpha is inf", stated(lora_alpha=math.inf)),
    ("lora_alpha is 1000", stated(lora_alpha=10**400)),
    *(
        ("pattern", stated(rank_pattern={pattern: 2}))
        for pattern in ("(", "(.|.)*[0-9]", "((a{999}){999}")
    ),
    ("target_modules", stated(target_modules=None)),
    (r"layers\.0\.self_attn\.k_proj.*missing", stated(target_modules=["q_proj", "k_proj"])),
    (f"{FIRST_QUERY}.*none of target_modules", stated(target_modules=["v_proj"])),
    (f"{LAST_QUERY}.*none of target_modules", stated(layers_to_transform=[0, 1])),
    (r"lm_head\.weight.*missing", stated(modules_to_save=["lm_head"])),
    ("lora_magnitude_vector", stated(use_dora=True)),
    (
        f"{FIRST_QUERY}.*lora_B",
        tensors(lambda held: {k: v for k, v in held.items() if "_B" not in k}),
    ),
    (r"score\.weight", added("base_model.model.score.weight", 2, 64)),
    ("vera_lambda", added("vera_lambda", 2)),
    (r"q_proj\.weight", added(f"{FIRST}.weight", 64, 64)),
    (r"q_proj\.lora_A.*\[2, 63\].*\[2, 64\]", each(lambda tensor: tensor[:, :-1])),
    (
        r"lora_A\.weight' is there twice, as '.*\.lora_A'",
        each(torch.neg, lambda name: name.removesuffix(".weight"), keep=True),
    ),
    (
        r"q_proj\.weight' twice, as '",
        each(torch.neg, lambda name: name.replace("model.l", "l"), True),
    ),
    ("whole numbers", each(torch.Tensor.char)),
    ("nothing but zeros", each(torch.zeros_like)),
    ("no weight", tensors(lambda _: {})),
    ("q_proj.* missing", tensors(lambda _: {f"{FIRST[:23]}norm.weight": torch.ones(64)})),
    ("'it/adapter_config.json' is not JSON of an adapter", text(lambda _: "[]")),
    ("the name 'r' comes twice", text(lambda content: content.replace("{", '{"r": 3, ', 1))),
    ("no adapter_config.json beside", lambda folder: (folder / CONFIG).unlink()),
    (
        "no adapter_model.safetensors beside .*pickle",
        lambda folder: (folder / WEIGHTS).rename(folder / "adapter_model.bin"),
    ),
]


@pytest.mark.parametrize(("sentence", "damage"), DAMAGES)
def test_an_adapter_is_refused_before_memory_is_asked_for(beside, monkeypatch, sentence, damage):
    damage(beside)
    refused_early(beside, sentence, monkeypatch)


def test_patterns_that_are_many_are_not_tried_without_end(beside, monkeypatch):
    monkeypatch.setattr(merging, "PATIENCE_WITH_ALL", 0)
    stated(alpha_pattern={f"never_{number}": 1 for number in range(9)})(beside)
    refused(beside, "its pattern .*never_1.* cannot be used")


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
    refused(tmp_path / "it", named)


@pytest.mark.promise("model-folder")
@pytest.mark.parametrize(
    ("packages", "base"),
    [("peft alone", "folder"), ("accelerate alone", "packed")],
    indirect=["packages"],
)
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


def test_numbers_in_bfloat16_are_rounded_once_and_the_same(beside):
    whole = held(load_model(beside, dtype="bfloat16"))
    exact = held(load_model(beside))
    for way in WAYS[1:]:
        for name, tensor in held(load_model(beside, dtype="bfloat16", **way)).items():
            if "embed" not in name:
                assert torch.equal(tensor, whole[name])
                assert torch.equal(tensor, exact[name].bfloat16())


def test_a_class_that_another_package_put_in_place_is_refused(beside, monkeypatch):
    theirs = type("FastNorm", (modeling_llama.LlamaRMSNorm,), {"__module__": "fast.kernels"})
    monkeypatch.setattr(modeling_llama, "LlamaRMSNorm", theirs)
    for way in WAYS[::2]:
        refused(beside, r"layers\.0\.input_layernorm.* is a fast\.kernels\.FastNorm", **way)


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
