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
from pathlib import Path

import pytest

from report import families
from report.errors import ReportError
from report.inputs.conditions import Segment
from report.models.attention import self_check
from report.models.find import names
from report.models.load import tokenizing
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage
from report.models.text import chat, chat_process
from report.models.text.segments import segmented
from report.models.text.tokens import tokenize
from tests.fuzz.refusals import tried
from tests.models.checkpoints import change_config, change_weights, refused, save


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.promise("pickles")
@pytest.mark.parametrize("name", ["pytorch_model.bin", "weights.pkl"])
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
@pytest.mark.parametrize("known", [True, False])
def test_code_that_a_tokenizer_brings_along_is_not_run(folder, tmp_path, known):
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Own: pass\n")
    changes = {"auto_map": {"AutoTokenizer": ["own.Own", "own.Own"]}}
    changes |= {} if known else {"tokenizer_class": "Own"}
    change_config(folder, "tokenizer_config.json", **changes)
    loaded, _ = tried(load_model, folder)
    assert not (tmp_path / "ran").exists()
    assert loaded is None or type(loaded.tokenizer).__name__ != "Own"


@pytest.mark.promise("remote-code")
def test_code_that_a_config_brings_along_is_not_run_for_a_known_architecture(folder, tmp_path):
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Own: pass\n")
    change_config(folder, auto_map=dict.fromkeys(("AutoConfig", "AutoModelForCausalLM"), "own.Own"))
    assert load_model(folder).identity["family"] == "falcon"
    assert not (tmp_path / "ran").exists()


@pytest.mark.promise("remote-code")
def test_trusting_one_model_does_not_run_the_code_of_another(folder):
    classes = {"AutoModelForCausalLM": "someone/else--modeling.Evil"}
    change_config(folder, model_type="own", auto_map=classes)
    refused(
        folder,
        r"'copy' names code of another model \(someone/else--modeling\.Evil\), which is not tru",
        trust_remote_code="copy",
    )


@pytest.mark.promise("model-folder")
@pytest.mark.parametrize(
    ("name", "absolute"),
    [("config.json", True), ("model.safetensors", False), ("tokenizer.json", True)],
)
def test_a_link_that_leads_out_of_the_folder_is_refused(folder, name, absolute):
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    shutil.move(folder / name, elsewhere / name)
    (folder / name).symlink_to((elsewhere if absolute else Path("../elsewhere")) / name)
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
@pytest.mark.parametrize("revision", ["..", "../copy", "/etc", "step-1/../../copy", ""])
def test_revisions_elsewhere_are_refused(folder, revision):
    runs = folder.parent / "runs"
    shutil.copytree(folder, runs / "step-1")
    with pytest.raises(ReportError):
        names.find(f"{runs}@{revision}", ask=False)
    assert names.find(f"{runs}@step-1").name == "runs@step-1"


@pytest.mark.promise("damaged-checkpoints")
@pytest.mark.parametrize("way", [{}, {"layers": 1}, {"layer_by_layer": True}], ids=str)
def test_tables_that_are_no_weights_are_refused_before_memory_is_asked_for(tmp_path, way):
    folder = save(families.tiny("gptj"), tmp_path / "copy")
    load_model(folder, **way)
    change_config(folder, n_positions=5 * 10**7)
    refused(folder, r"asks for [\d,]+ bytes of tables beside its [\d,]+ weights, most of", **way)


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


BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}


def replaced(content, pattern):
    return {"type": "Replace", "pattern": pattern, "content": content}


LONG = replaced("\ufdfa", {"Regex": "."})
TEXT = {"Sequence": {"id": "A", "type_id": 0}}
MARK = {"SpecialToken": {"id": "m", "type_id": 0}}


def charsmap(longest):
    """A table of replacements as SentencePiece compiles it, with an index of nothing."""
    return base64.b64encode(struct.pack("<I", 4) + bytes(4) + b"b\0" + b"a" * longest).decode()


def around(pieces, ids):
    tokens = {"m": {"id": "m", "ids": [0] * ids, "tokens": ["a"] * ids}}
    return {"type": "TemplateProcessing", "single": pieces, "pair": [], "special_tokens": tokens}


GROWING = {
    "doubled and doubled": ("normalizer", [replaced("aa", {"String": "a"})] * 40),
    "long and longer": ("decoder", [replaced("a" * 1000, {"String": "a"})] * 4),
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


WHOLE, FIRST_LAYERS, BY_LAYER = {}, {"layers": 2}, {"layer_by_layer": True}


@pytest.mark.promise("not-finite")
@pytest.mark.parametrize(
    ("name", "way", "value"),
    [
        ("transformer.h.0.self_attention.query_key_value.weight", FIRST_LAYERS, math.nan),
        ("transformer.word_embeddings.weight", WHOLE, math.inf),
        ("transformer.word_embeddings.weight", BY_LAYER, -3e38),
        ("transformer.h.2.self_attention.dense.weight", BY_LAYER, math.nan),
        ("transformer.h.2.mlp.dense_4h_to_h.weight", WHOLE, math.inf),
        ("transformer.ln_f.weight", WHOLE, -3e38),
    ],
)
def test_a_weight_that_no_model_computes_with_is_named(folder, name, way, value):
    def damage(tensors):
        tensors[name].view(-1)[tensors[name].numel() // 2 :] = value
        return tensors

    change_weights(folder, damage)
    _, said = tried(lambda: measure_passage(load_model(folder, **way), list(range(320))))
    assert f"the weight '{name}' holds numbers from" in said


@pytest.mark.parametrize("way", [WHOLE, BY_LAYER])
def test_what_chooses_experts_is_looked_at_though_it_is_no_parameter(tmp_path, way):
    """NaN chooses some expert or other, and what comes out is finite."""
    model = families.tiny("deepseek_v3/default")
    name = "model.layers.1.mlp.gate.e_score_correction_bias"
    for value, refused_ in ((-math.inf, False), (math.nan, True)):  # the first hides an expert
        model.get_buffer(name)[1:] = value
        folder = save(model, tmp_path / str(value), 60)
        _, said = tried(
            lambda folder=folder: measure_passage(load_model(folder, **way), list(range(9)))
        )
        assert (f"the weight '{name}' holds numbers from nan" in (said or "")) == refused_, said


@pytest.mark.promise("not-finite")
def test_what_overflows_after_the_last_attention_is_told(folder):
    last = [f"transformer.h.2.mlp.dense_{name}.weight" for name in ("h_to_4h", "4h_to_h")]
    change_weights(folder, lambda held: held | {name: held[name].sign() * 9e18 for name in last})
    _, said = tried(self_check.checked, load_model(folder))
    assert "after its last layer the hidden state is NaN or infinite" in said


@pytest.mark.promise("bounded-reading")
@pytest.mark.parametrize(
    "name",
    [
        *("config.json", "vocab.txt", "tokenizer.model", "model.safetensors.index.json"),
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
