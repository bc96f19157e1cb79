"""Weight files: what they hold, which are needed, and that damage is seen before loading."""

import hashlib
import shutil

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from report.errors import ReportError
from report.models.find import weights
from report.models.find.weights import INDEX, SINGLE
from tests.conftest import random_falcon


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """The tiny Falcon in several files."""
    folder = tmp_path_factory.mktemp("weights") / "sharded"
    random_falcon().save_pretrained(folder, max_shard_size="50KB")
    return folder


@pytest.fixture
def sharded(original, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(original, tmp_path / "sharded")


def shards(folder):
    return sorted(folder.glob("*.safetensors"))


def refused(folder, message):
    with pytest.raises(ReportError, match=message):
        weights.weight_files(folder)


def test_a_header_says_what_the_library_of_the_format_says(sharded):
    for path in shards(sharded):
        content = path.read_bytes()
        header = weights.read_header(path)
        with safe_open(path, "pt") as file:
            assert set(header) == set(file.keys())
            for name, tensor in header.items():
                expected = file.get_tensor(name)
                assert tensor["shape"] == list(expected.shape)
                start, end = tensor["span"]
                assert content[start:end] == expected.numpy().tobytes()


def test_every_tensor_is_in_one_file_of_the_map(sharded):
    found = weights.weight_map(sharded)
    stored = {name: path.name for path in shards(sharded) for name in load_file(path)}
    assert found == stored
    assert weights.weight_files(sharded) == shards(sharded)


def test_a_single_file_goes_before_an_index_as_in_transformers(sharded):
    save_file({"a": torch.zeros(2)}, sharded / SINGLE)
    assert weights.weight_map(sharded) == {"a": SINGLE}
    assert weights.weight_files(sharded) == [sharded / SINGLE]


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


def test_only_the_files_with_wanted_tensors_are_needed(sharded):
    found = weights.weight_map(sharded)
    wanted = weights.first_layers(found, 1)
    needed = weights.shards_for(found, wanted)
    assert {found[name] for name in wanted} == set(needed) < set(found.values())
    for path in shards(sharded):
        if path.name not in needed:
            path.unlink()
    assert [path.name for path in weights.weight_files(sharded, wanted)] == needed
    refused(sharded, "model folder 'sharded' lacks")


def test_a_tensor_that_is_nowhere_is_named():
    with pytest.raises(ReportError, match=r"no tensor 'b' \(1 of 2 wanted are missing\)"):
        weights.shards_for({"a": "x.safetensors"}, ["a", "b"])


def test_a_missing_shard_is_named(sharded):
    first, *_ = shards(sharded)
    first.unlink()
    number = len(set(weights.weight_map(sharded).values()))
    refused(sharded, rf"'sharded' lacks 1 of {number} weight files, the first is {first.name}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a safetensors file; download or copy it again"),
        (b"not safetensors at all", "is not a safetensors file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "is not a safetensors file"),
        ((10**12).to_bytes(8, "little") + b"{}", "is not a safetensors file"),
        ((2).to_bytes(8, "little") + b"[]", "is not a safetensors file"),
        ((8).to_bytes(8, "little") + b'{"a":3} ', "is not a safetensors file"),
    ],
)
def test_a_file_of_another_kind_is_refused(sharded, content, said):
    shards(sharded)[1].write_bytes(content)
    refused(sharded, rf"'sharded/{shards(sharded)[1].name}' {said}")


@pytest.mark.parametrize("change", [-1, -1000, 3])
def test_a_file_that_was_cut_short_or_grew_is_refused(sharded, change):
    path = shards(sharded)[0]
    content = path.read_bytes() + b"xxx"
    path.write_bytes(
        content[: change if change < 0 else None] if change > 0 else content[: change - 3]
    )
    refused(sharded, r"is damaged: it has [\d,]+ bytes and should have [\d,]+; download or copy")


@pytest.mark.parametrize(
    "index",
    [
        "{",
        "[]",
        '{"weight_map": 3}',
        '{"weight_map": {}}',
        '{"weight_map": {"a": 3}}',
        '{"weight_map": {"a": "../x.safetensors"}}',
    ],
)
def test_an_index_that_lists_nothing_here_is_refused(sharded, index):
    (sharded / INDEX).write_text(index)
    refused(sharded, f"'sharded/{INDEX}' has no weight_map of tensors and files beside it")


def test_no_weights_and_only_pickled_ones_are_told_apart(tmp_path):
    refused(tmp_path, rf"has no weights; it needs {SINGLE}, or its shards and {INDEX}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    refused(
        tmp_path, r"only as pickle \(pytorch_model\.bin\).*refused; convert them to safetensors"
    )


def test_the_checksum_of_all_weights_is_that_of_the_files(sharded):
    joined = b"".join(path.read_bytes() for path in shards(sharded))
    assert weights.weights_sha256(sharded) == hashlib.sha256(joined).hexdigest()


def test_the_checksum_of_the_first_layers_depends_on_their_tensors_alone(sharded, tmp_path):
    before = weights.weights_sha256(sharded, 2)
    found = weights.weight_map(sharded)

    def change(name):
        path = sharded / found[name]
        save_file({k: v + (k == name) for k, v in load_file(path).items()}, path)

    change("transformer.h.2.mlp.dense_4h_to_h.weight")
    assert weights.weights_sha256(sharded, 2) == before
    assert weights.weights_sha256(sharded, 3) != weights.weights_sha256(sharded, 2)
    change("transformer.h.1.mlp.dense_4h_to_h.weight")
    assert weights.weights_sha256(sharded, 2) != before
    whole = tmp_path / "whole"
    tensors = {k: v for path in shards(sharded) for k, v in load_file(path).items()}
    whole.mkdir()
    save_file(tensors, whole / SINGLE)
    assert weights.weights_sha256(whole, 2) == weights.weights_sha256(sharded, 2)


def test_parameters_are_counted_from_the_headers(sharded):
    tensors = {k: v for path in shards(sharded) for k, v in load_file(path).items()}
    assert weights.parameters(sharded) == sum(tensor.numel() for tensor in tensors.values())
    first = weights.parameters(sharded, lambda names: weights.first_layers(names, 1))
    kept = weights.first_layers(list(tensors), 1)
    assert first == sum(tensors[name].numel() for name in kept) < weights.parameters(sharded)
