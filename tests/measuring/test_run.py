"""From front matter to datasets: measured once, again when something changed, never by halves."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from report import files
from report.errors import ReportError
from report.inputs.passages import passage
from report.kinds.passage import measure as passage_kind
from report.kinds.passage.data import PassageData
from report.measuring import alone, run
from report.measuring.command import command as command_of
from report.measuring.settings import measuring_settings
from report.models.find import known as known_models
from report.models.find import names
from report.models.load import identity, load
from report.project import project as project_in
from report.study.study import read_study
from tests.commands import ROOT, contents, without_date
from tests.models.hub_server import Repository, hub_in_place
from tests.site import tiny_models
from tests.small import CORPUS, write_publication

PASSAGE = "--passage path/to/passage.md"
WITHOUT_TORCH = """
import sys
hidden = ("torch", "transformers", "safetensors", "tokenizers", "huggingface_hub")
sys.modules.update(dict.fromkeys(hidden))
from report.measuring import run
from report.kinds.passage import measure as passage
from report.project import project
from report.study.study import read_study
from tests.small import CORPUS
places = PLACES
passage.corpus = lambda: CORPUS
study = read_study(places["article"], model="someone/tiny", passage=places["passage"])
print(run.datasets(study, project(places["root"]), print)[0].ran)
"""
"""Asks for the datasets of an article where nothing that measures is installed."""

COMMIT = "c0ffee" * 6 + "c0de"


pytestmark = pytest.mark.usefixtures("short_corpus")


@pytest.fixture
def project(tmp_path):
    return project_in(write_publication(tmp_path / "project"))


@pytest.fixture
def asked(project, falcon_folder):
    """A function that gives the small article with some keys of its front matter replaced."""

    def asked(**keys):
        usual = {"model": str(falcon_folder), "passage": str(project.root / "passage.md")}
        return read_study(project.articles / "small.md.j2", **usual | keys)

    return asked


@pytest.fixture
def study(asked):
    return asked()


@pytest.fixture
def datasets(study, project):
    """Calls `measuring.datasets` for the small article; says what was measured."""

    def datasets(study=study, **options):
        steps = []
        [found] = run.datasets(study, project, lambda *s: steps.append(s), **options)
        return found.folder, found.ran, steps

    return datasets


def change_passage(study):
    path = study.template.parents[2] / "passage.md"
    path.write_text(path.read_text() + "And that was that.\n")


def test_the_first_call_measures_and_the_second_reads(datasets, monkeypatch):
    folder, ran, steps = datasets()
    assert ran
    assert folder.parent.name == "small"
    measured = [(done, total) for what, done, total in steps if what == "Measuring"]
    assert measured == [(0, 3), (1, 3), (2, 3), (3, 3)]  # the passage and two texts
    assert {what: n == total for what, n, total in steps} == {"Measuring": True, "Writing": True}
    monkeypatch.setattr(alone, "load_source", None)  # may not be called
    assert datasets() == (folder, False, [])


def test_the_manifest_says_where_the_numbers_are_from(datasets, study, falcon_folder):
    folder, _, _ = datasets()
    manifest = PassageData(folder).manifest
    assert manifest["key"] == folder.name
    assert manifest["model"]["name"] == falcon_folder.name
    assert manifest["model"]["weights_sha256"] == files.sha256(falcon_folder / "model.safetensors")
    assert manifest["passage"] == {"name": "passage", "tokens": PassageData(folder).length}
    assert (manifest["corpus"]["texts"], manifest["corpus"]["left_out"]) == (2, 0)
    assert manifest["self_check"]["layers_called"] == manifest["model"]["num_hidden_layers"] == 3
    assert manifest["model"]["capabilities"]["terms"] == ["content", "bias", "position"]
    command = (
        f"python -m report measure --study small --model path/to/{falcon_folder.name} {PASSAGE}"
    )
    assert manifest["command"] == command
    assert str(falcon_folder.parent) not in json.dumps(manifest)
    written = {name for name in contents(folder) if name != "manifest.json"}
    assert manifest["files"].keys() == written
    measures = {name for name in written if name.startswith("heads/")}
    assert measures
    # tokens, and of each layer its updates, and its heads with their keys
    assert len(written - measures) == 1 + 3 * (1 + 4 + 4)
    for name, facts in manifest["files"].items():
        assert facts["sha256"] == files.sha256(folder / name)
        assert facts["bytes"] == (folder / name).stat().st_size


@pytest.mark.parametrize("layer_by_layer", [False, True])
def test_forced_measurements_are_equal_byte_for_byte(datasets, asked, layer_by_layer):
    first, _, _ = datasets()
    before, said = contents(first), []
    study = asked(layer_by_layer=layer_by_layer)
    again, ran, _ = datasets(study, force=True, announce=said.append)
    assert (again, ran) == (first, True)
    assert ("one layer in memory at a time" in said[0]) == layer_by_layer
    assert without_date(contents(again)) == without_date(before)


def test_a_change_measures_again_and_only_the_newest_datasets_stay(datasets, study):
    first, _, _ = datasets()
    other = shutil.copytree(first, first.parents[1] / "another-article" / first.name)
    left = shutil.copytree(first, first.with_name(f".{first.name}.0123abcd.report.tmp"))
    change_passage(study)
    second, ran, _ = datasets()
    assert ran
    assert second != first
    assert list(second.parent.iterdir()) == [second]
    assert not left.exists()
    assert other.exists()  # of another article


def test_what_a_killed_build_left_goes_although_nothing_is_measured(datasets):
    folder, _, _ = datasets()
    left = shutil.copytree(folder, folder.with_name(".0123456789ab.0123abcd.report.tmp"))
    assert datasets()[1] is False
    assert not left.exists()


def test_an_error_while_writing_keeps_the_old_datasets_and_leaves_nothing(
    datasets, study, monkeypatch
):
    folder, _, _ = datasets()
    before = contents(folder.parent)
    change_passage(study)

    def fail(target, *_):
        (target.path / "half").write_text("x")
        raise ReportError("a number is not finite")

    monkeypatch.setattr(passage_kind, "write", fail)
    with pytest.raises(ReportError, match="not finite"):
        datasets()
    assert contents(folder.parent) == before


def test_how_a_model_is_measured_is_done_and_recorded(datasets, asked):
    study = asked(layers="0-1", dtype="bfloat16", device="cpu", alibi_factor=2.0)
    folder, _, _ = datasets(study)
    manifest = PassageData(folder).manifest
    assert manifest["model"]["layers_measured"] == 2
    assert manifest["model"]["dtype"] == "bfloat16"
    assert manifest["model"]["alibi_factor"] == 2
    assert manifest["self_check"]["layers_called"] == 2
    assert manifest["command"].endswith(
        f"{PASSAGE} --layers 0-1 --dtype bfloat16 --device cpu --alibi-factor 2.0"
    )
    assert sorted(path.name for path in (folder / "attention").iterdir()) == ["0", "1"]


def test_the_same_layers_said_otherwise_are_not_measured_again(datasets, asked):
    said = []
    folder, ran, _ = datasets(asked(layers="0-1"), announce=said.append)
    assert ran
    planned, total = re.fullmatch(
        r"Reading ([\d.]+) of ([\d.]+) MB of weights: 2 layers\.", said[0]
    ).groups()
    assert 0 < float(planned) < float(total)
    assert datasets(asked(layers="2")) == (folder, False, [])
    assert datasets(asked(layers="2", layer_by_layer=True)) == (folder, False, [])


@pytest.mark.parametrize(
    ("asked_for", "preset", "layers", "command"),
    [
        (None, None, None, ""),
        ("all", None, None, ""),
        (None, "0-3", 4, " --layers 0-3"),
        ("1", "0-3", 1, " --layers 0-0"),
        ("all", "0-3", None, " --layers all"),
    ],
)
def test_a_preset_says_the_layers_unless_the_article_does(
    asked, monkeypatch, asked_for, preset, layers, command
):
    known = {"a/b": known_models.Preset("B", "MIT", layers=preset)} if preset else {}
    monkeypatch.setattr(known_models, "presets", lambda: known)
    source = names.Source("a/b", "hub", revision=COMMIT)
    study = asked(layers=asked_for)
    settings = measuring_settings(study.front_matter, source)
    assert settings["layers"] == layers
    said = command_of(study, source, ["--passage", "the-lamp"], settings)
    wanted = f"python -m report measure --study small --model a/b@{COMMIT} --passage the-lamp"
    assert said == wanted + command


def test_a_command_runs_in_a_folder_that_its_paths_lead_from(
    datasets, asked, project, falcon_folder, tmp_path, monkeypatch
):
    """What is printed of a folder and a file finds them again, with path/to where they are."""
    odd = shutil.copy(project.root / "passage.md", project.root / "My Text.TXT")
    folder, _, _ = datasets(asked(passage=str(odd)))
    words = shlex.split(PassageData(folder).manifest["command"])
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "to").symlink_to(falcon_folder.parent)
    monkeypatch.chdir(tmp_path)
    model = words[words.index("--model") + 1]
    assert names.find(model).folder == falcon_folder.resolve()
    (tmp_path / "path" / "to").unlink()
    (tmp_path / "path" / "to").symlink_to(project.root)
    text = passage(words[words.index("--passage") + 1])
    assert text.name == "My Text"


@pytest.fixture
def hub(monkeypatch, tmp_path, falcon_folder):
    with hub_in_place(monkeypatch, tmp_path / "home") as hub:
        hub.repositories["someone/tiny"] = Repository({COMMIT: falcon_folder}, {"main": COMMIT})
        yield hub


def test_a_model_from_the_hub_is_recorded_and_then_needs_neither_network_nor_torch(
    hub, datasets, asked, project
):
    said = []
    study = asked(model="someone/tiny")
    folder, ran, _ = datasets(study, announce=said.append)
    assert ran
    assert sum("downloading" in each for each in said) == 1
    assert json.loads((project.root / "models.lock.json").read_text()) == {"someone/tiny": COMMIT}
    manifest = PassageData(folder).manifest
    assert (manifest["model"]["name"], manifest["model"]["source"]) == ("someone/tiny", "hub")
    assert manifest["model"]["revision"] == COMMIT
    assert f"--model someone/tiny@{COMMIT} " in manifest["command"]
    hub.requests.clear()
    assert datasets(study) == (folder, False, [])
    assert hub.requests == []
    places = {"article": study.template, "passage": study.front_matter.passage}
    places = {name: str(place) for name, place in places.items()} | {"root": str(project.root)}
    code = WITHOUT_TORCH.replace("PLACES", repr(places))
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_a_preset_is_introduced_before_it_is_measured(hub, datasets, asked, monkeypatch):
    known = known_models.Preset("Tiny", "MIT", gated=True, layers="0-1", chat=True)
    monkeypatch.setattr(known_models, "presets", lambda: {"someone/tiny": known})
    said = []
    folder, _, _ = datasets(asked(model="someone/tiny"), announce=said.append)
    assert said[0] == (
        "Tiny (MIT, to be accepted on its page): its first 2 layers (--layers all for all) will be "
        "measured; --chat puts the passage into its chat template"
    )
    assert said[1].startswith("someone/tiny at c0ffeec: downloading ")
    assert PassageData(folder).manifest["model"]["layers_measured"] == 2


def test_memory_that_runs_out_while_measuring_says_what_to_reduce(datasets, monkeypatch):
    from report.models.measure import passage as measure

    def fail(*_, **__):
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(measure, "measure_batch", fail)
    with pytest.raises(ReportError, match=r"out of memory while measuring \d+ tokens: take"):
        datasets()


def test_a_chat_is_measured_with_the_model_s_own_marks(datasets, asked, tmp_path, falcon_folder):
    chatty = shutil.copytree(falcon_folder, tmp_path / "chatty")
    template = "{% for message in messages %}[{{ message.content | trim }}]{% endfor %}"
    (chatty / "chat_template.jinja").write_text(template)
    folder, _, _ = datasets(asked(model=str(chatty), chat=True))
    text = "".join(token.text for token in PassageData(folder).tokens)
    assert (text[0], text[-1]) == ("[", "]")
    assert PassageData(folder).manifest["command"].endswith(" --chat")
    assert datasets(asked(model=str(chatty)))[1]


def test_texts_of_the_corpus_that_are_too_long_for_the_model_are_left_out_and_counted(
    datasets, monkeypatch
):
    monkeypatch.setattr(identity, "context", lambda model: 512)
    longer = replace(CORPUS[0], text=CORPUS[0].text * 200)
    monkeypatch.setattr(passage_kind, "corpus", lambda: (*CORPUS, longer))
    folder, _, _ = datasets()
    found = PassageData(folder).manifest["corpus"]
    assert (found["texts"], found["left_out"]) == (2, 1)
    monkeypatch.setattr(passage_kind, "corpus", lambda: (longer,))
    with pytest.raises(ReportError, match="every text of the corpus is longer than the model"):
        datasets()


TOO_LONG = {
    "a pair": "pair: {clean: 'TEXT a', corrupted: 'TEXT b', answer: ' a', other: ' b'}",
    "a passage": "passage: passage.md",
    "a text": "kind: prediction\nprompts:\n  - {text: 'TEXT', target: ' a', other: ' b'}",
    "a table": "table: rows.csv",
    "prompts": "prompts: arithmetic\nconditions:\n  - {name: a}\n  - {name: b, before: question, "
    "text: /, times: 9}",
}


@pytest.mark.parametrize("keys", TOO_LONG.values(), ids=list(TOO_LONG))
def test_a_text_that_one_model_cannot_take_is_named_before_any_runs(project, monkeypatch, keys):
    small = tiny_models.save("gpt2", project.root / "small", context=12)
    large = tiny_models.save("gpt2", project.root / "large")
    text = (project.root / "passage.md").read_text()
    (project.root / "rows.csv").write_text("town,rain\n" + "Bern,4\nRome,2\n" * 9)
    several = not any(key in keys for key in ("kind", "table", "pair"))
    model = f"models: [{large}, {small}]" if several else f"model: {small}"
    article = project.articles / "small.md.j2"
    header = f"title: Small\n{model}\n{keys}".replace("TEXT", text.strip().replace("'", "''"))
    article.write_text(article.read_text().replace("title: Small", header))
    monkeypatch.setattr(load, "load_model", lambda *_, **__: pytest.fail("a model is loaded"))
    line = 5 if "kind" in keys else 4
    said = rf"^{article}, line {line}: .* tokens, the model takes at most 12"
    with pytest.raises(ReportError, match=said):
        run.datasets(read_study(article), project, print)
