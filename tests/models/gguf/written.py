"""Writes tiny models as GGUF by the conventions of llama.cpp, with its own package `gguf`.

Names of tensors are those of gguf's own tables. What llama.cpp's converter does to the tensors of a
family is written here a second time, as the converter does it, and not by way of what is tested.
"""

import json
import shutil

import gguf
import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType as Kind
from safetensors.torch import load_file, save_file

from report import families
from tests.models import tiny_tokenizers

WORDS = 352
"""Rows of an embedding: more than the tiny tokenizers have tokens."""

ARCHITECTURES = {"llama": "llama"}
"""model_type -> what llama.cpp calls it, where that is another word."""


def tiny(name, seed=0, **changes):
    """As `families.tiny`, with room for the tokens of a tiny tokenizer."""
    about = families.read(name.partition("/")[0])
    config = about.get("config", {}) | about.get("variants", {}).get(name.partition("/")[2], {})
    model_class = getattr(transformers, about["class"])
    settings = config | {"vocab_size": WORDS} | changes
    with torch.random.fork_rng(devices=[]):
        model = model_class(model_class.config_class(**settings)).float().eval()
    gain = about.get("gain", families.DEFAULT_GAIN)
    families.randomise(model, gain, torch.Generator().manual_seed(seed))
    return model


def saved(model, tokenizer, folder):
    """A folder with a checkpoint, as save_pretrained writes it."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


class Written:
    """A checkpoint that is written as GGUF.

    folder: of the checkpoint; kind: name of the format of its matrices
    """

    def __init__(self, folder, kind="F32"):
        self.folder, self.kind = folder, Kind[kind]
        self.config = transformers.AutoConfig.from_pretrained(folder)
        self.family = self.config.model_type
        self.name = ARCHITECTURES.get(self.family, self.family)
        numbers = {name: arch for arch, name in gguf.MODEL_ARCH_NAMES.items()}
        self.names = gguf.get_tensor_name_map(numbers[self.name], self.config.num_hidden_layers)
        self.tensors = {
            name: tensor.float().numpy()
            for name, tensor in load_file(folder / "model.safetensors").items()
        }
        tied = self.config.get_text_config().tie_word_embeddings
        if tied and self.family != "gpt2":
            self.tensors.pop("lm_head.weight", None)

    def to(self, path, **values):
        """Write the file; values: more values by key, or in the place of the usual ones."""
        writer = gguf.GGUFWriter(path, self.name)
        self.add_values(writer)
        add_tokenizer(writer, self.folder)
        for key, value in values.items():
            add(writer, key, value)
        for name, content, kind in self.stored():
            writer.add_tensor(name, content, raw_dtype=kind)
        finish(writer)
        return path

    def twin(self, folder):
        """The same model as safetensors, with the numbers that the file has."""
        shutil.copytree(self.folder, folder)
        tensors = {}
        for name, tensor in self.tensors.items():
            kind, there = self.kind_of(name, tensor), self.before(name, tensor)
            back = gguf.dequantize(gguf.quantize(there, kind), kind).reshape(there.shape)
            tensors[name] = torch.tensor(self.after(name, back)).contiguous()
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return folder

    def stored(self):
        """(name in the file, content, format) of every tensor."""
        yield from self.made()
        for name, tensor in self.tensors.items():
            kind = self.kind_of(name, tensor)
            rows = gguf.quantize(self.before(name, tensor), kind)
            for own, content in self.changed(name, rows):
                known = self.names.get_name(own, try_suffixes=(".weight", ".bias"))
                assert known, own
                yield known, np.ascontiguousarray(content), kind

    def made(self):
        """Tensors that llama.cpp makes of settings."""
        scaling = self.config.rope_parameters if hasattr(self.config, "rope_parameters") else None
        if scaling and scaling.get("rope_type") == "llama3":
            yield "rope_freqs.weight", _llama3(self.config, scaling), Kind.F32

    def kind_of(self, name, tensor):
        """Vectors stay as they are, and so do rows that are no whole blocks."""
        width = self.before(name, tensor).shape[-1]
        whole = tensor.ndim > 1 and width % gguf.GGML_QUANT_SIZES[self.kind][0] == 0
        return self.kind if whole else Kind.F32

    def before(self, name, tensor):
        """What of a tensor is made into blocks; rows may be moved after that."""
        return tensor

    def after(self, name, numbers):
        """The opposite of `before`."""
        return numbers

    def changed(self, name, rows):
        """(name, rows) of what llama.cpp makes of a tensor: rows in another place."""
        config = self.config
        if name.endswith(("q_proj.weight", "q_proj.bias")) and self.family in PERMUTED:
            rows = permuted(rows, config.num_attention_heads)
        if name.endswith(("k_proj.weight", "k_proj.bias")) and self.family in PERMUTED:
            rows = permuted(rows, config.num_key_value_heads)
        yield name, rows

    def add_values(self, writer):
        """The values of the model's settings."""
        config = self.config
        writer.add_name("Tiny Model")
        writer.add_context_length(config.max_position_embeddings)
        writer.add_embedding_length(config.hidden_size)
        writer.add_block_count(config.num_hidden_layers)
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_head_count(config.num_attention_heads)
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_file_type(0)
        self.add_rope(writer)

    def add_rope(self, writer):
        config = self.config
        head_dim = getattr(config, "head_dim", None) or (
            config.hidden_size // config.num_attention_heads
        )
        rope = config.rope_parameters
        writer.add_rope_dimension_count(int(head_dim * rope.get("partial_rotary_factor", 1)))
        writer.add_rope_freq_base(rope["rope_theta"])
        if rope["rope_type"] in ("linear", "yarn"):
            writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
            writer.add_rope_scaling_factor(rope["factor"])
        if rope["rope_type"] == "yarn":
            writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])


PERMUTED = ("llama",)
"""Families that the converter treats as Llama."""


def permuted(rows, heads):
    """As `LlamaModel.permute` of llama.cpp's converter."""
    shape = rows.shape
    return rows.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def _llama3(config, scaling):
    """As the converter's `generate_extra_tensors` of Llama 3.1."""
    head_dim = config.head_dim
    freqs = 1.0 / (
        scaling["rope_theta"] ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    )
    factor = scaling["factor"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    context = scaling["original_max_position_embeddings"]
    factors = []
    for freq in freqs:
        wavelength = 2 * np.pi / freq
        if wavelength < context / high:
            factors.append(1)
        elif wavelength > context / low:
            factors.append(factor)
        else:
            smooth = (context / wavelength - low) / (high - low)
            factors.append(1 / ((1 - smooth) / factor + smooth))
    return np.array(factors, np.float32)


def add(writer, key, value):
    """Add a value of the type that its Python type suggests; None removes one."""
    values = writer.kv_data[0]
    values.pop(key, None)
    if value is None:
        return
    kinds = {bool: "bool", int: "uint32", float: "float32", str: "string", list: "array"}
    getattr(writer, f"add_{kinds[type(value)]}")(key, value)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


PRES = {"byte_level": "gpt-2", "normalised_byte_level": "mpt", "llama3": "gpt-2"}


def add_tokenizer(writer, folder):
    """The tokenizer of a folder, as llama.cpp's converter writes it."""
    stated = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    wrapped = transformers.AutoTokenizer.from_pretrained(folder)
    vocabulary = stated["model"]["vocab"] | {
        token["content"]: token["id"] for token in stated["added_tokens"]
    }
    tokens = sorted(vocabulary, key=vocabulary.get)
    assert [vocabulary[token] for token in tokens] == list(range(len(tokens)))
    added = {token["content"]: token for token in stated["added_tokens"]}
    kinds = [_kind(token, added, stated["model"]) for token in tokens]
    merges = [
        merge if isinstance(merge, list) else merge.split(" ")
        for merge in stated["model"]["merges"]
    ]
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    if stated["model"].get("byte_fallback"):
        writer.add_tokenizer_model("llama")
        writer.add_tokenizer_pre("default")
        made = {left + right: -float(rank) for rank, (left, right) in enumerate(merges)}
        writer.add_token_scores([made.get(token, -1e4) for token in tokens])
        normalizers = json.dumps(stated["normalizer"])
        writer.add_add_space_prefix("Prepend" in normalizers)
    else:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("gpt-2" if stated["normalizer"] is None else "mpt")
        writer.add_token_merges([" ".join(merge) for merge in merges])
    around = stated["post_processor"] or {}
    writer.add_add_bos_token("SpecialToken" in json.dumps(around.get("single", "")))
    for name, call in (("bos", "bos"), ("eos", "eos"), ("unk", "unk"), ("pad", "pad")):
        number = getattr(wrapped, f"{name}_token_id")
        if number is not None:
            getattr(writer, f"add_{call}_token_id")(number)
    if wrapped.chat_template:
        writer.add_chat_template(wrapped.chat_template)


def _kind(token, added, model):
    if model.get("byte_fallback") and token.startswith("<0x"):
        return gguf.TokenType.BYTE
    if token == model.get("unk_token"):
        return gguf.TokenType.UNKNOWN
    if token in added:
        return gguf.TokenType.CONTROL if added[token]["special"] else gguf.TokenType.USER_DEFINED
    return gguf.TokenType.NORMAL


TOKENIZERS = {
    "gpt2": tiny_tokenizers.byte_level,
    "llama3": tiny_tokenizers.llama3,
    "llama": tiny_tokenizers.llama2,
    "gemma": tiny_tokenizers.gemma,
    "nfc": tiny_tokenizers.normalised_byte_level,
}
