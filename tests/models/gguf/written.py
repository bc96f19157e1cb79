"""Writes tiny models as GGUF by the conventions of llama.cpp, with its own package `gguf`.

Names of tensors are those of gguf's own tables. What llama.cpp's converter does to the tensors of a
family is written here a second time, as the converter does it, and not by way of what is tested.
"""

import json
import math
import re
import shutil

import gguf
import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType as Kind
from safetensors.torch import load_file, save_file

from report import families
from report.models.gguf.file import open_gguf

WORDS = 352
"""Rows of an embedding: more than the tiny tokenizers have tokens."""

ARCHITECTURES = {
    "mistral": "llama",
    "mixtral": "llama",
    "gpt_neox": "gptneox",
    "phi": "phi2",
    "cohere": "command-r",
    "gemma3_text": "gemma3",
    "qwen3_moe": "qwen3moe",
}
"""model_type -> what llama.cpp calls it, where that is another word."""

PERMUTED = ("llama", "mistral", "mixtral", "granite", "smollm3")
"""Families that the converter treats as Llama."""

PLUS_ONE = ("gemma", "gemma2", "gemma3_text", "nemotron")
"""Families whose norms are stored as 1 + w."""

CAPS = {name: name for name in ("attn_logit_softcapping", "final_logit_softcapping")}
VALUES = {
    "granite": {
        "attention_scale": "attention_multiplier",
        "embedding_scale": "embedding_multiplier",
        "residual_scale": "residual_multiplier",
        "logit_scale": "logits_scaling",
    },
    "cohere": {"logit_scale": "logit_scale"},
    "cohere2": {"logit_scale": "logit_scale", "sliding_window": "sliding_window"},
    "gemma2": CAPS | {"sliding_window": "sliding_window"},
    "gemma3_text": {"sliding_window": "sliding_window"},
    "gpt_neox": {"parallel_residual": "use_parallel_residual"},
    "stablelm": {"parallel_residual": "use_parallel_residual"},
    "mixtral": {"expert_count": "num_local_experts", "expert_used_count": "num_experts_per_tok"},
    "qwen3_moe": {
        "expert_count": "num_experts",
        "expert_used_count": "num_experts_per_tok",
        "expert_feed_forward_length": "moe_intermediate_size",
    },
}
"""model_type -> method of gguf's writer, without "add_" -> setting of transformers."""

EXPERT = re.compile(r"(.*)\.experts\.(\d+)\.(\w+)\.weight")
HEAD = re.compile(r"(.*)\.norms\.(\d+)\.weight")


def tiny(name, seed=0, left_out=(), **changes):
    """As `families.tiny`, with room for the tokens of a tiny tokenizer.

    left_out: settings of the family that are as transformers has them by itself
    """
    about = families.read(name.partition("/")[0])
    config = about.get("config", {}) | about.get("variants", {}).get(name.partition("/")[2], {})
    model_class = getattr(transformers, about["class"])
    settings = config | {"vocab_size": WORDS} | changes
    for key in left_out:
        settings.pop(key, None)
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

    def to_file(self, folder, **values):
        """What is read of a file in a folder, written as `to` does."""
        return open_gguf(self.to(folder / f"{len(list(folder.iterdir()))}.gguf", **values))

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
        merged = {}
        for name, tensor in self.tensors.items():
            kind = self.kind_of(name, tensor)
            rows = self.changed(name, gguf.quantize(self.before(name, tensor), kind))
            if part := EXPERT.fullmatch(name) or HEAD.fullmatch(name):
                leaf = f".experts.{part[3]}" if part.re is EXPERT else ""
                known = self.known(f"{part[1]}{leaf}.weight")
                merged.setdefault((known, kind), {})[int(part[2])] = rows
            else:
                yield self.known(name), np.ascontiguousarray(rows), kind
        for (known, kind), parts in merged.items():
            yield known, np.stack([parts[number] for number in range(len(parts))]), kind

    def known(self, name):
        """What gguf's own table calls a tensor."""
        name = re.sub(
            r"^model\.(.*)block_sparse_moe\.experts\.w", r"\1feed_forward.experts.w", name
        )
        name = name.removeprefix("transformer.") if self.family in ("bloom", "gpt2") else name
        found = self.names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert found, name
        return found

    def made(self):
        """Tensors that llama.cpp makes of settings."""
        rope = getattr(self.config, "rope_parameters", None) or {}
        if rope.get("rope_type") == "llama3":
            yield "rope_freqs.weight", _llama3(self.config, rope), Kind.F32
        if rope.get("rope_type") == "longrope":
            for length in ("long", "short"):
                factors = np.array(rope[f"{length}_factor"], np.float32)
                yield f"rope_factors_{length}.weight", factors, Kind.F32

    def kind_of(self, name, tensor):
        """Vectors stay as they are, and so do norms, routers, and rows that are no whole blocks."""
        width = self.before(name, tensor).shape[-1]
        whole = tensor.ndim > 1 and width % gguf.GGML_QUANT_SIZES[self.kind][0] == 0
        kept = any(part in name for part in ("norm", "mlp.gate.", "block_sparse_moe.gate."))
        return self.kind if whole and not kept else Kind.F32

    def before(self, name, tensor):
        """What of a tensor is made into blocks; rows may be moved after that."""
        if self.family in PLUS_ONE and name.endswith("norm.weight"):
            return tensor + np.float32(1)
        if self.family == "gpt2" and tensor.ndim == 2 and ".h." in name:
            return np.ascontiguousarray(tensor.T)
        return tensor

    def after(self, name, numbers):
        """The opposite of `before`."""
        if self.family in PLUS_ONE and name.endswith("norm.weight"):
            return numbers - np.float32(1)
        if self.family == "gpt2" and numbers.ndim == 2 and ".h." in name:
            return numbers.T
        return numbers

    def changed(self, name, rows):
        """What llama.cpp makes of a tensor: rows in another place."""
        config = self.config
        if self.family in PERMUTED and ".q_proj." in name:
            return permuted(rows, config.num_attention_heads)
        if self.family in PERMUTED and ".k_proj." in name:
            return permuted(rows, config.num_key_value_heads)
        if ".query_key_value." not in name:
            return rows
        if self.family == "falcon":
            return of_falcon(rows, config)
        # as GPTNeoXModel and BloomModel
        heads = config.num_attention_heads
        apart = rows.reshape(heads, 3, -1, *rows.shape[1:])
        return np.concatenate([apart[:, part].reshape(-1, *rows.shape[1:]) for part in range(3)])

    def add_values(self, writer):
        """The values of the model's settings, as the converter's class of its family has them."""
        config = self.config
        heads = config.num_attention_heads
        writer.add_name("Tiny Model")
        writer.add_file_type(0)
        writer.add_block_count(config.num_hidden_layers)
        writer.add_context_length(getattr(config, "max_position_embeddings", 2048))
        writer.add_embedding_length(config.hidden_size)
        writer.add_head_count(heads)
        inner = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
        writer.add_feed_forward_length(inner)
        groups = getattr(config, "num_key_value_heads", None)
        if self.family == "falcon":
            groups = of_falcon_heads(config)
            writer.add_tensor_data_layout("jploski")
        if groups is not None:
            writer.add_head_count_kv(groups)
        names = ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps")
        layer_norm = next((getattr(config, name) for name in names if hasattr(config, name)), None)
        if hasattr(config, "rms_norm_eps"):
            writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        else:
            writer.add_layer_norm_eps(layer_norm)
        if getattr(config, "head_dim", None) and self.family not in ("granite", "gpt_neox"):
            writer.add_key_length(config.head_dim)
            writer.add_value_length(config.head_dim)
        if self.family == "mpt":
            writer.add_max_alibi_bias(config.attn_config.alibi_bias_max)
            if config.attn_config.clip_qkv:
                writer.add_clamp_kqv(config.attn_config.clip_qkv)
        if self.family == "phi3":
            writer.add_sliding_window(config.sliding_window or 0)
        for key, setting in VALUES.get(self.family, {}).items():
            getattr(writer, f"add_{key}")(getattr(config, setting))
        if getattr(config, "rope_parameters", None):
            self.add_rope(writer)

    def add_rope(self, writer):
        config = self.config
        head_dim = getattr(config, "head_dim", None) or (
            config.hidden_size // config.num_attention_heads
        )
        rope = config.rope_parameters
        if self.family == "gemma3_text":
            writer.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
            rope = rope["full_attention"]
        kind = rope["rope_type"]
        writer.add_rope_dimension_count(int(head_dim * rope.get("partial_rotary_factor", 1)))
        if self.family not in ("gpt_neox", "falcon", "stablelm", "gemma"):
            writer.add_rope_freq_base(rope["rope_theta"])
        if self.family in ("cohere", "cohere2", "nemotron"):
            writer.add_rope_scaling_type(gguf.RopeScalingType.NONE)
        if kind in ("linear", "yarn"):
            writer.add_rope_scaling_type(gguf.RopeScalingType(kind))
            writer.add_rope_scaling_factor(rope["factor"])
        if kind == "yarn":
            writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        if self.family == "phi3":
            before = config.original_max_position_embeddings
            before = before if kind == "longrope" else config.max_position_embeddings
            writer.add_rope_scaling_orig_ctx_len(before)
            if kind == "longrope":
                scale = config.max_position_embeddings / before
                factor = math.sqrt(1 + math.log(scale) / math.log(before)) if scale > 1 else 1.0
                writer.add_rope_scaling_attn_factors(factor)


def of_falcon_heads(config):
    """Heads of keys of a Falcon, as its config has them in one place or another."""
    if config.new_decoder_architecture:
        return config.num_kv_heads
    return 1 if config.multi_query else config.num_attention_heads


def of_falcon(rows, config):
    """As `FalconModel.modify_tensors` of the converter."""
    groups, heads = of_falcon_heads(config), config.num_attention_heads
    rest = rows.shape[1:]
    apart = rows.reshape(groups, heads // groups + 2, -1, *rest)
    query, key, value = apart[:, :-2], apart[:, [-2]], apart[:, [-1]]
    return np.concatenate([part.reshape(-1, *rest) for part in (query, key, value)])


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


def add_tokenizer(writer, folder):
    """The tokenizer of a folder, as llama.cpp's converter writes it."""
    stated = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    wrapped = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
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
