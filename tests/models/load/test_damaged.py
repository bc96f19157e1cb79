"""Checkpoints of which a file is damaged, missing, of another model or hostile: one sentence."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from report.models.find.weights import INDEX, SINGLE
from report.models.load import load
from report.models.load.stated import OTHER_FILES
from tests.models.checkpoints import WAYS, change_config, change_weights, refused, refused_early

LAYER = "transformer.h.0"
QUERY, LAST = f"{LAYER}.self_attention.query_key_value.weight", "transformer.ln_f.weight"


def put(name, content):
    """A damage: another file in the place of one."""
    content = content if isinstance(content, bytes) else content.encode()
    return lambda folder: (folder / name).write_bytes(content)


def gone(*names):
    return lambda folder: [(folder / name).unlink() for name in names]


def settings(**changes):
    return lambda folder: change_config(folder, **changes)


def tensors(change):
    """A damage: the weights are a function of those that there are."""
    return lambda folder: change_weights(folder, change)


def added(name, tensor=None):
    return tensors(lambda held: held | {name: torch.ones(4) if tensor is None else tensor})


def whole_numbers(dtype):
    return tensors(lambda held: held | {QUERY: (held[QUERY] * 99).to(dtype)})


def twice(name):
    return tensors(lambda held: held | {name: held[QUERY] + 1})


def split(folder, **files):
    """Put the weights into a.safetensors, but the last norm into b.safetensors."""
    held = load_file(folder / SINGLE)
    (folder / SINGLE).unlink()
    last = {LAST: held.pop(LAST)}
    names = dict.fromkeys(held, "a.safetensors") | {LAST: "b.safetensors"}
    for name, content in {"a": held, "b": last, **files}.items():
        save_file(content, folder / f"{name}.safetensors", metadata={"format": "pt"})
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": names}))
    return names


def index(text):
    """A damage: an index that says something else."""

    def damage(folder):
        text_of = text if isinstance(text, str) else json.dumps(text(split(folder)))
        (folder / SINGLE).unlink(missing_ok=True)
        (folder / INDEX).write_text(text_of)

    return damage


def lists(file):
    return index(json.dumps({"weight_map": {"a": file}}))


def beside(change):
    """A damage: another file with the last norm."""
    return lambda folder: split(folder, b=change({LAST: load_file(folder / SINGLE)[LAST]}))


def cut(end=None, more=b""):
    def damage(folder):
        (folder / SINGLE).write_bytes((folder / SINGLE).read_bytes()[:end] + more)

    return damage


def drawn_by_chance(folder):
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    change_config(folder, "tokenizer.json", model=model | {"dropout": 0.1})


def two_values(name, values):
    """A damage: a name of a JSON object that comes twice in it; Python takes the last one, and
    others may take the first."""

    def damage(folder):
        if name == INDEX:
            split(folder)
        there = (folder / name).read_text() if (folder / name).is_file() else "{}"
        rest = there.strip()[1:].removesuffix("}").strip()
        (folder / name).write_text(f"{{{values}{', ' if rest else ''}{rest}}}")

    return damage


LEFT_OUT = "leaves out, the first is '"
NO_INDEX = f"'copy/{INDEX}' has no weight_map of tensors and files beside it"
NO_FILE = "'copy/model.safetensors' is not a safetensors file; download or copy it again"

DAMAGES = [
    (r"model folder '.*copy' has no config\.json; give the folder", gone("config.json")),
    ("'copy/config.json' is not JSON", put("config.json", "{")),
    ("'copy/config.json' names no model_type; give a folder", put("config.json", "[]")),
    (
        r"its config\.json cannot be loaded: The hidden size \(64\) is not a multiple",
        settings(model_type="llama", hidden_size=64, num_attention_heads=5),
    ),
    ("'copy/config.json' describes no model that can be built: ", settings(hidden_size=33)),
    ("built: .*function none not found", settings(activation="none")),
    (
        r"the architecture 'home_made', which transformers \d.* does not know",
        settings(model_type="home_made", architectures=["HomeMadeForCausalLM"]),
    ),
    ("its config.json", settings(__dict__={})),
    ("describes no model that can be built|lack", settings(architectures=["BertModel"])),
    ("auto_map is no object of names", settings(auto_map=[1])),
    ("num_hidden_layers is 10{12}, allowed is a whole number", settings(num_hidden_layers=10**12)),
    ("hidden_size is 10{15}, allowed is a", settings(text_config={"hidden_size": 10**15})),
    (
        "attn_implementation is 'someone/kernel', code on the hub, which is not run",
        settings(attn_implementation="someone/kernel"),
    ),
    (r"transformers_weights is 'x\.safetensors'", settings(transformers_weights="x.safetensors")),
    (r"says 4,000 layers \(num_hidden_layers\), its w.* have 3", settings(num_hidden_layers=4000)),
    (r"is stored as \[.*\], config.json asks for \[", settings(hidden_size=32_000)),
    (r"is stored as \[320, 32\], config.json asks for \[9", settings(vocab_size=9 * 10**7)),
    (f"{QUERY} is stored as .3, 3., config.json asks for", added(QUERY, torch.zeros(3, 3))),
    ("model folder 'copy' has no weights; it needs", gone(SINGLE)),
    (
        "has no tokenizer; it needs tokenizer.json",
        gone("tokenizer.json", "tokenizer_config.json"),
    ),
    ("its tokenizer cannot be loaded", put("tokenizer.json", '{"model": 3}')),
    (
        "its tokenizer cannot be loaded: 'added_tokens' is missing",
        put("tokenizer.json", '{"model": {"type": "Other"}}'),
    ),
    ("dropout is 0.1.*, so the same text has other tokens each time", drawn_by_chance),
    *(
        (f"'copy/{name}' (is no JSON object|is not JSON)", put(name, content))
        for name, content in zip(OTHER_FILES, ("[1]", "{", "5") * 2, strict=True)
    ),
    *(
        (f"'copy/{name}' .*the name 'own' comes twice", two_values(name, values))
        for name, values in zip(
            ("config.json", INDEX, *OTHER_FILES),
            ('"a": {"own": 1, "own": 2}', '"own": [1], "own": [2]') * 4,
            strict=True,
        )
    ),
    (NO_FILE, put(SINGLE, "not safetensors at all")),
    (r"'copy/model.safetensors' is damaged: it has [\d,]+ bytes and should have", cut(-100)),
    (r"is damaged: it has [\d,]+ bytes and should have", cut(None, b"xxx")),
    (NO_INDEX, index("{")),
    (NO_INDEX, index("[]")),
    (NO_INDEX, index('{"weight_map": 3}')),
    (NO_INDEX, index('{"weight_map": {}}')),
    *((NO_INDEX, lists(file)) for file in (3, "../../x", "/etc/passwd", "sub/x", "..", "x\0")),
    (NO_INDEX, lists("x" * 999)),
    (
        "or another total_size than a number",
        index(lambda held: {"metadata": {"total_size": "big"}, "weight_map": held}),
    ),
    (
        f"lacks the tensor '{LAYER}.none', which the index says it has",
        index(lambda held: {"weight_map": held | {f"{LAYER}.none": "a.safetensors"}}),
    ),
    (
        "'copy/b.safetensors' holds .*index says that it is in a.safetensors",
        beside(lambda held: held | {QUERY: held[LAST] + 1}),
    ),
    (
        "'copy/b.safetensors' holds .*index does not name it",
        beside(lambda held: held | {f"{LAST}.more": held[LAST] + 1}),
    ),
    (
        "'copy/b.safetensors' holds nothing but zeros",
        beside(lambda held: {LAST: torch.zeros(4)}),
    ),
    (
        f"{LEFT_OUT}{LAYER}.self_attention.q_norm.weight",
        added(f"{LAYER}.self_attention.q_norm.weight"),
    ),
    (f"{LEFT_OUT}transformer.h.1.cross.weight", added("transformer.h.1.cross.weight")),
    (f"{LEFT_OUT}transformer.embed_norm.weight", added("transformer.embed_norm.weight")),
    (f"{LEFT_OUT}lm_head.bias", added("lm_head.bias")),
    *(
        (f"hold '{QUERY}' twice, as '.*{QUERY[12:]}' and as '.*{QUERY[12:]}'", twice(name))
        for name in (QUERY[12:], f"transformer.{QUERY}", f"module.{QUERY}", f"_orig_mod.{QUERY}")
    ),
    *(
        (f"hold '{QUERY}' as whole numbers .{dtype}., and no scales", whole_numbers(dtype))
        for dtype in (torch.int8, torch.bool)
    ),
]
"""A sentence -> what is done to the checkpoint before."""


@pytest.mark.promise(
    "damaged-checkpoints", "ambiguous-weights", "weight-headers", "model-folder", "kernels"
)
@pytest.mark.parametrize(("sentence", "damage"), DAMAGES)
def test_a_checkpoint_is_refused_before_memory_is_asked_for(folder, monkeypatch, sentence, damage):
    damage(folder)
    refused_early(folder, sentence, monkeypatch)


def without(name):
    return tensors(lambda held: {key: tensor for key, tensor in held.items() if key != name})


LATER = [
    ("architecture 'clip' .* is not supported", settings(model_type="clip")),
    (f"lack (1 tensors, the first is|the tensor) '?{QUERY}'?; nothing is filled", without(QUERY)),
]
"""The same of what is found when weights are asked for."""


@pytest.mark.promise("damaged-checkpoints")
@pytest.mark.parametrize(("sentence", "damage"), LATER)
def test_a_checkpoint_is_refused_when_its_weights_are_asked_for(folder, sentence, damage):
    damage(folder)
    for way in WAYS:
        refused(folder, sentence, **way)


@pytest.mark.promise("weight-headers")
def test_more_layers_than_the_weights_have_are_refused_early(folder, monkeypatch):
    change_config(folder, num_hidden_layers=150)  # of the first ones, all is there
    monkeypatch.setattr(load, "from_pretrained", lambda *_, **__: pytest.fail("it was loaded"))
    refused(folder, r"lack [\d,]+ tensors, the first is transformer\.h\.3\.")
