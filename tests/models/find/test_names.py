"""What a name stands for, and what is said of one that stands for nothing."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from report.errors import ReportError
from report.models.find import hub, known, names
from report.models.find.known import number_of_layers
from tests.commands import ROOT

COMMIT = "a" * 40


@pytest.fixture(autouse=True)
def no_hub(monkeypatch):
    """Any question to the hub fails the test that did not expect one."""

    def asked(repository, revision="main"):
        raise AssertionError(f"the hub was asked for {repository} at {revision}")

    monkeypatch.setattr(hub, "resolve", asked)


def test_an_embedded_model_is_found_by_its_name_and_by_nothing_like_it():
    (name, *_) = known.embedded_models()
    source = names.find(name)
    assert (source.name, source.origin, source.revision) == (name, "embedded", None)
    assert source.folder == known.EMBEDDED / name
    assert source.command_name == name


def test_of_alternatives_an_embedded_model_or_a_folder_goes_before_what_is_not_here(
    falcon_folder, monkeypatch
):
    monkeypatch.setattr(hub, "cached_commit", lambda *_: None)
    (embedded, *_) = known.embedded_models()
    assert names.find_first(f"someone/large or {embedded}") == names.find(embedded)
    assert names.find_first(f"a/b or c/d  or  {falcon_folder} or {embedded}").origin == "folder"
    assert names.find_first(f"{embedded} or someone/large").name == embedded
    assert names.find_first(embedded) == names.find(embedded)


def test_a_model_in_the_cache_goes_before_those_after_it(tmp_path, monkeypatch):
    asked = []

    def cached(*arguments):
        asked.append(arguments)
        return COMMIT if arguments[0] == "someone/large" else None

    monkeypatch.setattr(hub, "cached_commit", cached)
    commits = tmp_path / names.COMMITS
    commits.write_text(json.dumps({"someone/large": "b" * 40}))
    source = names.find_first("a/b@v1 or someone/large or falcon-8x8", commits, 4)
    assert (source.name, source.origin, source.revision) == ("someone/large", "hub", COMMIT)
    assert asked == [("a/b", "v1", 4), ("someone/large", "b" * 40, 4)]
    assert json.loads(commits.read_text()) == {"someone/large": "b" * 40}, "nothing was resolved"


@pytest.mark.parametrize(("layers", "needed"), [(None, 4), (2, 2), ("all", None)])
def test_the_layers_that_a_preset_says_are_enough(monkeypatch, layers, needed):
    asked = []
    monkeypatch.setattr(hub, "cached_commit", lambda *arguments: asked.append(arguments))
    names.find_first("meta-llama/Llama-3.1-8B-Instruct or falcon-8x8", layers=layers)
    assert asked == [("meta-llama/Llama-3.1-8B-Instruct", "main", needed)]


def test_a_folder_is_called_by_its_own_name(falcon_folder, tmp_path, monkeypatch):
    copy = shutil.copytree(falcon_folder, tmp_path / "openai-community" / "gpt2")
    monkeypatch.chdir(tmp_path)
    assert names.find("openai-community/gpt2").origin == "folder", "it goes before the hub"
    monkeypatch.chdir(copy)
    for name in (copy, str(copy), "."):
        source = names.find(name)
        assert (source.name, source.origin, source.folder) == ("gpt2", "folder", copy)
    assert source.command_name == "gpt2"


def test_a_commit_in_the_name_needs_no_hub():
    source = names.find(f"openai-community/gpt2@{COMMIT}")
    assert (source.name, source.origin, source.folder) == ("openai-community/gpt2", "hub", None)
    assert source.revision == COMMIT
    assert source.command_name == f"openai-community/gpt2@{COMMIT}"


def test_the_lock_keeps_what_it_had_in_order_and_is_as_before_when_the_hub_fails(
    tmp_path, monkeypatch
):
    commits = tmp_path / names.COMMITS
    commits.write_text(json.dumps({"z/z": COMMIT}))
    with pytest.raises(AssertionError):
        names.find("a/a", commits)
    assert json.loads(commits.read_text()) == {"z/z": COMMIT}
    monkeypatch.setattr(hub, "resolve", lambda *_: "b" * 40)
    names.find("a/a", commits)
    assert commits.read_text() == json.dumps({"a/a": "b" * 40, "z/z": COMMIT}, indent=2) + "\n"


@pytest.mark.parametrize("text", ["{", "[]", '{"a/b": "main"}', '{"a/b": 3}', "\xff"])
def test_a_lock_file_that_is_none_is_refused(tmp_path, text):
    commits = tmp_path / names.COMMITS
    commits.write_text(text, "latin-1")
    with pytest.raises(
        ReportError, match=r"models\.lock\.json is not a list of models and commits"
    ):
        names.find("someone/tiny", commits)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gpt2", "unknown model 'gpt2': neither an embedded model .*mean.*openai-community/gpt2"),
        ("falcon-rw1b", "Did you mean.*tiiuae/falcon-rw-1b"),
        ("falcon8x8", "Did you mean.*falcon-8x8"),
        ("Pythia-410M", "Did you mean.*EleutherAI/pythia-410m"),
        *((name, "unknown model") for name in ("zzzz", "a/b/c", "../tiny", "a b/c", "@main")),
        ("a/b or nothing", "unknown model 'nothing'"),
        ("", r"has no config\.json; give the folder of a checkpoint"),
        ("ggufs", r"has no config\.json, it holds GGUF files.*: it\.gguf"),
        ("none.gguf", "there is no file 'none.gguf'"),
        ("falcon-8x8@..", "has no revision '..'.*; it has: none"),
    ],
)
def test_what_stands_for_nothing_is_refused_without_asking_the_hub(
    name, sentence, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "cached_commit", lambda *_: None)
    (tmp_path / "ggufs").mkdir()
    (tmp_path / "ggufs" / "it.gguf").touch()
    with pytest.raises(ReportError, match=sentence):
        names.find_first(name)


def test_a_model_on_the_hub_is_no_folder():
    with pytest.raises(ReportError, match="is on the hub; give an embedded model or a local"):
        names.model_folder(f"a/b@{COMMIT}")


def adapter_of(base, folder):
    """A folder with an adapter alone, as far as finding its model takes it."""
    folder.mkdir(parents=True)
    stated = {"base_model_name_or_path": str(base)}
    (folder / "adapter_config.json").write_text(json.dumps(stated))
    return folder


@pytest.mark.parametrize("base", ["falcon-8x8", "it", "./it", "{}/it", "/elsewhere/it", "../x/it"])
def test_an_adapter_alone_is_found_with_its_model(base, tmp_path, monkeypatch, falcon_folder):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(falcon_folder, tmp_path / "x" / "it")
    folder = adapter_of(base.format(tmp_path / "x"), tmp_path / "x" / "tuned")
    assert names.is_here(folder)
    source = names.find_first(f"{folder} or falcon-8x8")
    assert (source.name, source.origin, source.folder) == ("tuned", "folder", folder.resolve())
    assert (source.model.name, source.model.base) == (Path(base).name, None)
    assert source.command_name == "tuned"


@pytest.mark.parametrize(
    ("base", "named"),
    [
        ("a b", "holds an adapter of 'a b', which is not found: unknown model"),
        ("other", "holds an adapter of 'other', which is an adapter itself"),
        ("tuned", "holds an adapter of 'tuned', which is an adapter itself"),
        ("", "names no model"),
    ],
)
def test_an_adapter_whose_model_is_not_found_is_refused(base, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    adapter_of("falcon-8x8", tmp_path / "other")
    folder = adapter_of(base, tmp_path / "tuned")
    assert not names.is_here(folder)
    with pytest.raises(ReportError, match=named):
        names.find(folder)


def test_every_preset_is_an_id_or_in_a_package_with_layers_that_can_be_read():
    assert set(known.presets()) >= {
        "tiiuae/falcon-rw-1b",
        "bigscience/bloom-560m",
        "openai-community/gpt2",
        "EleutherAI/pythia-410m",
        "meta-llama/Llama-3.1-8B-Instruct",
        "Qwen/Qwen2.5-Math-7B",
        "google/gemma-3-4b-it",
    }
    for name, preset in known.presets().items():
        assert bool(names.HUB_ID.fullmatch(name)) == (preset.package is None)
        assert bool(preset.package) == bool(preset.file) == bool(preset.made)
        assert preset.title
        assert preset.licence
        assert preset.layers is None or number_of_layers(preset.layers) > 0
    licence = "Llama 3.1 8B Instruct (Llama 3.1 Community License, to be accepted on its page)"
    gated = known.presets()["meta-llama/Llama-3.1-8B-Instruct"]
    assert known.about(gated, 3).startswith(licence)


def test_names_are_found_without_torch_and_without_the_hub_s_library(tmp_path):
    (tmp_path / names.COMMITS).write_text(json.dumps({"someone/tiny": COMMIT}))
    hidden = "torch", "transformers", "huggingface_hub", "safetensors"
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({hidden!r})); "
        "from report.models.find.names import find; "
        f"print(find('someone/tiny', {str(tmp_path / names.COMMITS)!r}).revision); find('a/b')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == COMMIT
    assert "asking the hub for a/b needs the package 'huggingface_hub'" in done.stderr
