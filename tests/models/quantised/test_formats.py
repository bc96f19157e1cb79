"""Packed checkpoints of every format: their numbers, logits and measurements, whole and in part."""

import re
from collections import Counter

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM
from transformers.integrations import finegrained_fp8, mxfp4

from report import families
from report.models.load.load import load_model
from report.models.partial.reader import open_checkpoint, stored_as
from tests.models.checkpoints import change_config, change_weights, require_same_measurements, save
from tests.models.quantised.written import FORMATS, MXFP4, packs, single, written

IDS = [1, 5, 80, 41, 5, 7, 80, 77, 5, 6, 17, 33]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """dict of family -> folder of a tiny model in float32."""
    made = tmp_path_factory.mktemp("plain")
    return {
        name: save(families.tiny(name), made / name)
        for name in ("llama", "qwen3", "qwen3_moe", "gpt_oss")
    }


def require_same_numbers(packed, twin):
    """In every bit, -0 too, as numbers of the files."""
    opened, stored = open_checkpoint(packed), load_file(twin / "model.safetensors")
    assert opened.files.keys() == stored.keys()
    for name, numbers in stored.items():
        there = opened.read(name)
        assert there.dtype == numbers.dtype
        assert torch.equal(there.view(torch.int32), numbers.view(torch.int32)), name
        rows = [len(numbers) - 1, 0]
        assert torch.equal(opened.read_rows(name, rows), numbers[rows]), name


MODELS = ("fp8 blocks", "gptq 4", "mlx 4")
"""Loaded by transformers too; of all formats the numbers are those that a model would have."""


@pytest.mark.parametrize("form", FORMATS)
def test_a_packed_model_is_the_model_of_its_numbers(plain, form, tmp_path):
    packed, twin = written(plain["qwen3" if "nested" in form else "llama"], form, tmp_path)
    require_same_numbers(packed, twin)
    assert stored_as(packed) == mixed(twin, form)
    if form in MODELS:
        ours = load_model(packed, device="cpu")
        assert ours.identity["stored_as"] == mixed(twin, form)
        require_same_state(ours.model, of_transformers(twin))


def mixed(twin, form):
    """What pages say of the packed model: what is left as it was, too."""
    _, config, kind = FORMATS.get(form, MXFP4)
    numbers = Counter()
    for name, tensor in load_file(twin / "model.safetensors").items():
        if tensor.ndim > 1:
            numbers[kind if packs(name, form) else "F32"] += tensor.numel()
    kinds = ", ".join(kind for kind, _ in numbers.most_common())
    return f"{config.get('quant_method', 'mlx')}: {kinds}"


def of_transformers(folder):
    """A model in float32, as transformers loads it."""
    options = {"dtype": torch.float32, "attn_implementation": "sdpa"}
    return AutoModelForCausalLM.from_pretrained(folder, **options).eval()


def require_same_state(ours, theirs):
    """The same tensors and logits, in every bit."""
    there, expected = ours.state_dict(), theirs.state_dict()
    assert there.keys() == expected.keys()
    assert [name for name in expected if not torch.equal(there[name], expected[name])] == []
    with torch.no_grad():
        logits = [model(torch.tensor([IDS])).logits for model in (ours, theirs)]
    assert torch.equal(*logits)


PARTLY = {
    "fp8 blocks": ("llama", {"layers": 2}),
    "nf4 nested": ("qwen3", {"layer_by_layer": True}),
    "awq": ("llama", {"layers": 2, "dtype": "bfloat16"}),
    "pack-quantized in order of activations": ("qwen3_moe", {"layer_by_layer": True}),
    "mxfp4": ("gpt_oss", {"layer_by_layer": True}),
}
"""Format -> family, and how it is loaded; the experts of Qwen 3 are joined from single ones."""


@pytest.mark.parametrize("form", PARTLY)
def test_measurements_are_those_of_the_numbers_in_part_too(plain, form, tmp_path):
    family, way = PARTLY[form]
    packed, twin = written(plain[family], form, tmp_path)
    ours, theirs = (load_model(folder, device="cpu", **way) for folder in (packed, twin))
    require_same_measurements(ours, theirs, IDS)
    assert ours.checked == theirs.checked
    assert ours.partial.checkpoint.bytes_read > 0
    assert ours.partial.planned(IDS)["bytes"] < ours.partial.planned(IDS)["of"]


def test_experts_in_mxfp4_are_those_of_their_numbers(plain, tmp_path):
    packed, twin = written(plain["gpt_oss"], "mxfp4", tmp_path)
    require_same_numbers(packed, twin)
    ours, theirs = (load_model(folder, device="cpu") for folder in (packed, twin))
    assert ours.identity["stored_as"] == mixed(twin, "mxfp4")
    require_same_state(ours.model, theirs.model)


def test_blocks_of_fp8_are_as_transformers_has_them(tmp_path):
    folder = single("fp8 blocks", tmp_path / "it")
    stored = load_file(folder / "model.safetensors")
    name = "layers.0.q_proj.weight"
    parts = {"weight": stored[name], "weight_scale_inv": stored[f"{name}_scale_inv"]}
    theirs = finegrained_fp8.Fp8Dequantize(None).convert(parts)["weight"]
    assert theirs.dtype == torch.float32
    assert torch.equal(open_checkpoint(folder).read(name), theirs)


def test_mxfp4_is_as_transformers_has_it(tmp_path):
    folder = single("mxfp4", tmp_path / "it")
    stored = load_file(folder / "model.safetensors")
    name = "layers.0.experts.down_proj"
    parts = (stored[f"{name}_blocks"], stored[f"{name}_scales"])
    theirs = mxfp4.convert_moe_packed_tensors(*parts, dtype=torch.float32)
    assert torch.equal(open_checkpoint(folder).read(name), theirs)


def test_scales_of_activations_and_caches_change_no_weight(plain, tmp_path):
    packed, twin = written(plain["llama"], "fp8 of a tensor", tmp_path)
    before = "model.layers.0.self_attn"
    names = ("q_proj.input_scale", "q_proj.activation_scale", "k_proj.k_scale", "attn.v_scale")
    extra = {f"{before}.{name}": torch.tensor(3.0) for name in names}
    change_weights(packed, lambda tensors: tensors | extra)
    require_same_numbers(packed, twin)
    ours, theirs = (load_model(folder, device="cpu") for folder in (packed, twin))
    require_same_state(ours.model, theirs.model)


STEM = "model.layers.1.mlp.up_proj"
MIXED_MLX = {"group_size": 32, "bits": 4, STEM: {"group_size": 32, "bits": 8}, "lm_head": True}


@pytest.mark.parametrize(
    ("way", "settings", "said"),
    [
        (
            "mlx",
            {"quantization": MIXED_MLX, "quantization_config": MIXED_MLX},
            "mlx: (INT4|INT8|F32)(, (INT4|INT8|F32)){2}",
        ),
        (
            "gptq",
            {
                "quantization_config": FORMATS["gptq 4"][1]
                | {"dynamic": {"+:.*up_proj": {"bits": 8}}}
            },
            "gptq: F32, INT4, INT8",
        ),
    ],
)
def test_settings_of_single_weights(plain, way, settings, said, tmp_path):
    """MLX states them under the weight's name; GPTQ by patterns, and g_idx says the inputs."""
    four, twin = written(plain["llama"], f"{way} 4", tmp_path / "4")
    for folder, other in zip(
        (four, twin), written(plain["llama"], f"{way} 8", tmp_path / "8"), strict=True
    ):
        eight = load_file(other / "model.safetensors").items()
        parts = {name: part for name, part in eight if name.startswith(f"{STEM}.")}
        change_weights(folder, lambda held, parts=parts: held | parts)
    change_config(four, **settings)
    require_same_numbers(four, twin)
    assert re.fullmatch(said, stored_as(four))


def test_rows_of_an_embedding_are_read_alone(plain, tmp_path):
    packed, _ = written(plain["llama"], "mlx 4", tmp_path)
    opened = open_checkpoint(packed)
    opened.read_rows("model.embed_tokens.weight", [3, 5])
    assert opened.bytes_read == 2 * (64 // 2 + 2 * 2 * 2)  # half bytes, two scales and two biases
