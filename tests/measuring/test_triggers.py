"""The table of what measures again and what does not, each row through `measuring.datasets`.

Every row changes one thing of a small publication that was measured; models are tiny and random.
Rows that need another installation change what is recorded in its place, which is the same
comparison.
"""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from report.kinds import folders
from report.kinds.passage import measure as passage_kind
from report.measuring import alone, plan, run
from report.measuring import key as measuring_key
from report.measuring.changes import changes
from report.measuring.code import PACKAGE, measuring_code
from report.models.find import names
from report.project import project as project_in
from report.study.study import read_study
from tests.models.checkpoints import add_adapter
from tests.small import CORPUS, write_publication

KERNEL = "models/attention/kernel.py"
"""A module that measures."""


@pytest.fixture(scope="module")
def measured_once(falcon_folder, tmp_path_factory, short_corpus):
    """A publication with its model inside, measured once, to be copied."""
    root = write_publication(tmp_path_factory.mktemp("triggers") / "project")
    shutil.copytree(falcon_folder, root / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        asked = Asked(root)
        [found] = run.datasets(asked.study(), asked.project, lambda *_: None)
    assert found.reasons == [plan.NEVER]
    return root


class Asked:
    """A publication, and the options it is built with."""

    def __init__(self, root):
        self.root, self.project = root, project_in(root)
        self.options = {"model": "tiny", "passage": "passage.md"}

    def study(self):
        return read_study(self.project.articles / "small.md.j2", **self.options)

    def plan(self):
        """The `Plan` of today."""
        study = self.study()
        inputs = folders.kind(study.front_matter.kind).inputs(study.front_matter)
        [found] = plan.plans(study, self.project, inputs)
        return found

    def edit(self, name, old, new):
        path = self.root / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    def json(self, name, **values):
        path = self.root / "tiny" / name
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")


@pytest.fixture
def asked(measured_once, tmp_path, monkeypatch):
    root = shutil.copytree(measured_once, tmp_path / "project")
    monkeypatch.chdir(root)
    found = Asked(root)
    found.patch = monkeypatch.setattr
    return found


def weights(asked, layer=0):
    path = asked.root / "tiny" / "model.safetensors"
    tensors = load_file(path)
    name = f"transformer.h.{layer}.mlp.dense_4h_to_h.weight"
    save_file(tensors | {name: tensors[name] + np.float32(1)}, path, {"format": "pt"})


def other_files(asked):
    """The same tensors in several files."""
    path = asked.root / "tiny" / "model.safetensors"
    tensors = load_file(path)
    path.unlink()
    files = {name: f"model-0000{1 + n % 2}-of-00002.safetensors" for n, name in enumerate(tensors)}
    for file in {*files.values()}:
        there = {name: tensors[name] for name in tensors if files[name] == file}
        save_file(there, path.with_name(file), {"format": "pt"})
    index = {"metadata": {}, "weight_map": files}
    path.with_name("model.safetensors.index.json").write_text(json.dumps(index))


def code(asked, name, text):
    """The code of a module changed, in a copy of the package."""
    package = asked.root.parent / "report"
    ignored = shutil.ignore_patterns("embedded", "__pycache__")
    shutil.copytree(PACKAGE, package, ignore=ignored)
    with (package / name).open("a") as file:
        file.write(text)
    asked.patch(measuring_key, "measuring_code", lambda kind: measuring_code(kind, package))


def library(asked, name):
    installed = measuring_key.version
    changed = {name: "99.1"}
    asked.patch(measuring_key, "version", lambda each: changed.get(each) or installed(each))


def corpus(asked, **changes):
    texts = (replace(CORPUS[0], **changes), *CORPUS[1:])
    asked.patch(passage_kind, "corpus", lambda: texts)


def dataset(asked, name, old, new):
    """A dataset with something replaced, or ended there."""
    (folder,) = asked.root.glob("site_src/datasets/*/*/")
    text = (folder / name).read_text("utf-8")
    assert old in text
    changed = text.partition(old)[0] if new is None else text.replace(old, new, 1)
    (folder / name).write_text(changed, "utf-8")


def again(asked):
    """The template is copied elsewhere in site_src, as a build that was cut off leaves it."""
    (asked.root / "site_src" / "articles").mkdir()
    (asked.root / "site_src" / "articles" / "small.md").write_text("half")


TRIGGERS = {
    "weights": (weights, "the weights of tiny changed"),
    "files of the same weights": (other_files, "the weights of tiny changed"),
    "tokenizer": (
        lambda a: a.json("tokenizer.json", note=1),
        "the tokenizer of tiny changed (tokenizer.json)",
    ),
    "how the tokenizer is used": (
        lambda a: a.json("tokenizer_config.json", add_bos_token=True),
        "the tokenizer of tiny changed (tokenizer_config.json)",
    ),
    "special tokens": (
        lambda a: (a.root / "tiny" / "special_tokens_map.json").write_text("{}"),
        "the tokenizer of tiny changed (special_tokens_map.json)",
    ),
    "chat template": (
        lambda a: (a.root / "tiny" / "chat_template.jinja").write_text("x"),
        "the chat template of tiny changed",
    ),
    "config": (
        lambda a: a.json("config.json", layer_norm_epsilon=1e-4),
        "the settings of tiny changed (config.json)",
    ),
    "code that the model brings": (
        lambda a: (a.root / "tiny" / "modeling_tiny.py").write_text("x = 1"),
        "the code of tiny changed (modeling_tiny.py)",
    ),
    "another model": (
        lambda a: a.options.update(model=shutil.copytree("tiny", "small")),
        "model: tiny → small",
    ),
    "words of the passage": (
        lambda a: a.edit("passage.md", "hill", "roof"),
        "the passage changed",
    ),
    "what the page says of the passage": (
        lambda a: a.edit("passage.md", "The lamp", "---\ntitle: Lamp\n---\nThe lamp"),
        "the passage changed",
    ),
    "words of the corpus": (lambda a: corpus(a, text="Other."), "the corpus changed"),
    "order of the corpus": (
        lambda a: a.patch(passage_kind, "corpus", lambda: CORPUS[::-1]),
        "the corpus changed",
    ),
    "chat": (lambda a: a.options.update(chat=True), "chat: no → yes"),
    "layers": (lambda a: a.options.update(layers="0-1"), "layers: all → 2"),
    "dtype": (lambda a: a.options.update(dtype="bfloat16"), "dtype: float32 → bfloat16"),
    "device": (lambda a: a.options.update(device="cpu"), "device: auto → cpu"),
    "how often ALiBi counts": (
        lambda a: a.options.update(alibi_factor=2.0),
        "alibi_factor: 1 → 2",
    ),
    "code that may run": (
        lambda a: a.options.update(trust_remote_code="tiny"),
        "trust_remote_code: none → tiny",
    ),
    "measuring code": (
        lambda a: code(a, KERNEL, "\nX = 1\n"),
        "the measuring code changed: models/attention/kernel.py",
    ),
    "transformers": (lambda a: library(a, "transformers"), "transformers {} → 99.1"),
    "torch": (lambda a: library(a, "torch"), "torch {} → 99.1"),
    "tokenizers": (lambda a: library(a, "tokenizers"), "tokenizers {} → 99.1"),
    "numpy": (lambda a: library(a, "numpy"), "numpy {} → 99.1"),
    "another kind of article": (
        lambda a: a.edit(
            "templates/articles/small.md.j2", "title:", "table: cars\ncolumns: [Name]\ntitle:"
        ),
        plan.NEVER,  # what was measured of the passage stays beside it
    ),
    "datasets deleted": (
        lambda a: shutil.rmtree(a.root / "site_src" / "datasets"),
        plan.NEVER,
    ),
    "a number of a dataset": (
        lambda a: dataset(a, "attention/1/2.json", '"layer":1', '"layer": 1'),
        "attention/1/2.json is not the file that was measured",
    ),
    "a dataset cut off": (
        lambda a: dataset(a, "updates/0.json", '"rows"', None),
        "updates/0.json is not the file that was measured",
    ),
    "a dataset deleted": (
        lambda a: next(a.root.glob("site_src/datasets/*/*/passage.json")).unlink(),
        "passage.json is missing",
    ),
    "a number of the manifest": (
        lambda a: dataset(a, "manifest.json", '"layers_called":3', '"layers_called":2'),
        "manifest.json is not the one that was written",
    ),
    "the manifest cut off": (
        lambda a: dataset(a, "manifest.json", '"versions"', None),
        "manifest.json is damaged",
    ),
    "manifest deleted": (
        lambda a: next(a.root.glob("site_src/datasets/*/*/manifest.json")).unlink(),
        plan.NEVER,
    ),
}
ARTICLE = "templates/articles/small.md.j2"
NON_TRIGGERS = {
    "nothing": lambda a: None,
    "prose": lambda a: a.edit(ARTICLE, "{{ figure(", "Other words.\n\n{{ figure("),
    "title": lambda a: a.edit(ARTICLE, "title: Small", "title: Large"),
    "tags": lambda a: a.edit(ARTICLE, "title:", "tags: [lamps]\ntitle:"),
    "cover": lambda a: a.edit(ARTICLE, "cover: update_magnitude", "cover: focus_by_layer"),
    "another figure": lambda a: a.edit(
        ARTICLE, "{{ figure(", '{{ figure("attention_map") }}\n{{ figure('
    ),
    "theme": lambda a: a.edit("mkdocs.yml", "Small", "Large\ntheme: readthedocs"),
    "a page written by hand": lambda a: (a.root / "site_src" / "about.md").write_text("# About"),
    "another article": lambda a: shutil.copy(
        a.root / ARTICLE, a.root / "templates" / "articles" / "other.md.j2"
    ),
    "half a page of a build that was killed": again,
    "white space around the passage": lambda a: a.edit("passage.md", "The lamp", "\n\n The lamp"),
    "line ends of the passage": lambda a: (a.root / "passage.md").write_bytes(
        (a.root / "passage.md").read_bytes().replace(b"\n", b"\r\n")
    ),
    "names of the corpus": lambda a: corpus(a, name="other", title="Other"),
    "a model's card": lambda a: (a.root / "tiny" / "README.md").write_text("# Tiny"),
    "how the model was trained": lambda a: (a.root / "tiny" / "training.json").write_text("{}"),
    "how the model writes": lambda a: (a.root / "tiny" / "generation_config.json").write_text(
        '{"temperature": 2}'
    ),
    "the folder the model is in": lambda a: a.options.update(
        model=str(shutil.copytree("tiny", a.root.parent / "elsewhere" / "tiny"))
    ),
    "all layers said in words": lambda a: a.options.update(layers="all"),
    "one layer at a time": lambda a: a.options.update(layer_by_layer=True),
    "a comment in measuring code": lambda a: code(a, KERNEL, "\n# A comment.\n"),
    "code of a figure": lambda a: code(a, "figures/parts/theme.py", "\nX = 1\n"),
    "a drawing library": lambda a: library(a, "altair"),
}


@pytest.mark.promise("changed-datasets")
@pytest.mark.parametrize("name", TRIGGERS)
def test_it_is_measured_again_and_why(asked, name):
    change, reason = TRIGGERS[name]
    assert asked.plan().state == "unchanged"
    before = measuring_key.version(name) if "{}" in reason else ""
    change(asked)
    found = asked.plan()
    assert found.state == "measure"
    assert reason.format(before) in found.reasons, found.reasons
    if name not in ("another kind of article",):
        assert len(found.reasons) == 1


CONDITIONS = """prompts: read.md
conditions:
  - {name: none, label: Nothing}
  - {name: filler, label: Slashes, before: question, text: "/"}
"""
TABLE = "table: rows.csv\ncolumns: [name, age]\n"
PREDICTION = "kind: prediction\nprompts:\n  - {text: Ann lit the, target: lamp}\n"
READ = {
    "a question": (CONDITIONS, ("read.md", "Who?", "Why?"), ["the prompts changed"]),
    "a condition": (
        CONDITIONS,
        (ARTICLE, 'text: "/"', 'text: "-"'),
        ["condition 'filler' changed"],
    ),
    "a label": (CONDITIONS, (ARTICLE, "Nothing", "None"), ["condition 'none' changed"]),
    "a seed": (CONDITIONS, (ARTICLE, "label: Slashes", "seed: 2"), ["condition 'filler' changed"]),
    "a cell": (TABLE, ("rows.csv", "Bob", "Eve"), ["the table changed"]),
    "the columns": (TABLE, (ARTICLE, "[name, age]", "[name]"), ["the table changed"]),
    "a prompt": (PREDICTION, (ARTICLE, "Ann lit", "Bob lit"), ["the prompts changed"]),
    "what a condition is called on pages": (
        CONDITIONS,
        (ARTICLE, "title:", "tags: [a]\ntitle:"),
        [],
    ),
    "a row that is not read": (TABLE + "rows: 2\n", ("rows.csv", "Cid,9", "Dan,9"), []),
}


@pytest.mark.parametrize("name", READ)
def test_what_other_kinds_of_article_read(tmp_path, name):
    keys, change, reasons = READ[name]
    asked = Asked(write_publication(tmp_path / "project"))
    asked.options = {}
    (asked.root / "read.md").write_text("---\nsystem: Answer.\n---\nWho?\nWhen?\n")
    (asked.root / "rows.csv").write_text("name,age\nAnn,3\nBob,5\nCid,9\n")
    asked.edit(ARTICLE, "title:", f"{keys}title:")

    def parts():
        wanted = asked.study().front_matter
        kind = folders.kind(wanted.kind)
        same = {"model_name": "tiny", "model": {}, "settings": {}, "code": {}, "libraries": {}}
        return same | kind.parts(kind.inputs(wanted))

    before = parts()
    asked.edit(*change)
    assert changes(before, parts()) == reasons


@pytest.mark.parametrize("name", NON_TRIGGERS)
def test_no_model_is_run(asked, monkeypatch, name):
    NON_TRIGGERS[name](asked)
    assert asked.plan().state == "unchanged"
    monkeypatch.setattr(alone, "load_source", None)  # may not be called
    [found] = run.datasets(asked.study(), asked.project, lambda *_: None)
    assert (found.state, found.reasons) == ("unchanged", [])


def test_what_is_to_be_measured_is_measured_and_then_not_again(asked):
    for name in ("words of the passage", "layers", "weights"):
        TRIGGERS[name][0](asked)
        [found] = run.datasets(asked.study(), asked.project, lambda *_: None)
        assert (found.state, found.reasons) == ("measured", [TRIGGERS[name][1]])
        assert asked.plan().state == "unchanged"
    [found] = run.datasets(asked.study(), asked.project, lambda *_: None, force=True)
    assert (found.state, found.reasons) == ("measured", ["asked for by --force"])


def test_of_the_first_layers_only_their_own_weights_count(asked):
    asked.options["layers"] = "0-1"
    run.datasets(asked.study(), asked.project, lambda *_: None)
    weights(asked, layer=2)
    assert asked.plan().state == "unchanged"
    weights(asked, layer=1)
    assert asked.plan().reasons == ["the weights of tiny changed"]


@pytest.mark.parametrize("alone", [False, True])
def test_every_file_of_an_adapter_and_its_model_count(falcon_folder, alone, tmp_path):
    folder = shutil.copytree(falcon_folder, tmp_path / "tiny")
    at = tmp_path / "tuned" if alone else folder

    def key(model):
        return measuring_key.key_of(measuring_key.determined_by(names.find(model), "passage", {}))

    def flip_last_byte(path):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)

    before = {key(folder)}
    add_adapter(at, {"A": torch.ones(2)}, base_model_name_or_path=str(folder))
    before.add(key(at))
    flip_last_byte(at / "adapter_model.safetensors")
    before.add(key(at))
    config = at / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"lora_alpha": 2}))
    before.add(key(at))
    flip_last_byte(folder / "model.safetensors")
    assert len(before | {key(at)}) == 5
    assert all(re.fullmatch(r"[0-9a-f]{12}", each) for each in before)
    stated = measuring_key.determined_by(names.find(at), "passage", {})["model"]
    (folder / "model.safetensors").unlink()
    assert measuring_key.known_model(names.find(at), None, stated) == stated


def test_the_library_of_chat_templates_counts_for_chats_alone(asked):
    def parts(chat):
        asked.options["chat"] = chat
        return asked.plan().parts

    before = {chat: parts(chat) for chat in (False, True)}
    library(asked, "jinja2")
    assert {chat: parts(chat) != before[chat] for chat in before} == {False: False, True: True}


def test_a_library_that_is_not_there_has_no_version():
    assert measuring_key.version("no-such-library-anywhere") == "not installed"
    assert re.match(r"\d+\.", measuring_key.version("numpy"))
