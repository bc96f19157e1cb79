"""Weight files: what they hold, which are needed, and that damage is seen before loading."""

import hashlib
import json
import shutil
import tracemalloc

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from report.errors import ReportError
from report.models.find import weights
from report.models.find.weights import SINGLE
from tests.tiny_falcon import random_falcon


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """The tiny Falcon in several files."""
    folder = tmp_path_factory.mktemp("weights") / "split"
    random_falcon().save_pretrained(folder, max_shard_size="50KB")
    return folder


@pytest.fixture
def split(original, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(original, tmp_path / "split")


def files_of(folder):
    return sorted(folder.glob("*.safetensors"))


def refused(folder, message):
    with pytest.raises(ReportError, match=message):
        weights.weight_files(folder)


def test_a_header_says_what_the_library_of_the_format_says(split):
    for path in files_of(split):
        content = path.read_bytes()
        header = weights.read_header(path)
        with safe_open(path, "pt") as file:
            assert set(header) == set(file.keys())
            for name, tensor in header.items():
                expected = file.get_tensor(name)
                assert tensor["shape"] == list(expected.shape)
                start, end = tensor["span"]
                assert content[start:end] == expected.numpy().tobytes()


def test_every_tensor_is_in_one_file_of_the_map(split):
    found = weights.weight_map(split)
    stored = {name: path.name for path in files_of(split) for name in load_file(path)}
    assert found == stored
    assert weights.weight_files(split) == files_of(split)


def test_a_single_file_goes_before_an_index_as_in_transformers(split):
    save_file({"a": torch.zeros(2)}, split / SINGLE)
    assert weights.weight_map(split) == {"a": SINGLE}
    assert weights.weight_files(split) == [split / SINGLE]


LLAMA = [
    "lm_head.weight",
    "model.embed_tokens.weight",
    "model.layers.0.mlp.up_proj.weight",
    "model.layers.1.mlp.experts.7.w1.weight",
    "model.layers.2.self_attn.q_proj.weight",
    "model.layers.10.self_attn.q_proj.weight",
    "model.norm.weight",
]


def test_the_layer_of_a_tensor_is_the_first_number_of_its_name():
    assert [weights.layer_of(name) for name in LLAMA] == [None, None, 0, 1, 2, 10, None]


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (LLAMA, [1, 2, 3]),
        (["wte.weight", "wpe.weight", "h.1.attn.c_attn.weight", "ln_f.bias"], [0, 1, 2]),
        (["transformer.h.2.ln_1.bias", "transformer.h.1.ln_1.bias", "transformer.ln_f.bias"], [1]),
        (["gpt_neox.embed_in.weight", "gpt_neox.final_layer_norm.bias", "embed_out.weight"], [0]),
        (["transformer.word_embeddings_layernorm.weight", "transformer.norm_f.weight"], [0]),
        (
            ["bert.embeddings.LayerNorm.weight", "bert.pooler.dense.bias", "cls.predictions.bias"],
            [0],
        ),
        (["model.embeddings.norm.weight", "model.final_norm.weight"], [0]),
        (
            [
                "language_model.model.embed_tokens.weight",
                "language_model.model.layers.1.mlp.up_proj.weight",
                "language_model.model.norm.weight",
                "vision_tower.encoder.layers.0.mlp.fc1.bias",
                "multi_modal_projector.mm_soft_emb_norm.weight",
            ],
            [0, 1],
        ),
        (["model.decoder.embed_positions.weight", "model.decoder.final_layer_norm.bias"], [0]),
    ],
)
def test_the_first_two_layers_need_what_comes_before_them_and_nothing_after(names, kept):
    assert weights.first_layers(names, 2) == [names[index] for index in kept]


def test_only_the_files_with_wanted_tensors_are_needed(split):
    found = weights.weight_map(split)
    wanted = weights.first_layers(found, 1)
    needed = weights.files_for(found, wanted)
    assert {found[name] for name in wanted} == set(needed) < set(found.values())
    for path in files_of(split):
        if path.name not in needed:
            path.unlink()
    assert [path.name for path in weights.weight_files(split, wanted)] == needed
    refused(split, "model folder 'split' lacks")


def test_the_checksum_of_all_weights_is_that_of_the_files(split):
    joined = b"".join(path.read_bytes() for path in files_of(split))
    assert weights.weights_sha256(split) == hashlib.sha256(joined).hexdigest()


def test_the_checksum_of_the_first_layers_depends_on_their_tensors_alone(split, tmp_path):
    before = weights.weights_sha256(split, 2)
    found = weights.weight_map(split)

    def change(name):
        path = split / found[name]
        save_file({k: v + (k == name) for k, v in load_file(path).items()}, path)

    change("transformer.h.2.mlp.dense_4h_to_h.weight")
    assert weights.weights_sha256(split, 2) == before
    assert weights.weights_sha256(split, 3) != weights.weights_sha256(split, 2)
    change("transformer.h.1.mlp.dense_4h_to_h.weight")
    assert weights.weights_sha256(split, 2) != before
    whole = tmp_path / "whole"
    tensors = {k: v for path in files_of(split) for k, v in load_file(path).items()}
    whole.mkdir()
    save_file(tensors, whole / SINGLE)
    assert weights.weights_sha256(whole, 2) == weights.weights_sha256(split, 2)


def test_parameters_are_counted_from_the_headers(split):
    tensors = {k: v for path in files_of(split) for k, v in load_file(path).items()}
    shapes = weights.shapes(split)
    whole = weights.parameters(split, shapes)
    assert whole == sum(tensor.numel() for tensor in tensors.values())
    first = weights.parameters(split, shapes, lambda names: weights.first_layers(names, 1))
    kept = weights.first_layers(list(tensors), 1)
    assert first == sum(tensors[name].numel() for name in kept) < whole


def test_a_name_with_a_number_of_any_length_is_of_no_layer():
    """Python reads no more than 4,300 digits."""
    assert weights.layer_of(f"model.layers.{'9' * 5000}.weight") is None
    assert weights.layer_of(f"a.{'1' * 5000}.7.weight") == 7
    assert weights.first_layers([f"h.{'9' * 5000}.w"], 2) == [f"h.{'9' * 5000}.w"]


FIRST = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
SECOND = FIRST | {"data_offsets": [8, 16]}


def header(content=None, length=None, data=16, **changes):
    """A safetensors file of two tensors, of which the first is changed, or of a text."""
    stated = {"a": FIRST | changes, "b": SECOND} if content is None else content
    text = stated if isinstance(stated, bytes) else json.dumps(stated).encode()
    length = len(text) if length is None else length
    return length.to_bytes(8, "little") + text + bytes(data)


DAMAGED = {
    "empty": b"",
    "of git lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:0",
    "cut short": header(data=15),
    "longer": header(data=17),
    "overlapping": header({"a": FIRST, "b": SECOND | {"data_offsets": [0, 8]}}, data=8),
    "apart": header({"a": FIRST, "b": SECOND | {"data_offsets": [12, 20]}}, data=20),
    "turned round": header(data_offsets=[8, 0]),
    "before the file": header(data_offsets=[-8, 8]),
    "beyond the file": header(data_offsets=[0, 10**15]),
    "of another shape": header(shape=[10**12]),
    "of a negative shape": header(shape=[-1, -2]),
    "of half a number": header(shape=[1.5]),
    "of a text": header(shape="2"),
    "of no name": header(dtype="F 32"),
    "of nothing": header({"a": None, "b": SECOND}),
    "of a number": header({"a": 3}),
    "no object": header([]),
    "deep": header(b"[" * 50_000),
    "twice": header(json.dumps({"a": FIRST, "b": SECOND}).replace('"b"', '"a"').encode()),
    "not text": header(b"\xff" * 40),
    **{f"{length} long": header(length=length) for length in (0, 1, 2**31, 2**63 - 1, 2**64 - 1)},
    **{
        f"of sizes that no tensor has, {number}": header(shape=shape)
        for number, shape in enumerate(([10**4000] * 20, [0, 2**63], [1] * 65, [2**62] * 3000))
    },
}


@pytest.mark.promise("weight-headers")
@pytest.mark.parametrize("name", DAMAGED)
def test_headers_that_do_not_fit_their_file_are_refused_without_much_memory(tmp_path, name):
    (tmp_path / SINGLE).write_bytes(header())
    assert list(weights.read_header(tmp_path / SINGLE)) == ["a", "b"]
    (tmp_path / SINGLE).write_bytes(DAMAGED[name])
    tracemalloc.start()
    try:
        with pytest.raises(ReportError, match=r"is not a safetensors file|is damaged"):
            weights.read_header(tmp_path / SINGLE)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
