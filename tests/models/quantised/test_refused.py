"""Packed checkpoints that are damaged, hostile, or not understood: one sentence, before memory."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

from report import families
from report.errors import ReportError
from report.models.partial.reader import open_checkpoint
from report.models.quantised import methods
from report.models.quantised.methods import packing
from tests.models.checkpoints import change_config, change_weights, refused, refused_early, save
from tests.models.quantised.written import FORMATS, MXFP4, single

pytestmark = pytest.mark.promise("packed-weights")

NAME = "layers.0.q_proj"
FORMS = {**FORMATS, "mxfp4": MXFP4}

MAY_BE_MISSING = {"gptq 2", "gptq 3", "gptq 8", "gptq 4 of whole rows", "gptq_v2"}
"""GPTQ whose groups follow each other needs no g_idx."""


WITHOUT_SCALES = ("int-quantized", "weight_scale")
"""Leaves a matrix of whole numbers, which is refused where the model asks for it (see below)."""


def tampered(folder, change):
    """What the checkpoint's weight is read as after a change of its stored tensors, or why not."""
    path = folder / "model.safetensors"
    save_file({k: v.contiguous() for k, v in change(load_file(path)).items()}, path)
    opened = open_checkpoint(folder)
    opened.shapes()
    return [opened.read(name) for name in opened.files]


ONE_SCALE = {"fp8 of a tensor", "fp8 e5m2", "float-quantized of a tensor"}
"""Whose scale fits numbers of any shape; that the model wants another one is found later."""


@pytest.mark.parametrize("form", FORMS)
def test_a_part_that_is_missing_or_does_not_fit_is_refused_by_name(form, tmp_path):
    folder = single(form, tmp_path / "it")
    whole = load_file(folder / "model.safetensors")
    for name, part in whole.items():
        ending = name.rpartition(".")[2]
        changes = {"missing": None, "another dtype": torch.zeros(part.shape, dtype=torch.float64)}
        if part.ndim:
            changes["one row more"] = torch.cat([part.view(torch.uint8)] * 2).view(part.dtype)
            changes["empty"] = part[:0]
        for said, changed in changes.items():
            if said == "missing" and (ending == "weight_format" or form in MAY_BE_MISSING):
                continue
            if said == "missing" and (form, ending) == WITHOUT_SCALES:
                continue
            if said == "one row more" and ending == "weight" and form in ONE_SCALE:
                continue
            others = {other: kept for other, kept in whole.items() if other != name}
            others |= {} if changed is None else {name: changed}
            with pytest.raises(ReportError) as error:
                tampered(folder, lambda _, others=others: others)
            assert NAME in str(error.value) or "down_proj" in str(error.value), (name, said)
            assert "\n" not in str(error.value)


HOSTILE = {
    "gptq 4": ("g_idx", torch.full((96,), 3, dtype=torch.int32), "names the groups 3 to 3"),
    "gptq 8": ("g_idx", torch.full((96,), -1, dtype=torch.int32), "names the groups -1 to -1"),
    "pack-quantized in order of activations": (
        "weight_g_idx",
        torch.zeros(96, dtype=torch.int32),
        "does not give each of 3 groups 32 columns",
    ),
    "pack-quantized": ("weight_shape", torch.tensor([64, 2**62]), "do not hold"),
    "pack-quantized with zeros": ("weight_shape", torch.tensor([-64, 96]), "not what was packed"),
    "mlx 3": ("weight", torch.zeros(64, 8, dtype=torch.uint32), "no whole numbers of 3 bits"),
    "bitsandbytes 8": ("weight_format", torch.tensor(1, dtype=torch.uint8), "another order"),
}


@pytest.mark.parametrize("form", HOSTILE)
def test_hostile_numbers_in_parts_are_refused(form, tmp_path):
    ending, value, said = HOSTILE[form]
    with pytest.raises(ReportError, match=said):
        tampered(single(form, tmp_path / "it"), lambda held: held | {f"{NAME}.{ending}": value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("shape", [2**40, 2**40]),
        ("shape", [64, -96]),
        ("shape", [6144]),
        ("shape", None),
        ("blocksize", 0),
        ("blocksize", True),
        ("blocksize", 32),
        ("nested_blocksize", 0),
        ("nested_offset", "1"),
        ("nested_offset", float("nan")),
        ("quant_type", "fp4"),
    ],
)
def test_what_bitsandbytes_says_of_a_weight_is_not_believed(key, value, tmp_path):
    folder = single("nf4 nested", tmp_path / "it")
    name = f"{NAME}.weight.quant_state.bitsandbytes__nf4"

    def change(held):
        state = json.loads(bytes(held[name].tolist())) | {key: value}
        return held | {name: torch.tensor(list(json.dumps(state).encode()), dtype=torch.uint8)}

    with pytest.raises(ReportError, match="cannot be unpacked"):
        tampered(folder, change)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"[" * 9999, b" " * 20_000])
def test_a_state_that_is_no_object_is_refused(content, tmp_path):
    name = f"{NAME}.weight.quant_state.bitsandbytes__nf4"
    text = torch.tensor(list(content), dtype=torch.uint8)
    with pytest.raises(ReportError, match="cannot be unpacked"):
        tampered(single("nf4", tmp_path / "it"), lambda held: held | {name: text})


COMPRESSED = FORMATS["pack-quantized"][1]
GROUP = COMPRESSED["config_groups"]["group_0"]
METHODS = {
    "gptq": {"quant_method": "gptq", "bits": 4, "group_size": 32},
    "awq": {"quant_method": "awq", "bits": 4, "group_size": 32},
    "compressed": COMPRESSED,
    "mlx": {"group_size": 32, "bits": 4},
}
UNREAD = [
    *((None, {"quant_method": name}, f"'{name}'") for name in ("hqq", "aqlm")),
    (None, {"quant_method": {}}, "quant_method"),
    (None, {"bits": 4}, "does not say quant_method"),
    (None, [1], "quant_method"),
    (None, {"quant_method": "fp8", "weight_block_size": [0, 128]}, "weight_block_size"),
    (None, {"quant_method": "bitsandbytes", "bnb_4bit_quant_type": "int4"}, "'int4'"),
    ("gptq", {"bits": 5}, "bits"),
    ("gptq", {"group_size": None}, "does not say group_size"),
    ("gptq", {"group_size": 0}, "group_size"),
    ("gptq", {"checkpoint_format": "marlin"}, "'marlin'"),
    ("gptq", {"format": "gptq_p"}, "'gptq_p'"),
    ("gptq", {"is_marlin_format": True}, "is_marlin_format"),
    ("gptq", {"rotation": "hadamard"}, "rotation"),
    ("awq", {"version": "gemv"}, "'gemv'"),
    ("compressed", {"format": "marlin-24"}, "'marlin-24'"),
    ("compressed", {"sparsity_config": {"format": "sparse-24-bitmask"}}, "sparse-24-bitmask"),
    ("compressed", {"transform_config": {"config_groups": {"R1": {}}}}, "transform_config"),
    ("compressed", {"config_groups": {}}, "config_groups"),
    ("compressed", {"config_groups": {"a": 5}}, "config_groups"),
    ("compressed", {"config_groups": {"a": GROUP | {"format": "dense-2"}}}, "'dense-2'"),
    ("compressed", {"config_groups": {"a": {"weights": {"num_bits": "4"}}}}, "num_bits"),
    ("mlx", {"bits": 7}, "bits"),
    ("mlx", {"mode": "mxfp4"}, "'mxfp4'"),
    ("mlx", {"group_size": -1}, "group_size"),
    ("mlx", {"layers.0.q_proj": {"bits": 64}}, "bits"),
    ("mlx", {"layers.0.q_proj": {"mode": "nvfp4"}}, "'nvfp4'"),
]
"""A way to pack, what config.json says besides what it always says, and what is refused of it."""


@pytest.mark.parametrize(("way", "settings", "said"), UNREAD)
def test_ways_to_pack_that_are_not_read_are_refused_by_name(way, settings, said):
    key = "quantization" if way == "mlx" else "quantization_config"
    stated = settings if way is None else METHODS[way] | settings
    with pytest.raises(ReportError, match="quantised in a way that is not read") as error:
        packing({"model_type": "llama", key: stated}, "it")
    assert said in str(error.value)


def test_families_that_mlx_changes_are_refused():
    """Among others Qwen 3 Next, whose norms MLX stores plus one."""
    stated = {"group_size": 32, "bits": 4}
    for family in ("qwen3_next", "mixtral", "gpt2", None, [1]):
        with pytest.raises(ReportError, match="model_type"):
            packing({"model_type": family, "quantization": stated}, "it")
    for family in methods.FAMILIES:
        assert packing({"model_type": family, "quantization": stated}, "it").label == "mlx"


def test_what_is_no_packing_is_none():
    for stated in ({}, {"quantization_config": None}, {"quantization": "none"}):
        assert packing({"model_type": "llama"} | stated, "it") is None


def test_a_part_that_belongs_to_no_weight_is_refused(tmp_path):
    """Among others the scales that AWQ puts on activations, which change what a model computes."""
    for form, name in (("awq", "layers.0.mlp.act.scales"), ("gptq 4", "layers.0.x.qzeros")):
        with pytest.raises(ReportError, match=f"{name}', which belongs to no weight"):
            tampered(
                single(form, tmp_path / form),
                lambda held, name=name: held | {name: torch.ones(4)},
            )


def test_a_weight_that_is_there_twice_is_refused(tmp_path):
    folder = single("gptq 4", tmp_path / "it")
    with pytest.raises(ReportError, match="twice"):
        tampered(folder, lambda held: held | {f"{NAME}.weight": torch.ones(64, 96)})


QUERY = "model.layers.0.self_attn.q_proj.weight"


@pytest.mark.parametrize(
    ("change", "settings", "sentence"),
    [
        (
            lambda held: {QUERY: held[QUERY].mul(99).char()},
            {"quantization_config": {"quant_method": "bitsandbytes"}},
            "as whole numbers (.*), and no scales for it",
        ),
        (
            lambda _: {f"{QUERY}_scale": torch.ones(1)},
            {},
            "its weights are packed .*config.json does not say how",
        ),
    ],
)
def test_weights_of_which_nobody_says_how_they_are_packed_are_refused(
    tmp_path, monkeypatch, change, settings, sentence
):
    folder = save(families.tiny("llama"), tmp_path / "copy")
    change_weights(folder, lambda held: held | change(held))
    change_config(folder, **settings)
    refused_early(folder, sentence, monkeypatch)


def test_matrices_that_are_the_other_way_round_are_refused(tmp_path):
    config = GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=32)
    folder = save(GPT2LMHeadModel(config), tmp_path / "copy")
    change_config(folder, quantization_config=FORMATS["nf4"][1])
    refused(folder, "quantised, and its architecture holds matrices the other way round")


def test_groups_of_another_size_than_stated_are_refused(tmp_path):
    for form, key in (("pack-quantized", "config_groups"), ("awq", "group_size")):
        folder = single(form, tmp_path / form)
        stated = json.loads((folder / "config.json").read_text())["quantization_config"]
        weights = GROUP["weights"] | {"group_size": 40}
        value = {"a": GROUP | {"weights": weights}} if key == "config_groups" else 40
        change_config(folder, quantization_config=stated | {key: value})
        with pytest.raises(ReportError, match="cannot be unpacked"):
            tampered(folder, lambda held: held)
