"""From the hub comes what is needed and nothing else, once, at one commit; else one sentence."""

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file

from report.errors import ReportError
from report.models.attention.running import Run
from report.models.find import hub, names
from report.models.find.adapters import adapter_sha256
from report.models.find.weights import INDEX, SINGLE, first_layers
from report.models.load.load import load_model
from tests.models.checkpoints import add_adapter, refused
from tests.models.hub_server import TOKEN, Repository, hub_in_place
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

COMMIT, NEWER = "0123456789abcdef" * 2 + "01234567", "f" * 40
NAME = "someone/tiny-falcon"


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    """The tiny Falcon with about one layer in a file, and files that nobody needs."""
    folder = tmp_path_factory.mktemp("hub") / "split"
    random_falcon().save_pretrained(folder, max_shard_size="50KB")
    byte_level_tokenizer().save_pretrained(folder)
    (folder / "README.md").write_text("# Tiny")
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    (folder / "original").mkdir()
    (folder / "original" / "tokenizer.model").write_bytes(b"old")
    return folder


@pytest.fixture
def server(split, tmp_path, monkeypatch):
    """The stand-in with the tiny Falcon, in the place of the hub; an empty cache."""
    with hub_in_place(monkeypatch, tmp_path / "home") as server:
        server.repositories[NAME] = Repository({COMMIT: split}, {"main": COMMIT})
        yield server


def index_of(folder):
    return json.loads((folder / INDEX).read_text())["weight_map"]


def test_only_the_files_with_wanted_tensors_come_and_are_announced_first(server, split):
    said = []
    announced_at = []

    def announce(text):
        said.append(text)
        announced_at.append(len(server.asked("GET", "/storage/")))

    folder = hub.fetch_weights(NAME, COMMIT, partial(first_layers, count=1), announce=announce)
    index = index_of(split)
    wanted = first_layers(index, 1)
    files = sorted({index[name] for name in wanted})
    assert 0 < len(files) < len(set(index.values()))
    settings = ["config.json", INDEX, "tokenizer.json", "tokenizer_config.json"]
    assert server.downloaded() == sorted(settings + files)
    assert sorted(path.name for path in folder.iterdir()) == sorted(settings + files)
    kept = index_of(folder)
    assert set(wanted) <= set(kept)
    assert set(kept.values()) == set(files)
    assert announced_at == [0]
    size = sum((split / name).stat().st_size for name in files)
    assert (
        f"(weights: {len(files)} of {len(set(index.values()))} files, {size / 1e6:.1f} MB)"
        in (said[0])
    )
    assert COMMIT[:7] in said[0]


def test_the_second_time_nothing_is_asked(server):
    first = hub.fetch_weights(NAME, COMMIT, partial(first_layers, count=1), announce=str)
    server.requests.clear()
    said = []
    again = hub.fetch_weights(NAME, COMMIT, partial(first_layers, count=1), announce=said.append)
    assert (again, server.requests, said) == (first, [], [])


def test_more_layers_later_bring_only_what_is_lacking(server, split):
    few = hub.fetch_weights(NAME, COMMIT, partial(first_layers, count=1), announce=str)
    server.requests.clear()
    said = []
    everything = hub.fetch_weights(NAME, COMMIT, announce=said.append)
    index = index_of(split)
    assert everything != few
    assert server.downloaded() == sorted(set(index.values()) - set(index_of(few).values()))
    assert index_of(everything) == index
    assert f"({len(set(index.values()))} of" not in said[0]
    assert index_of(few) != index  # the folder of the few still says what it has


def test_first_layers_from_the_hub_are_those_of_the_whole_model(server, falcon_folder):
    said = []
    loaded = load_model(f"{NAME}@{COMMIT}", layers=1, announce=said.append)
    assert len(said) == 1
    facts = loaded.identity
    assert (facts["name"], facts["revision"], facts["source"]) == (NAME, COMMIT, "hub")
    index = index_of(server.repositories[NAME].commits[COMMIT])
    assert len(server.asked("GET", "/storage/")) < len(set(index.values()))
    whole = load_model(falcon_folder)
    whole.identity["layers_measured"] = 1
    runs = [Run([0, *range(5, 40)])]
    assert torch.equal(loaded.run(runs)[0], whole.run(runs)[0])


def test_a_model_in_one_file_comes_whole(server, falcon_folder):
    server.repositories["someone/single"] = Repository({COMMIT: falcon_folder}, {"main": COMMIT})
    said = []
    folder = hub.fetch_weights(
        "someone/single", COMMIT, partial(first_layers, count=1), announce=said.append
    )
    assert "(weights: 1 of 1 files" in said[0]
    assert hub.cached_commit("someone/single", COMMIT, layers=1) == COMMIT
    original = load_file(falcon_folder / SINGLE)
    assert all(torch.equal(original[k], v) for k, v in load_file(folder / SINGLE).items())


@pytest.mark.promise("pickles")
@pytest.mark.parametrize(
    ("authors", "said"),
    [
        (["somebody"], "convert them to safetensors in a local folder"),
        (["somebody", hub.CONVERTER], "converter offers safetensors: someone/old@refs/pr/2"),
    ],
)
def test_weights_only_in_pickle_are_refused_before_anything_is_downloaded(
    server, split, tmp_path, authors, said
):
    pickled = shutil.copytree(split, tmp_path / "pickled")
    for path in pickled.glob("model*"):
        path.unlink()
    repository = Repository({COMMIT: pickled}, {"main": COMMIT}, pull_requests=authors)
    server.repositories["someone/old"] = repository
    with pytest.raises(ReportError) as refused:
        hub.fetch_weights("someone/old", COMMIT)
    assert str(refused.value).startswith(
        "'someone/old' on the hub has weights only as pickle (pytorch_model.bin), which can run"
    )
    assert str(refused.value).endswith(said)
    assert server.downloaded() == []


def test_a_gated_model_says_what_to_do_and_comes_once_logged_in(server, tmp_path):
    server.repositories[NAME].gated = True
    said = (
        rf"'{NAME}' is gated: accept its licence on https://huggingface\.co/{NAME}, log in with "
        "`hf auth login`, and run the command again; or give a local folder"
    )
    with pytest.raises(ReportError, match=said):
        hub.fetch_settings(NAME, COMMIT)
    assert server.downloaded() == []
    (tmp_path / "home" / "token").write_text(TOKEN)
    assert (hub.fetch_settings(NAME, COMMIT) / "config.json").is_file()


@pytest.mark.parametrize(
    ("name", "revision", "failing", "sentence"),
    [
        ("openai-comunity/gpt-2", "main", None, "no such folder here.*Did you mean openai-comm"),
        (NAME, "maim", None, f"'{NAME}' on the hub has no revision 'maim'"),
        (NAME, "main", 500, f"the hub answered 500 for '{NAME}'; try again"),
        (NAME, "main", 429, f"the hub answered 429 for '{NAME}'; try again"),
        (NAME, "main", 403, rf"the hub refuses '{NAME}' \(403\): log in"),
    ],
)
def test_what_the_hub_refuses_is_one_sentence(server, name, revision, failing, sentence):
    server.failing = failing
    with pytest.raises(ReportError, match=sentence):
        hub.resolve(name, revision)


def test_a_damaged_record_of_a_models_files_is_written_anew(server):
    sizes = hub.files(NAME, COMMIT)
    (record,) = Path(constants.HF_HOME).rglob("files.json")
    for content in (b"", b"null", b"[]", b'{"x":', b"\xff", b'{"config.json": "a"}'):
        record.write_bytes(content)
        assert hub.files(NAME, COMMIT) == sizes
        assert json.loads(record.read_bytes()) == sizes


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HTTP_PROXY", "foo://ann:secret@127.0.0.1:1"),
        ("HF_TOKEN", "secretä"),
        ("HF_HUB_DOWNLOAD_TIMEOUT", "abc"),
    ],
)
def test_an_environment_that_the_hubs_library_cannot_use_is_no_defect(variable, value, tmp_path):
    """As a process of its own, since libraries read the environment once."""
    given = {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:1", variable: value}
    for no in ("NO_PROXY", "no_proxy", "HF_HUB_OFFLINE"):
        given[no] = ""
    run = """
from report import __main__
from report.models.find import names
__main__.main(lambda: names.find("someone/model"))
"""
    done = subprocess.run(
        [sys.executable, "-c", run], env=os.environ | given, capture_output=True, text=True
    )
    (said,) = done.stderr.strip().splitlines()
    assert done.returncode == 1 and variable in said
    assert "cannot be asked as this machine is set up" in said
    assert "defect" not in said and "secret" not in said


def test_a_hub_out_of_reach_says_so_and_what_is_here_is_used(server, monkeypatch):
    hub.fetch_settings(NAME, COMMIT)
    nowhere = "http://127.0.0.1:9"
    monkeypatch.setattr(constants, "ENDPOINT", nowhere)
    template = nowhere + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    assert (hub.fetch_settings(NAME, COMMIT) / "config.json").is_file()
    for ask in (lambda: hub.fetch_weights(NAME, NEWER, announce=str), lambda: hub.resolve(NAME)):
        with pytest.raises(ReportError, match=f"is not on this machine, and {nowhere} cannot"):
            ask()


def test_what_other_tools_have_fetched_is_used_offline(server, monkeypatch):
    for name in server.repositories[NAME].commits[COMMIT].iterdir():
        if name.is_file():
            hub.hf_hub_download(NAME, name.name, revision="main")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    server.requests.clear()
    assert names.find_first(f"{NAME} or falcon-8x8").revision == COMMIT
    assert hub.resolve(NAME) == COMMIT
    assert load_model(NAME, announce=str).identity["revision"] == COMMIT
    assert server.requests == []
    with pytest.raises(ReportError, match="HF_HUB_OFFLINE forbids asking the hub; unset it"):
        hub.resolve("someone/else")


def test_a_full_disk_while_downloading(server, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(hub, "hf_hub_download", full)
    with pytest.raises(ReportError, match=f"cannot store '{NAME}' in .*: No space left on device"):
        hub.fetch_settings(NAME, COMMIT)


def test_a_cache_that_was_emptied_is_filled_again(server, tmp_path):
    folder = hub.fetch_weights(NAME, COMMIT, announce=str)
    shutil.rmtree(tmp_path / "home" / "hub")
    assert hub.fetch_weights(NAME, COMMIT, announce=str) == folder
    assert (folder / "config.json").is_file()


def test_a_model_is_in_the_cache_once_the_files_of_the_wanted_layers_are(server, split):
    assert hub.cached_commit(NAME, layers=1) is None
    hub.fetch_settings(NAME, COMMIT)
    assert hub.cached_commit(NAME, COMMIT, layers=1) is None, "no weights yet"
    hub.fetch_weights(NAME, COMMIT, partial(first_layers, count=1), announce=str)
    server.requests.clear()
    assert hub.cached_commit(NAME, COMMIT, layers=1) == COMMIT
    assert hub.cached_commit(NAME, COMMIT) is None
    assert hub.cached_commit(NAME, COMMIT, layers=3) is None
    assert hub.cached_commit(NAME, layers=1) is None, "nobody has asked which commit main is"
    assert server.requests == []
    hub.fetch_weights(NAME, COMMIT, announce=str)
    assert hub.cached_commit(NAME, COMMIT) == COMMIT


def test_alternatives_are_measured_from_the_cache_and_never_downloaded(server):
    assert names.find_first(f"{NAME} or falcon-8x8").name == "falcon-8x8"
    assert names.find_first(f"{NAME}@{COMMIT} or falcon-8x8", layers=1).name == "falcon-8x8"
    assert server.requests == []
    hub.fetch_weights(NAME, COMMIT, partial(first_layers, count=1), announce=str)
    server.requests.clear()
    found = names.find_first(f"{NAME}@{COMMIT} or falcon-8x8", layers=1)
    assert (found.name, found.revision) == (NAME, COMMIT)
    assert names.find_first(f"{NAME}@{COMMIT} or falcon-8x8", layers=2).name == "falcon-8x8"
    assert server.requests == []
    assert load_model(found, layers=1, announce=str).measured_layers == 1
    assert server.downloaded() == []


@pytest.mark.promise("remote-code")
def test_code_comes_only_with_a_model_that_is_trusted(server, split, tmp_path):
    with_code = shutil.copytree(split, tmp_path / "with-code")
    (with_code / "modeling_own.py").write_text("")
    server.repositories["someone/own"] = Repository({COMMIT: with_code}, {"main": COMMIT})
    assert not (hub.fetch_settings("someone/own", COMMIT) / "modeling_own.py").exists()
    assert (hub.fetch_settings("someone/own", COMMIT, code=True) / "modeling_own.py").is_file()


def test_an_adapter_comes_with_the_weights_that_it_lies_beside(server, split, tmp_path):
    both, alone = shutil.copytree(split, tmp_path / "both"), tmp_path / "alone"
    for folder in (both, alone):
        add_adapter(folder, {"score.lora_A.weight": torch.ones(2, 2)})
        server.repositories[f"someone/{folder.name}"] = Repository({COMMIT: folder}, {})
    fetched = hub.fetch_weights(
        "someone/both", COMMIT, partial(first_layers, count=1), announce=str
    )
    assert adapter_sha256(fetched) == adapter_sha256(both)
    refused(f"someone/both@{COMMIT}", "adapter that is not merged.*score", layers=1, announce=str)
    refused(f"someone/alone@{COMMIT}", "someone/alone.*give a folder", announce=str)


def test_an_adapter_finds_its_model_on_the_hub_and_in_the_cache(server, split, tmp_path):
    stated = {"base_model_name_or_path": NAME, "target_modules": ["dense"]}
    first = "transformer.h.0.self_attention.dense.lora_"
    factors = {f"{first}A.weight": torch.ones(2, 32), f"{first}B.weight": torch.ones(32, 2)}
    add_adapter(tmp_path / "it", factors, layers_to_transform=0, **stated)
    commits, said = tmp_path / names.COMMITS, []
    assert names.find_first(f"{tmp_path / 'it'} or falcon-8x8").name == "falcon-8x8"
    source = names.find(tmp_path / "it", commits)
    assert (source.model.name, source.model.revision) == (NAME, COMMIT)
    facts = load_model(source, announce=said.append).identity
    assert "downloading" in said[0]
    assert (facts["adapter"]["base"], facts["name"]) == (f"{NAME}@{COMMIT}", "it")
    server.requests.clear()
    assert names.find_first(f"{tmp_path / 'it'} or falcon-8x8", commits, ask=False) == source
    assert server.requests == []


def test_the_lock_file_pins_the_commit_of_the_first_time(server, tmp_path):
    commits = tmp_path / names.COMMITS
    assert names.find(NAME, commits).revision == COMMIT
    assert json.loads(commits.read_text()) == {NAME: COMMIT}
    server.repositories[NAME].commits[NEWER] = server.repositories[NAME].commits[COMMIT]
    server.repositories[NAME].branches["main"] = NEWER
    server.requests.clear()
    assert names.find(NAME, commits).revision == COMMIT
    assert server.requests == []
    assert names.find(f"{NAME}@main", commits).revision == NEWER
    assert names.find(f"{NAME}@{'a' * 40}", commits).revision == "a" * 40
    assert json.loads(commits.read_text()) == {NAME: COMMIT, f"{NAME}@main": NEWER}
