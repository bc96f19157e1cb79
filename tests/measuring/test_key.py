"""What asks for a new measurement and what does not: equal keys mean equal datasets."""

import json
import re
import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from report.inputs.corpora import shipped
from report.inputs.passages import Passage
from report.kinds.passage import measure as passage_kind
from report.measuring import key as measuring_key
from report.measuring.key import determined_by, key_of, version
from report.models.find import names
from tests.models.checkpoints import add_adapter

PASSAGE = Passage("a", "A title", "us", "CC0-1.0", "en", "The lamp on the hill.")
CORPUS = tuple(replace(PASSAGE, name=name, text=f"Text {name}.") for name in "bc")


@pytest.fixture
def folder(falcon_folder, tmp_path):
    """A copy of a small checkpoint, to change."""
    return shutil.copytree(falcon_folder, tmp_path / "tiny")


def key(model, passage=PASSAGE, corpus=CORPUS, settings=None):
    source = model if isinstance(model, names.Source) else names.find(model)
    return key_of(determined_by(source, "passage", parts(passage, corpus), settings))


def parts(passage=PASSAGE, corpus=CORPUS, chat=False):
    return passage_kind.parts(passage_kind.Inputs(passage, shipped(corpus), "a", chat))


def change_json(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")


def flip_last_byte(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def save_elsewhere(folder):
    """The same tensors in several files."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="50KB")


def test_a_key_is_twelve_hex_digits_and_the_same_each_time(folder):
    assert re.fullmatch(r"[0-9a-f]{12}", key(folder))
    assert key(folder) == key(str(folder))


@pytest.mark.parametrize(
    "values",
    [{"text": "The lamp."}, {"title": "B"}, {"licence": "MIT"}, {"source": "me"}, {"name": "b"}],
)
def test_everything_a_page_shows_of_the_passage_counts(folder, values):
    assert key(folder, passage=replace(PASSAGE, **values)) != key(folder)


def test_the_texts_of_the_corpus_and_their_order_count_and_not_their_names(folder):
    longer = (*CORPUS, PASSAGE)
    renamed = tuple(replace(text, name=f"{text.name}2", title="x") for text in CORPUS)
    assert len({key(folder, corpus=c) for c in (CORPUS, CORPUS[::-1], longer)}) == 3
    assert key(folder, corpus=renamed) == key(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: flip_last_byte(folder / "model.safetensors"),
        lambda folder: change_json(folder / "config.json", layer_norm_epsilon=1e-4),
        lambda folder: change_json(folder / "tokenizer.json", added=1),
        lambda folder: (folder / "merges.txt").write_text("a b"),
        lambda folder: (folder / "chat_template.jinja").write_text("{{ messages }}"),
        save_elsewhere,
    ],
    ids=["weights", "config", "tokenizer", "merges", "chat template", "weight files"],
)
def test_what_changes_the_model_counts(folder, change):
    before = key(folder)
    change(folder)
    assert key(folder) != before


@pytest.mark.parametrize("alone", [False, True])
def test_every_file_of_an_adapter_and_its_model_count(folder, alone, tmp_path):
    at = tmp_path / "tuned" if alone else folder
    before = {key(folder)}
    add_adapter(at, {"A": torch.ones(2)}, base_model_name_or_path=str(folder))
    before.add(key(at))
    flip_last_byte(at / "adapter_model.safetensors")
    before.add(key(at))
    change_json(at / "adapter_config.json", lora_alpha=2)
    before.add(key(at))
    flip_last_byte(folder / "model.safetensors")
    assert len(before | {key(at)}) == 5
    source, stated = names.find(at), determined_by(names.find(at), "passage", parts())["model"]
    (folder / "model.safetensors").unlink()
    assert measuring_key.known_model(source, None, stated) == stated


def test_the_name_that_pages_call_a_model_counts(folder):
    assert key(folder) != key(folder.rename(folder.with_name("other")))


@pytest.mark.parametrize("name", ["training.json", "acceptance.json", "README.md"])
def test_how_a_model_was_trained_does_not_count(folder, name):
    before = key(folder)
    (folder / name).write_text("{}")
    assert key(folder) == before


def test_a_model_on_the_hub_is_its_commit_and_needs_no_file(monkeypatch):
    sources = [
        names.Source(name, "hub", revision=digit * 40)
        for name, digit in (("a/b", "1"), ("a/b", "2"), ("a/c", "1"))
    ]
    assert len({key(source) for source in sources}) == 3
    assert key(sources[0]) == key(names.find(f"a/b@{'1' * 40}"))
    told = determined_by(sources[0], "passage", parts())
    assert told["model"] == {"hub": "a/b", "revision": "1" * 40}


@pytest.mark.parametrize("settings", [{"layers": 2}, {"dtype": "bfloat16"}, {"alibi_factor": 2.0}])
def test_how_a_model_is_measured_counts(folder, settings):
    usual = {"layers": None, "dtype": "float32", "alibi_factor": 1.0}
    assert key(folder, settings=usual | settings) != key(folder, settings=usual)


def test_the_chat_template_counts_where_it_is_used():
    assert parts(chat=True) != parts()


def test_of_the_first_layers_only_their_own_weights_count(folder):
    before = key(folder, settings={"layers": 2})
    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["transformer.h.2.mlp.dense_4h_to_h.weight"] += 1
    save_file(tensors, path)
    assert key(folder, settings={"layers": 2}) == before
    tensors["transformer.h.1.mlp.dense_4h_to_h.weight"] += 1
    save_file(tensors, path)
    assert key(folder, settings={"layers": 2}) != before


@pytest.mark.parametrize(
    ("chat", "counts"), [(False, False), (True, True)], ids=["plain text", "chat"]
)
def test_the_library_of_chat_templates_counts_for_chats_alone(folder, monkeypatch, chat, counts):
    def key_with(jinja2):
        monkeypatch.setattr(
            measuring_key, "version", lambda name: jinja2 if name == "jinja2" else "1"
        )
        return key_of(determined_by(names.find(folder), "passage", parts(chat=chat), None))

    assert (key_with("3.1") != key_with("3.2")) == counts


def test_the_version_of_a_measuring_library_counts(folder, monkeypatch):
    before = key(folder)
    monkeypatch.setattr(measuring_key, "version", lambda name: "99" if name == "torch" else "1")
    assert key(folder) != before
    assert measuring_key.version("torch") == "99"


def test_a_library_that_is_not_there_has_no_version():
    assert version("no-such-library-anywhere") == "not installed"
    assert re.match(r"\d+\.", version("numpy"))
