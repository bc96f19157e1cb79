"""Files of models are data: none of them runs code, leads elsewhere, or takes all memory."""

import base64
import json
import math
import os
import pickle
import re
import resource
import shutil
import struct
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report import families
from report.errors import ReportError
from report.inputs.conditions import Segment
from report.models.attention import self_check
from report.models.find import names, weights
from report.models.load import load, tokenizing
from report.models.load.load import load_model
from report.models.load.stated import OTHER_FILES
from report.models.measure.passage import measure_passage
from report.models.text import chat, chat_process
from report.models.text.segments import segmented
from report.models.text.tokens import tokenize
from tests.fuzz.damage import damaged_bytes, damaged_json
from tests.fuzz.profile import examples
from tests.fuzz.refusals import tried
from tests.models.checkpoints import change_config, change_weights, refused, save


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.promise("pickles")
@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.ckpt", "weights.pkl"])
def test_pickles_are_refused_and_never_opened(folder, tmp_path, name):
    ran = tmp_path / "ran"
    content = pickle.dumps(Bomb(ran))
    (folder / name).write_bytes(content)
    load_model(folder)  # beside safetensors nobody looks at it
    (folder / "model.safetensors").unlink()
    refused(folder, rf"weights only as pickle \({name}\), which can run code when opened")
    (folder / "model.safetensors").write_bytes(content)
    refused(folder, "is not a safetensors file")
    index = {"weight_map": {"a": name}}
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(folder, "is not a safetensors file")
    assert not ran.exists()


@pytest.mark.promise("remote-code")
@pytest.mark.parametrize("where", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("known", [True, False])
def test_code_that_a_model_brings_along_is_not_run(folder, tmp_path, where, known):
    ran = tmp_path / "ran"
    (folder / "own.py").write_text(f"open({str(ran)!r}, 'w')\nclass Own: pass\n")
    path = folder / where
    stated = json.loads(path.read_text())
    loaders = ["AutoConfig", "AutoModel", "AutoModelForCausalLM"]
    classes = dict.fromkeys(loaders, "own.Own")
    if where == "tokenizer_config.json":
        classes = {"AutoTokenizer": ["own.Own", "own.Own"]}
        stated |= {} if known else {"tokenizer_class": "Own"}
    elif not known:
        stated["model_type"] = "own"
    path.write_text(json.dumps(stated | {"auto_map": classes}))
    loaded, said = tried(load_model, folder)
    assert not ran.exists()
    if where == "config.json" and not known:
        assert "brings its own code (own.Own), which would run on this machine" in said
    else:
        assert loaded is None or type(loaded.tokenizer).__name__ != "Own"


@pytest.mark.promise("remote-code")
def test_trusting_one_model_does_not_run_the_code_of_another(folder):
    classes = {"AutoModelForCausalLM": "someone/else--modeling.Evil"}
    change_config(folder, model_type="own", auto_map=classes)
    refused(
        folder,
        r"'copy' names code of another model \(someone/else--modeling\.Evil\), which is not tru",
        trust_remote_code="copy",
    )


@pytest.mark.promise("kernels")
@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
def test_kernels_from_the_hub_are_not_fetched(folder, key):
    change_config(folder, **{key: "someone/kernel"})
    refused(folder, rf"{key} is 'someone/kernel', code on the hub, which is not run")


def outside(folder, name):
    """A file of the folder that is a link to the same one elsewhere."""
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    shutil.move(folder / name, elsewhere / name)
    return elsewhere / name


@pytest.mark.promise("model-folder")
@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
)
@pytest.mark.parametrize("way", ["absolute", "relative"])
def test_a_link_that_leads_out_of_the_folder_is_refused(folder, name, way):
    there = outside(folder, name)
    (folder / name).symlink_to(there if way == "absolute" else Path("..") / "elsewhere" / name)
    refused(folder, rf"model folder 'copy': {name} is a link that leads out of the folder")


@pytest.mark.promise("model-folder")
def test_folders_and_links_that_lead_out_of_the_folder_are_refused(folder, tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "secret.py").write_text("")
    (folder / "code").symlink_to(tmp_path / "code")
    refused(folder, "code is a link that leads out of the folder")
    (folder / "code").unlink()
    (folder / "code").mkdir()
    (folder / "code" / "secret.py").symlink_to("/etc/passwd")
    refused(folder, r"code/secret\.py is a link that leads out of the folder")
    shutil.rmtree(folder / "code")
    (folder / "circle").symlink_to("circle")
    refused(folder, "circle is a link that leads out of the folder")


def test_links_inside_the_folder_and_a_link_to_the_folder_are_followed(folder, tmp_path):
    (folder / "model.safetensors").rename(folder / "weights")
    (folder / "model.safetensors").symlink_to("weights")
    (tmp_path / "link").symlink_to(folder)
    assert load_model(tmp_path / "link").identity["name"] == "copy"


@pytest.mark.promise("model-folder")
def test_a_commit_in_the_cache_of_hugging_face_tools_is_links_to_its_blobs(folder, tmp_path):
    repository = tmp_path / "hub" / "models--someone--tiny"
    snapshot = repository / "snapshots" / ("5eed" * 10)
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    for path in folder.iterdir():
        path.rename(repository / "blobs" / f"blob-{path.name}")
        (snapshot / path.name).symlink_to(Path("../../blobs") / f"blob-{path.name}")
    load_model(snapshot)
    (snapshot / "extra.json").symlink_to("../../../../elsewhere.json")
    refused(snapshot, r"extra\.json is a link that leads out of the folder")


@pytest.mark.promise("model-folder")
@pytest.mark.parametrize(
    "file",
    [
        "../../x.safetensors",
        "/etc/passwd",
        "a/../../x",
        "sub/x.safetensors",
        "..",
        "x\0",
        "x" * 999,
    ],
)
def test_weight_files_elsewhere_are_refused(folder, file):
    (folder / "model.safetensors").unlink()
    index = {"weight_map": {"a": file}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    for options in ({}, {"layers": 1}):
        refused(folder, "has no weight_map of tensors and files beside it", **options)


@pytest.mark.parametrize("way", [{}, {"layers": 1}], ids=str)
def test_an_index_that_names_tensors_that_its_files_lack_is_refused(folder, way):
    held = dict.fromkeys(weights.weight_map(folder), "weights.safetensors")
    (folder / "model.safetensors").rename(folder / "weights.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": held}))
    load_model(folder, **way)
    held["transformer.h.0.none"] = "weights.safetensors"
    index.write_text(json.dumps({"metadata": {}, "weight_map": held}))
    refused(folder, "lacks the tensor 'transformer.h.0.none', which the index says it has", **way)
    index.write_text(json.dumps({"metadata": {"total_size": "big"}, "weight_map": held}))
    refused(folder, "or another total_size than a number", **way)


@pytest.mark.parametrize("name", OTHER_FILES)
@pytest.mark.parametrize(
    ("content", "said"), [("[1]", "is no JSON object"), ("{", "is not JSON"), ("5", "is no JSON")]
)
def test_files_beside_the_config_that_are_no_objects_are_named(folder, name, content, said):
    (folder / name).write_text(content)
    for way in ({}, {"layers": 1}):
        refused(folder, f"'copy/{name}' {said}", **way)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json", *OTHER_FILES])
def test_a_name_that_has_two_values_is_named(folder, name):
    """transformers takes the last one, and others may take the first."""
    if name.endswith("index.json"):
        (folder / "model.safetensors").rename(folder / "weights.safetensors")
    there = (folder / name).read_text() if (folder / name).is_file() else "{}"
    more = there.strip()[1:].removesuffix("}").strip()
    for values in ('"a": {"own": 1, "own": 2}', '"own": [1], "own": [2]'):
        (folder / name).write_text(f"{{{values}{', ' if more else ''}{more}}}")
        refused(folder, f"'copy/{name}' .*the name 'own' comes twice")


@pytest.mark.promise("model-folder")
@pytest.mark.parametrize("revision", ["..", "../copy", "/etc", "step-1/../../copy", ""])
def test_revisions_elsewhere_are_refused(folder, revision):
    runs = folder.parent / "runs"
    shutil.copytree(folder, runs / "step-1")
    with pytest.raises(ReportError):
        names.find(f"{runs}@{revision}", ask=False)
    assert names.find(f"{runs}@step-1").name == "runs@step-1"


def header(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def write_header(path, tensors, data):
    text = tensors if isinstance(tensors, bytes) else json.dumps(tensors).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


HEADERS = {
    "overlapping": lambda t: t | {"b": t["b"] | {"data_offsets": [0, 8]}},
    "apart": lambda t: t | {"b": t["b"] | {"data_offsets": [12, 20], "shape": [2]}},
    "turned round": lambda t: t | {"a": t["a"] | {"data_offsets": [8, 0]}},
    "before the file": lambda t: t | {"a": t["a"] | {"data_offsets": [-8, 8]}},
    "beyond the file": lambda t: t | {"b": t["b"] | {"data_offsets": [8, 10**15]}},
    "of another shape": lambda t: t | {"a": t["a"] | {"shape": [10**12]}},
    "of a negative shape": lambda t: t | {"a": t["a"] | {"shape": [-1, -2]}},
    "of half a number": lambda t: t | {"a": t["a"] | {"shape": [1.5]}},
    "of a text": lambda t: t | {"a": t["a"] | {"shape": "2"}},
    "of nothing": lambda t: t | {"a": None},
    "deep": lambda t: b"[" * 50_000,
    "twice": lambda t: json.dumps(t).replace('"b"', '"a"').encode(),
    "not text": lambda t: b"\xff" * 40,
}


@pytest.mark.promise("weight-headers")
@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_do_not_fit_their_file_are_refused(tmp_path, name):
    path = tmp_path / "model.safetensors"
    one = {"dtype": "F32", "shape": [2]}
    tensors = {"a": one | {"data_offsets": [0, 8]}, "b": one | {"data_offsets": [8, 16]}}
    write_header(path, tensors, bytes(16))
    assert list(weights.read_header(path)) == ["a", "b"]
    write_header(path, HEADERS[name](tensors), bytes(16))
    with pytest.raises(ReportError, match=r"is not a safetensors file|is damaged"):
        weights.read_header(path)


@pytest.mark.promise("weight-headers")
@pytest.mark.parametrize("length", [0, 1, 2**31, 10**9, 2**63 - 1, 2**64 - 1])
def test_a_header_of_any_length_takes_no_memory(folder, length):
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", length) + path.read_bytes()[8:])
    tracemalloc.start()
    try:
        refused(folder, "is not a safetensors file")
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.promise("damaged-checkpoints")
@examples(80)
@given(st.data())
def test_damaged_weights_are_refused_or_the_same(falcon_folder, tmp_path_factory, data):
    whole = falcon_folder / "model.safetensors"
    tensors, content = header(whole)
    folder = tmp_path_factory.mktemp("damaged")
    path = folder / "model.safetensors"
    if data.draw(st.booleans()):
        write_header(path, data.draw(damaged_json(tensors)).encode(), content)
    else:
        path.write_bytes(data.draw(damaged_bytes(whole.read_bytes()[:2000])) + content)
    found, said = tried(weights.read_header, path)
    if said is None:
        spans = sorted(tensor["span"] for tensor in found.values())
        assert all(end == begin for (_, end), (begin, _) in pairwise(spans))
        assert spans[-1][1] == path.stat().st_size
    shutil.rmtree(folder)


SIZES = {
    "num_hidden_layers": 10**12,
    "num_attention_heads": 10**12,
    "hidden_size": 10**15,
    "vocab_size": 10**30,
    "max_position_embeddings": 10**13,
    "ffn_hidden_size": -(10**12),
}


@pytest.mark.promise("weight-headers")
@pytest.mark.parametrize("key", SIZES)
@pytest.mark.parametrize("inside", [False, True])
def test_sizes_that_no_model_has_are_refused_before_anything_is_built(folder, key, inside):
    change_config(folder, **({"text_config": {key: SIZES[key]}} if inside else {key: SIZES[key]}))
    refused(folder, rf"'copy/config\.json': {key} is {SIZES[key]}, allowed is a (whole )?number")
    refused(folder, rf"{key} is", layers=1)


@pytest.mark.promise("weight-headers")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"num_hidden_layers": 4000},
            r"config.json says 4,000 layers \(num_hidden_layers\), its weights have 3",
        ),
        ({"num_hidden_layers": 150}, r"lack 147\d tensors|weights of 'copy' lack"),
        ({"hidden_size": 32_000}, r"is stored as \[.*\], config.json asks for \["),
        ({"vocab_size": 9 * 10**7}, r"is stored as \[320, 32\], config.json asks for \[9"),
    ],
)
@pytest.mark.parametrize("way", [{}, {"layers": 1}, {"layer_by_layer": True}], ids=str)
def test_sizes_that_the_weights_do_not_have_are_refused_before_memory_is_asked_for(
    folder, monkeypatch, change, said, way
):
    change_config(folder, **change)
    for loader in ("from_pretrained", "open_partial"):
        monkeypatch.setattr(load, loader, lambda *_, **__: pytest.fail("it was loaded"))
    if way and "lack" in said:
        return  # in part, files may be missing; what is needed of them is asked for in time
    refused(folder, said, **way)


@pytest.mark.promise("damaged-checkpoints")
@pytest.mark.parametrize("way", [{}, {"layers": 1}, {"layer_by_layer": True}], ids=str)
def test_tables_that_are_no_weights_are_refused_before_memory_is_asked_for(tmp_path, way):
    folder = save(families.tiny("gptj"), tmp_path / "copy")
    load_model(folder, **way)
    change_config(folder, n_positions=5 * 10**7)
    refused(folder, r"asks for [\d,]+ bytes of tables beside its [\d,]+ weights, most of", **way)


@pytest.mark.promise("damaged-checkpoints")
@pytest.mark.parametrize("way", [{}, {"layers": 1}], ids=str)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden_size": 33}, r"'copy/config\.json' describes no model that can be built: "),
        ({"activation": "none"}, "describes no model that can be built: .*function none not found"),
        ({"model_type": "clip"}, "architecture 'clip' .* is not supported"),
        ({"__dict__": {}}, "its config.json"),
        ({"architectures": ["BertModel"]}, "describes no model that can be built|lack"),
    ],
    ids=str,
)
def test_a_config_of_which_no_model_can_be_built_is_one_sentence(folder, change, said, way):
    change_config(folder, **change)
    refused(folder, said, **way)


def change_tokenizer(folder, **changes):
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def split(pattern):
    kind = {"type": "Split", "behavior": "Isolated", "invert": False}
    return kind | {"pattern": {"Regex": pattern}}


@pytest.mark.promise("tokenizers")
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", r"(\w+\s?)*;$"])
def test_a_pattern_that_exhausts_its_engine_is_one_sentence(folder, capfd, pattern):
    change_tokenizer(folder, pre_tokenizer=split(pattern))
    loaded = load_model(folder)
    text = "a" * 40 + "!;!"
    for read in (tokenize, lambda *about: segmented(about[0], [Segment("a", about[1])])):
        _, said = tried(read, loaded, text)
        assert said.startswith("the model's tokenizer cannot read the text: "), said
    assert capfd.readouterr().err == "", "the user sees Rust's panic"


@pytest.mark.promise("tokenizers")
def test_a_pattern_that_takes_long_is_one_sentence_in_time(folder, monkeypatch):
    change_tokenizer(folder, pre_tokenizer=split("(a+){5}!|a"))
    loaded = load_model(folder)
    monkeypatch.setattr(tokenizing, "PATIENCE", 0.1)
    _, said = tried(tokenize, loaded, "a" * 64 + "d!")  # two seconds of a fast processor
    assert said.startswith("the model's tokenizer did not read the text within 0 seconds; "), said
    text, _ = tried(tokenize, loaded, "a lamp")
    assert text.token_ids


def replaced(content, times):
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": content}
    return [dict(step) for _ in range(times)]


@pytest.mark.promise("tokenizers")
@pytest.mark.parametrize(("content", "times"), [("aa", 40), ("a" * 1000, 4)])
def test_texts_that_double_and_double_are_refused_before_one_is_read(folder, content, times):
    steps = {"type": "Sequence", "normalizers": replaced(content, times)}
    change_tokenizer(folder, normalizer=steps)
    refused(folder, "its normalizer and pre_tokenizer can make texts 4e.1[12] times as long")
    steps = {"type": "Sequence", "decoders": replaced(content, times)}
    change_tokenizer(folder, normalizer=None, decoder=steps)
    refused(folder, "its decoder can make texts")


BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
LONG = {"type": "Replace", "pattern": {"Regex": "."}, "content": "\ufdfa"}
TEXT = {"Sequence": {"id": "A", "type_id": 0}}
MARK = {"SpecialToken": {"id": "m", "type_id": 0}}


def charsmap(longest):
    """A table of replacements as SentencePiece compiles it, with an index of nothing."""
    return base64.b64encode(struct.pack("<I", 4) + bytes(4) + b"b\0" + b"a" * longest).decode()


def around(pieces, ids):
    tokens = {"m": {"id": "m", "ids": [0] * ids, "tokens": ["a"] * ids}}
    return {"type": "TemplateProcessing", "single": pieces, "pair": [], "special_tokens": tokens}


GROWING = {
    "bytes of bytes": ("normalizer", [{"type": "ByteLevel"}] * 20),
    "bytes of bytes, cut": ("pre_tokenizer", [BYTES] * 20),
    "letters that fall apart": ("normalizer", [LONG, {"type": "NFKD"}] * 4),
    "a table": ("normalizer", [{"type": "Precompiled", "precompiled_charsmap": charsmap(200)}] * 2),
    "an empty suffix": ("decoder", [{"type": "BPEDecoder", "suffix": ""}] * 30),
    "an empty mark": (
        "decoder",
        [{"type": "CTC", "pad_token": "p", "word_delimiter_token": "", "cleanup": False}] * 30,
    ),
    "a text many times": ("post_processor", around([TEXT] * 20_000, 1)),
    "many marks of many tokens": ("post_processor", around([TEXT, *[MARK] * 200], 200)),
}
LISTS = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders"}


@pytest.mark.promise("tokenizers")
@pytest.mark.parametrize(("part", "steps"), GROWING.values(), ids=GROWING)
def test_no_step_of_a_tokenizer_makes_texts_much_longer(folder, part, steps):
    """Some of these took all memory, which ends the process, as no library can raise that."""
    stated = {"type": "Sequence", LISTS[part]: steps} if isinstance(steps, list) else steps
    change_tokenizer(folder, **{part: stated})
    refused(folder, rf"'copy/tokenizer\.json': its .*{part}.* can make texts \S+ times as long")


def test_tokens_that_are_drawn_by_chance_are_refused(folder):
    stated = json.loads((folder / "tokenizer.json").read_text())
    change_tokenizer(folder, model=stated["model"] | {"dropout": 0.1})
    refused(
        folder, r"'copy/tokenizer\.json': dropout is 0\.1\d*, so the same text has other tokens"
    )


@pytest.mark.promise("damaged-checkpoints")
@examples(12)
@given(st.data())
def test_damaged_settings_are_one_sentence(falcon_folder, tmp_path_factory, data):
    folder = shutil.copytree(falcon_folder, tmp_path_factory.mktemp("damaged") / "copy")
    name = data.draw(st.sampled_from(["config.json", "tokenizer.json", "tokenizer_config.json"]))
    content = (folder / name).read_bytes()
    damaged = damaged_json(json.loads(content)).map(str.encode) | damaged_bytes(content)
    (folder / name).write_bytes(data.draw(damaged))
    loaded, said = tried(load_model, folder)
    if said is None:
        tried(tokenize, loaded, "The lamp on the hill was lit.")
    shutil.rmtree(folder.parent)


@pytest.mark.promise("chat-templates")
@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__init__.__globals__ }}",
        "{% for i in range(10**9) %}{% endfor %}",
        "{{ 1 / 0 }}",
        "{{ messages[9].content }}",
        "{% include '/etc/passwd' %}",
        "{{ nothing() }}",
    ],
)
def test_a_chat_template_reaches_nothing(template):
    messages = [[{"role": "user", "content": "The lamp was lit."}]]
    answer = chat_process.answer({"conversations": messages, "chat_template": template})
    assert answer.keys() == {"error"} or answer["text"] == ""


@pytest.mark.promise("chat-templates")
@pytest.mark.parametrize(
    ("template", "seconds"),
    [
        ("{{ 'a' * 3000000000 }}", 60),
        ("{{ range(10) | batch(900000000, 'x') | list | length }}", 60),
        ("{{ 'a'.center(20000000) }}", 60),
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", 3),
    ],
)
def test_a_chat_template_takes_little_memory_and_time(loaded, template, seconds, monkeypatch):
    monkeypatch.setattr(chat, "SECONDS", seconds)
    loaded.tokenizer.chat_template = template
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    _, said = tried(tokenize, loaded, "The lamp was lit.", chat=True)
    assert "the model's chat template does not take a single message" in said
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before < 3 << 20  # kilobytes


WAYS = {"whole": {}, "some layers": {"layers": 2}, "layer by layer": {"layer_by_layer": True}}
PLACES = {
    "transformer.h.0.self_attention.query_key_value.weight": ("whole", "some layers"),
    "transformer.word_embeddings.weight": ("whole", "layer by layer"),
    "transformer.h.{last}.self_attention.dense.weight": ("whole", "layer by layer"),
    "transformer.h.{last}.mlp.dense_4h_to_h.weight": ("whole",),
    "transformer.ln_f.weight": ("whole",),
}
"""Name of a weight -> the ways of loading that use it."""


@pytest.mark.promise("not-finite")
@pytest.mark.parametrize("value", [math.nan, math.inf, -3e38])
@pytest.mark.parametrize(
    ("name", "way"), [(name, way) for name, ways in PLACES.items() for way in ways]
)
def test_a_weight_that_no_model_computes_with_is_named(folder, name, way, value):
    config = json.loads((folder / "config.json").read_text())
    name = name.format(last=config["num_hidden_layers"] - 1)

    def damage(tensors):
        tensors[name].view(-1)[tensors[name].numel() // 2 :] = value
        return tensors

    change_weights(folder, damage)

    def first_use():
        measure_passage(load_model(folder, **WAYS[way]), list(range(config["vocab_size"])))

    _, said = tried(first_use)
    assert f"the weight '{name}' holds numbers from" in said


@pytest.mark.parametrize("way", ["whole", "layer by layer"])
def test_what_chooses_experts_is_looked_at_though_it_is_no_parameter(tmp_path, way):
    """NaN chooses some expert or other, and what comes out is finite."""
    model = families.tiny("deepseek_v3/default")
    name = "model.layers.1.mlp.gate.e_score_correction_bias"
    for value, refused_ in ((-math.inf, False), (math.nan, True)):  # the first hides an expert
        model.get_buffer(name)[1:] = value
        folder = save(model, tmp_path / str(value), 60)
        _, said = tried(
            lambda folder=folder: measure_passage(load_model(folder, **WAYS[way]), list(range(9)))
        )
        assert (f"the weight '{name}' holds numbers from nan" in (said or "")) == refused_, said


@pytest.mark.promise("not-finite")
def test_what_overflows_after_the_last_attention_is_told(folder):
    last = json.loads((folder / "config.json").read_text())["num_hidden_layers"] - 1
    name = f"transformer.h.{last}.mlp.dense_"

    def blow_up(tensors):
        large = {one: tensors[one].sign() * 9e18 for one in tensors if one.startswith(name)}
        return tensors | large

    change_weights(folder, blow_up)
    _, said = tried(self_check.checked, load_model(folder))
    assert "after its last layer the hidden state is NaN or infinite" in said


@pytest.mark.promise("bounded-reading")
@pytest.mark.parametrize(
    "name",
    [
        *("config.json", "tokenizer.json", "vocab.txt", "merges.txt", "tokenizer.model"),
        *("model.safetensors.index.json", "adapter_config.json", "generation_config.json"),
        *("chat_template.jinja", "additional_chat_templates/one.jinja", "modeling.py"),
    ],
)
def test_settings_without_end_are_refused_before_they_are_read(folder, name):
    (folder / name).parent.mkdir(exist_ok=True)
    with (folder / name).open("wb") as file:
        file.truncate(300_000_000)
    tracemalloc.start()
    try:
        refused(folder, rf"{re.escape(name)} has 300 MB, allowed is 100, several times")
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
