"""Checkpoints with damaged files: refused in a sentence, or measured; without much memory or time.

Every file of a checkpoint is damaged: by what goes wrong in any JSON, and by what does harm in that
file. Then the model is loaded, whole, in part or layer by layer, reads a text and is measured.
"""

import copy
import json
import resource
import shutil
import struct
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from transformers import CONFIG_MAPPING

from report import families
from report.models.attention.self_check import checked
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage
from report.models.text.segments import ordinary_tokens
from report.models.text.tokens import tokenize
from tests.fuzz.damage import VALUES, damaged_bytes, damaged_json
from tests.fuzz.profile import LONG, examples
from tests.fuzz.refusals import tried
from tests.models import tiny_tokenizers
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

pytestmark = pytest.mark.promise("damaged-checkpoints")

TEXT = "The old lamp stood on the hill; the lamp was lit. " + "a" * 40 + "!"

MEMORY = 300_000_000
"""Bytes that an example may take above what the process had. What files ask for in these examples
is far more, or as little as the files themselves."""

ADDRESSES = 3 << 30
"""Bytes of addresses that it may take: memory that is asked for and never used counts too."""

SECONDS = 30
"""Of a processor; an example that is no hang takes a tenth of one."""

MADE = {
    "falcon": (lambda: random_falcon(), byte_level_tokenizer),
    "llama": (lambda: families.tiny("llama/llama3-rope"), tiny_tokenizers.word_piece),
    "gemma3": (lambda: families.tiny("gemma3/multimodal"), tiny_tokenizers.unigram),
}
"""In the suite. A long run has every family."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """dict of name to the folder of a checkpoint that nothing is wrong with."""
    made = dict(MADE)
    if LONG:
        names = [one for family in families.names() for one in families.variants(family)]
        usual = tiny_tokenizers.word_piece
        made |= {name: (lambda name=name: families.tiny(name), usual) for name in names}
    return {
        name: _saved(tmp_path_factory.mktemp("whole") / "tiny", *parts)
        for name, parts in made.items()
    }


def _saved(folder, model, tokenizer):
    model = model()
    number = sum(parameter.numel() for parameter in model.parameters())
    model.save_pretrained(folder, max_shard_size=2 * number)  # so that there is an index
    tokenizer = tokenizer()
    tokenizer.save_pretrained(folder)
    special = {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    generation = {"bos_token_id": 1, "do_sample": True, "temperature": 0.7, "max_length": 20}
    (folder / "generation_config.json").write_text(json.dumps(generation))
    return folder


SETTINGS = {
    **dict.fromkeys(("num_hidden_layers", "n_layer", "num_layers"), (0, -1, 150, 9999, 10**6)),
    **dict.fromkeys(("num_attention_heads", "n_head", "num_key_value_heads"), (-8, 0, 3, 9**6)),
    **dict.fromkeys(("hidden_size", "d_model", "head_dim", "vocab_size"), (-64, 0, 63, 9 * 10**7)),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "ffn_hidden_size"), (-1, 0, 9 * 10**7)),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), (-1, 0, 1, 9 * 10**7)),
    "rope_scaling": (
        {"type": ["linear"], "factor": 2},
        {"rope_type": "yarn"},
        {"rope_type": "longrope", "short_factor": [1], "long_factor": [1], "factor": 2},
        {"rope_type": "llama3", "factor": 0},
        {"full_attention": 5},
        [],
    ),
    "model_type": (*sorted(CONFIG_MAPPING), "none"),
    "architectures": (["PreTrainedModel"], ["BertModel"], ["TFBertModel"], ["load"], [""], "Bert"),
    "quantization_config": ({"quant_method": "bitsandbytes"}, {}, [1], {"quant_method": {}}),
    "auto_map": ({"AutoModel": "a.B"}, {"AutoConfig": 5}, []),
    "text_config": ({}, {"model_type": "llama"}, {"num_hidden_layers": 9999}, 5),
    "vision_config": ({"num_hidden_layers": 9999}, {"hidden_size": 9 * 10**7}, 5),
    "num_labels": (10**9, -1),
    "attention_types": ([[["global"], 10**9]], 5),
    "layer_types": (["full_attention"] * 3, ["none"] * 3, [5]),
    "sliding_window": (-1, 0, 1, 10**7),
    "dtype": ("float8_e4m3fn", "compile", "int8", "none"),
    "hidden_act": ("none", ["gelu"]),
    "per_layer_config": ({"0": {"num_attention_heads": 2}}, {"7": {}}, 5),
    "is_encoder_decoder": (True,),
    **dict.fromkeys(("get_text_config", "__class__", "__dict__", "attribute_map"), (1, {})),
    **dict.fromkeys(("rope_theta", "layer_norm_epsilon", "rms_norm_eps"), (0, -1, 1e300, "x")),
    **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), (-1, 10**9, "x", [1])),
    **dict.fromkeys(("use_cache", "tie_word_embeddings", "alibi"), (True, False, "x")),
}
"""Settings of config.json that do harm, or did."""

PATTERNS = ["(a+)+$", "(a|aa)+$", r"(\w+\s?)*;$", "(", "a{99999}", "", "(?<b>a|\\g<b>)*", "\\p{L}"]

REPLACED = [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 60

PIECE = {"Sequence": {"id": "A", "type_id": 0}}

TOKENIZING = {
    "pre_tokenizer": [
        {"type": "Split", "pattern": {"Regex": one}, "behavior": "Isolated", "invert": False}
        for one in PATTERNS
    ]
    + [{"type": "FixedLength", "length": 0}],
    "normalizer": [
        *({"type": "Replace", "pattern": {"Regex": one}, "content": "b"} for one in PATTERNS),
        {"type": "Sequence", "normalizers": REPLACED},
        {"type": "Strip", "strip_left": True, "strip_right": True},
        {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
    ],
    "decoder": [
        {"type": "Sequence", "decoders": REPLACED},
        {"type": "Strip", "content": "a", "start": 10**9, "stop": 10**9},
        {"type": "CTC"},
        {"type": "Fuse"},
    ],
    "padding": [
        {
            "strategy": {"Fixed": 10**13},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "a",
        }
    ],
    "truncation": [
        {"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 10**9}
    ],
    "added_tokens": [
        [
            {"id": number, "content": "lamp", "special": special}
            | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        ]
        for number in (0, 2**31, 2**32 - 1)
        for special in (True, False)
    ],
    "post_processor": [
        {"type": "BertProcessing", "sep": ["a", 10**9], "cls": ["b", 0]},
        {"type": "TemplateProcessing", "single": [], "pair": [PIECE], "special_tokens": {}},
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    ],
    "model": [
        {"type": "WordLevel", "vocab": {}, "unk_token": "a"},
        {"type": "WordLevel", "vocab": {"a": 2**32 - 1}, "unk_token": "a"},
        {"type": "BPE", "vocab": {"a": 5}, "merges": [], "dropout": 0.5},
        {"type": "BPE", "vocab": {"a": 5, "aa": 6}, "merges": [["a", "a"]], "unk_token": "b"},
        {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": 7},
        {"type": "Unigram", "vocab": [], "unk_id": None},
        {
            "type": "WordPiece",
            "vocab": {"a": 0},
            "unk_token": "b",
            "continuing_subword_prefix": "",
            "max_input_chars_per_word": 10**12,
        },
    ],
}
"""Parts of tokenizer.json that do harm, or did."""

WAYS = [{}, {"layers": 1}, {"layers": 2}, {"layer_by_layer": True}, {"dtype": "bfloat16"}]


@st.composite
def damaged(draw, folder):
    """Damage one file of a checkpoint, or two."""
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        path = draw(st.sampled_from(_files(folder)))
        if path.suffix == ".safetensors":
            _damage_weights(draw, path)
            continue
        content = path.read_bytes()
        try:
            stated = json.loads(content)
        except (ValueError, RecursionError):  # damaged before
            stated = {}
        way = draw(st.sampled_from(["bytes", "json", "own", "own"]))
        if way == "own" and path.name == "config.json":
            _set(draw, _inner(draw, stated), SETTINGS)
        elif way == "own" and path.name == "tokenizer.json":
            _set(draw, stated, TOKENIZING)
        elif way == "bytes":
            path.write_bytes(draw(damaged_bytes(content)))
            continue
        else:
            path.write_text(draw(damaged_json(stated)))
            continue
        path.write_text(json.dumps(stated))


def _files(folder):
    """Those that matter most come twice."""
    often = ("config.json", "tokenizer.json")
    paths = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".safetensors"))
    return [*paths, *(path for path in paths if path.name in often)]


def _inner(draw, config):
    parts = [config] if isinstance(config, dict) else [{}]
    parts += [part for part in parts[0].values() if isinstance(part, dict)]
    return draw(st.sampled_from(parts))


def _set(draw, stated, harmful):
    if not isinstance(stated, dict):
        return
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        there = sorted(set(stated) & set(harmful)) or sorted(harmful)
        key = draw(st.sampled_from([*there, *sorted(harmful), *sorted(stated)]))
        values = [*harmful.get(key, ()), *harmful.get(key, ()), *VALUES]
        stated[key] = copy.deepcopy(draw(st.sampled_from(values)))


def _damage_weights(draw, path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    data = content[8 + length :]
    try:
        header = json.loads(content[8 : 8 + length])
    except (ValueError, RecursionError):  # damaged before
        header = {}
    if draw(st.booleans()):
        text = draw(damaged_json(header)).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    else:
        path.write_bytes(draw(damaged_bytes(content[: 8 + length])) + data)


def with_little(function, *arguments):
    """What a function returns that takes little memory and time.

    Where it took much, it is called once more: by then the libraries are loaded that it needs.
    """
    for _ in range(2):
        result, memory, seconds = _measured(function, *arguments)
        if memory < MEMORY and seconds < SECONDS:
            return result
    raise AssertionError(f"it took {memory:,} bytes and {seconds:.0f} seconds")


def _measured(function, *arguments):
    """(result, bytes of memory, seconds of a processor) of a function while memory is short."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts here
    before, began = _memory("VmRSS"), time.process_time()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_memory("VmSize") + ADDRESSES, limits[1]))
    try:
        result = function(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    return result, _memory("VmHWM") - before, time.process_time() - began


def _memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields[name].split()[0]) * 1024


def measured(folder, way):
    """What was said by the last step that was reached, and the step."""
    loaded, said = tried(load_model, folder, device="cpu", **way)
    if said is not None:
        return "loading", said
    tried(ordinary_tokens, loaded.tokenizer, 3)
    text, said = tried(tokenize, loaded, TEXT)
    if said is None:
        with np.errstate(all="ignore"):
            _, said = tried(checked, loaded)
    else:
        return "reading", said
    if said is not None:
        return "checking", said
    loaded.announce_bytes(text.token_ids, lambda _: None)
    with np.errstate(all="ignore"):
        return "measuring", tried(measure_passage, loaded, text.token_ids)[1]


@examples(48)
@given(st.data())
def test_damaged_checkpoints_are_refused_or_measured(whole, tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged") / "copy"
    shutil.copytree(whole[data.draw(st.sampled_from(list(whole)))], folder)
    data.draw(damaged(folder))
    way = data.draw(st.sampled_from(WAYS))
    step, said = with_little(measured, folder, way)
    event(f"{step}: {'refused' if said else 'done'}")
    assert "out of memory" not in (said or ""), said
    shutil.rmtree(folder.parent)
