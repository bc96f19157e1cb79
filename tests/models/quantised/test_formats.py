"""Packed checkpoints of every format: their numbers, logits and measurements, whole and in part."""

import re
from collections import Counter

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM
from transformers.integrations import finegrained_fp8, mxfp4

from report import families
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage
from report.models.partial.packed import open_checkpoint, stored_as
from tests.models.checkpoints import change_config, change_weights, save
from tests.models.quantised.written import EIGHT, FORMATS, MXFP4, packs, single, written

IDS = [1, 5, 80, 41, 5, 7, 80, 77, 5, 6, 17, 33]
TABLES = ("largest_targets", "marker_count", "magnitude", "alignment")


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


def require_same_measurements(packed, twin, **way):
    ours, theirs = (load_model(folder, device="cpu", **way) for folder in (packed, twin))
    found, expected = (measure_passage(loaded, IDS) for loaded in (ours, theirs))
    assert ours.checked == theirs.checked
    for name in TABLES:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    for layer in range(ours.measured_layers):
        for one, other in zip(found.terms(layer, 1), expected.terms(layer, 1), strict=True):
            assert one.name == other.name
            assert np.array_equal(one.values, other.values)
    return ours, theirs


MODELS = ("fp8 blocks", "fbgemm", "float-quantized", "int-quantized", "pack-quantized", "nvfp4")
MODELS += ("bitsandbytes 8", "nf4", "fp4", "gptq 4", "awq", "mlx 4")
"""One of each format, loaded by transformers too; the others differ in their numbers alone."""


@pytest.mark.parametrize("form", FORMATS)
def test_a_packed_model_is_the_model_of_its_numbers(plain, form, tmp_path):
    """Of two families the numbers, of one of them the model too."""
    require_same_numbers(*written(plain["qwen3"], form, tmp_path / "qwen3"))
    packed, twin = written(plain["llama"], form, tmp_path / "llama")
    require_same_numbers(packed, twin)
    assert stored_as(packed) == mixed(twin, form)
    if form not in MODELS:
        return
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
    "gptq 3": ("llama", {}),
    "nf4 nested": ("qwen3", {"layer_by_layer": True}),
    "mlx 4": ("llama", {"layer_by_layer": True}),
    "awq": ("llama", {"layers": 2, "dtype": "bfloat16"}),
    "pack-quantized in order of activations": ("qwen3_moe", {"layer_by_layer": True}),
    "mxfp4": ("gpt_oss", {"layer_by_layer": True}),
}
"""Format -> family, and how it is loaded; the experts of Qwen 3 are joined from single ones."""


@pytest.mark.parametrize("form", PARTLY)
def test_measurements_are_those_of_the_numbers_in_part_too(plain, form, tmp_path):
    family, way = PARTLY[form]
    packed, twin = written(plain[family], form, tmp_path)
    ours, _ = require_same_measurements(packed, twin, **way)
    if not way:
        return
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


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_every_byte_is_the_float_that_torch_has_for_it(kind):
    table, dtype = EIGHT[kind]
    theirs = torch.arange(256, dtype=torch.uint8).view(dtype).float().numpy()
    finite = np.isfinite(theirs)
    assert np.array_equal(table[finite], theirs[finite])
    assert np.isnan(table[~finite]).all()


def test_scales_of_activations_and_caches_change_no_weight(plain, tmp_path):
    packed, twin = written(plain["llama"], "fp8 of a tensor", tmp_path)
    before = "model.layers.0.self_attn"
    names = ("q_proj.input_scale", "q_proj.activation_scale", "k_proj.k_scale", "attn.v_scale")
    extra = {f"{before}.{name}": torch.tensor(3.0) for name in names}
    change_weights(packed, lambda tensors: tensors | extra)
    require_same_numbers(packed, twin)
    ours, theirs = (load_model(folder, device="cpu") for folder in (packed, twin))
    require_same_state(ours.model, theirs.model)


def test_settings_of_single_weights(plain, tmp_path):
    """MLX states them under the weight's name; GPTQ by patterns, and g_idx says the inputs."""
    four, twin = written(plain["llama"], "mlx 4", tmp_path / "4")
    eight, other = written(plain["llama"], "mlx 8", tmp_path / "8")
    stem = "model.layers.1.mlp.up_proj"
    theirs, numbers = (load_file(at / "model.safetensors") for at in (eight, other))
    parts = {name: part for name, part in theirs.items() if name.startswith(f"{stem}.")}
    change_weights(four, lambda tensors: tensors | parts)
    change_weights(twin, lambda tensors: tensors | {f"{stem}.weight": numbers[f"{stem}.weight"]})
    own = {"group_size": 32, "bits": 4, stem: {"group_size": 32, "bits": 8}, "lm_head": True}
    change_config(four, quantization=own, quantization_config=own)
    require_same_numbers(four, twin)
    assert re.fullmatch("mlx: (INT4|INT8|F32)(, (INT4|INT8|F32)){2}", stored_as(four))

    four, twin = written(plain["llama"], "gptq 4", tmp_path / "g4")
    eight, other = written(plain["llama"], "gptq 8", tmp_path / "g8")
    theirs, numbers = (load_file(at / "model.safetensors") for at in (eight, other))
    parts = {name: part for name, part in theirs.items() if name.startswith(f"{stem}.")}
    change_weights(four, lambda tensors: tensors | parts)
    change_weights(twin, lambda tensors: tensors | {f"{stem}.weight": numbers[f"{stem}.weight"]})
    dynamic = {"+:.*up_proj": {"bits": 8}}
    change_config(four, quantization_config=FORMATS["gptq 4"][1] | {"dynamic": dynamic})
    require_same_numbers(four, twin)
    assert stored_as(four) == "gptq: F32, INT4, INT8"


def test_rows_of_an_embedding_are_read_alone(plain, tmp_path):
    packed, _ = written(plain["llama"], "mlx 4", tmp_path)
    opened = open_checkpoint(packed)
    opened.read_rows("model.embed_tokens.weight", [3, 5])
    assert opened.bytes_read == 2 * (64 // 2 + 2 * 2 * 2)  # half bytes, two scales and two biases
