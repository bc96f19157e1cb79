"""A model, a passage or an article that is wrong: one clear sentence, and nothing half-written.

One of each sort that a command stops at; all sentences of a sort are tested beside its code.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

from report.models.load import identity
from tests.cli.saying import assert_matches
from tests.commands import ROOT, contents
from tests.models.hub_server import hub_in_place
from tests.small import SENTENCE, write_publication


@pytest.fixture
def tiny(falcon_folder, tmp_path):
    """A copy of the tiny model, to damage."""
    return shutil.copytree(falcon_folder, tmp_path / "tiny")


@pytest.fixture
def refused(run, project, options):
    """A function that builds a site with more options, and expects a sentence and nothing else."""

    def refused(reason, *more):
        before = contents(project)
        done = run("site", *options, *more)
        assert done.code == 1
        assert_matches(reason, done.error)
        assert contents(project) == before

    return refused


def pickle_only(folder):
    (folder / "model.safetensors").unlink()
    torch.save({"x": torch.zeros(1)}, folder / "pytorch_model.bin")


def without_tokenizer(folder):
    (folder / "tokenizer.json").unlink()


def with_an_encoder(folder):
    sizes = {"d_model": 16, "d_ff": 16, "d_kv": 8, "num_heads": 2, "num_layers": 1}
    T5ForConditionalGeneration(T5Config(vocab_size=320, **sizes)).save_pretrained(folder)


def cut_short(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (shutil.rmtree, "unknown model '.*tiny'.*embedded model"),
        (pickle_only, r"weights only as pickle \(pytorch_model\.bin\).*refused; convert"),
        (without_tokenizer, r"model folder 'tiny' has no tokenizer"),
        (with_an_encoder, "a T5ForConditionalGeneration, an encoder and a decoder; measured are"),
        (cut_short, r"'tiny/model\.safetensors' is (damaged|not a safetensors file)"),
    ],
)
def test_a_model_that_cannot_be_measured(refused, tiny, damage, reason):
    damage(tiny)
    refused(reason, "--model", tiny)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, r"passage file .*passage\.md cannot be read \(No such file or directory\); give"),
        (SENTENCE * 40, r"the passage has \d+ tokens, the model takes at most 512; shorten"),
    ],
    ids=["missing", "too long"],
)
def test_a_passage_that_cannot_be_measured(refused, project, text, reason, monkeypatch):
    monkeypatch.setattr(identity, "context", lambda model: 512)
    path = project / "passage.md"
    path.unlink() if text is None else path.write_text(text)
    refused(reason)


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--layers", "0-3", r"model 'tiny-falcon' has 3 layers \(0 to 2\), asked for were the fi"),
        ("--layers", "few", r"--layers: must be a number of layers such as 4, a range such as 0-3"),
        ("--device", "cuda:7", r"device 'cuda:7' is not there: torch sees \d CUDA devices; choose"),
        ("--model", "gpt2", r"unknown model 'gpt2': .* Did you mean openai-community/gpt2"),
        ("--passage", "the-lamp", "unknown passage 'the-lamp'; known: the-lamp-on-the-hill"),
    ],
)
def test_an_option_that_cannot_be_met(refused, option, value, reason):
    refused(reason, option, value)


def test_a_model_on_a_hub_out_of_reach(refused, monkeypatch, tmp_path):
    with hub_in_place(monkeypatch, tmp_path / "home") as hub:
        refused("unknown model 'someone/gpt-2'.*Did you mean openai", "--model", "someone/gpt-2")
        hub.failing = 503
        refused("the hub answered 503 for 'someone/tiny'", "--model", "someone/tiny")
    nowhere = "'someone/tiny' is not on this machine, and http://.* cannot"
    refused(nowhere, "--model", "someone/tiny")


FIGURE = '{{ figure("update_magnitude") }}'


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("author: Ann", "auther: Ann", r"line 4: unknown key 'auther'; did you mean"),
        (FIGURE, '\n{{ figure("no") }}', "line 9: .*unknown figure 'no'; known: .*attention_map"),
        (FIGURE, "\n{{ nonsense }}", "line 9: .*unknown name 'nonsense'"),
        (FIGURE, "\n{% for %}", "line 9: .*Expected"),
    ],
)
def test_an_article_that_is_wrong_is_told_before_anything_is_measured(
    refused, project, old, new, reason
):
    path = project / "templates" / "articles" / "small.md.j2"
    path.write_text(path.read_text().replace(old, new))
    refused(rf"small\.md\.j2, {reason}")


def test_a_folder_that_is_no_project(run, tmp_path):
    for command in ("site", "render", "measure"):
        done = run(command, "--project", tmp_path)
        assert done.code == 2
        assert_matches(r"no project here \(mkdocs\.yml is missing\); run the", done.error)
    (tmp_path / "mkdocs.yml").write_text("")
    assert_matches(r"\(templates/articles is missing\)", run("site", "--project", tmp_path).error)
    (tmp_path / "templates" / "articles").mkdir(parents=True)
    assert_matches(r"no article \(\*\.md\.j2\) found", run("site", "--project", tmp_path).error)
    assert contents(tmp_path).keys() == {"mkdocs.yml"}


def test_measuring_without_torch_says_what_to_install(project, falcon_folder):
    arguments = ["report", "measure", "--project", str(project), "--model", str(falcon_folder)]
    code = (
        "import sys; sys.modules['torch'] = None; "
        f"sys.argv = {arguments!r}; from report.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    said = done.stderr.strip()
    assert_matches(r"^error: measuring needs the package 'torch'; run `make setup`", said)
    assert len(said.splitlines()) == 1


ARTICLE = "templates/articles/small.md.j2"
MISTAKES = [
    (
        "render",
        "figures/update_magnitude.py",
        "no Python",
        "update_magnitude.py, line 1: is not Python",
    ),
    ("site", "mkdocs.yml", "site_name: [", "mkdocs.yml"),
    ("why", ARTICLE, "---\ntitel: A\n---\n", f"{ARTICLE}, line 2: unknown key 'titel'"),
    ("render --passage {}/passage.md", "passage.md", "", "passage.md is empty"),
    ("render --model {}/model", "model/config.txt", "", "model folder '"),
    ("render --passage {}/none.txt", "", "", "none.txt"),
    ("check", "", "", "site"),
    ("bundle small", "", "", "site"),
    ("publish", "", "", "no git remote"),
    ("new small", "", "", ARTICLE),
]
"""A command in a publication, a file with a mistake in it, its text, and what is said."""


@pytest.mark.parametrize("folder", [".", "site_src"])
@pytest.mark.parametrize(("command", "file", "text", "reason"), MISTAKES)
def test_paths_of_a_publication_are_said_as_they_are_typed_in_it(
    run, tmp_path, monkeypatch, folder, command, file, text, reason
):
    root = write_publication(tmp_path / "project")
    if file:
        (root / file).parent.mkdir(exist_ok=True)
        (root / file).write_text(text)
    monkeypatch.chdir(root / folder)
    done = run(*command.format(root).split())
    assert done.code
    assert reason in done.error
    assert f"{root}/" not in done.said


STARTS = {"module": ["-m", "report"], "command": ["-c", "from report import program; program()"]}


@pytest.mark.parametrize("start", STARTS.values(), ids=list(STARTS))
def test_ctrl_c_while_packages_are_imported_is_no_traceback(tmp_path, start):
    """Here one of them takes long."""
    slow = f"import time\nopen({str(tmp_path / 'began')!r}, 'w').close()\ntime.sleep(60)\n"
    (tmp_path / "typer.py").write_text(slow)
    process = subprocess.Popen(
        [sys.executable, *start, "check"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # a shell's background jobs ignore Ctrl-C, and their children would
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (tmp_path / "began").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.communicate() == ("", None)
    assert process.returncode == -signal.SIGINT  # of which a shell makes 130
