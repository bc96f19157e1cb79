"""A model, a passage or an article that is wrong: one clear sentence, and nothing half-written."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from transformers import MambaConfig, MambaForCausalLM, T5Config, T5ForConditionalGeneration

from report.models.load import identity
from tests.cli.saying import assert_matches
from tests.commands import ROOT, contents
from tests.models.hub_server import hub_in_place
from tests.small import SENTENCE, write_publication


@pytest.fixture
def tiny(falcon_folder, tmp_path):
    """A copy of the tiny model, to damage."""
    return shutil.copytree(falcon_folder, tmp_path / "tiny")


def without_config(folder):
    (folder / "config.json").unlink()


def without_weights(folder):
    (folder / "model.safetensors").unlink()


def pickle_only(folder):
    without_weights(folder)
    torch.save({"x": torch.zeros(1)}, folder / "pytorch_model.bin")


def without_tokenizer(folder):
    (folder / "tokenizer.json").unlink()


def with_an_encoder(folder):
    sizes = {"d_model": 16, "d_ff": 16, "d_kv": 8, "num_heads": 2, "num_layers": 1}
    T5ForConditionalGeneration(T5Config(vocab_size=320, **sizes)).save_pretrained(folder)


def without_attention(folder):
    config = MambaConfig(vocab_size=320, hidden_size=16, num_hidden_layers=2, state_size=4)
    MambaForCausalLM(config).save_pretrained(folder)


def of_an_unknown_kind(folder):
    path = folder / "config.json"
    path.write_text(path.read_text().replace('"falcon"', '"falconet"'))


def cut_short(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (shutil.rmtree, "unknown model '.*tiny'.*embedded model"),
        (without_config, r"model folder '.*tiny' has no config\.json"),
        (without_weights, r"model folder 'tiny' has no weights; it needs model\.safetensors"),
        (pickle_only, r"weights only as pickle \(pytorch_model\.bin\).*refused; convert"),
        (without_tokenizer, r"model folder 'tiny' has no tokenizer"),
        (with_an_encoder, "a T5ForConditionalGeneration, an encoder and a decoder; measured are"),
        (without_attention, r"architecture 'mamba' \(MambaForCausalLM\) is not supported"),
        (of_an_unknown_kind, "the architecture 'falconet', which transformers .* does not know"),
        (cut_short, r"'tiny/model\.safetensors' is (damaged|not a safetensors file)"),
    ],
)
def test_a_model_that_cannot_be_measured(run, project, tiny, options, damage, said):
    damage(tiny)
    before = contents(project)
    done = run("site", *options, "--model", tiny)
    assert done.code == 1
    assert_matches(said, done.error)
    assert contents(project) == before
    assert not list(project.glob("site_src/datasets/*/*"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, r"passage file .*passage\.md cannot be read \(No such file or directory\); give"),
        (" \n\n", r"passage file .*passage\.md is empty; write the text"),
        (SENTENCE * 40, r"the passage has \d+ tokens, the model takes at most 512; shorten"),
        ("---\ntitle: x\n", r"front matter of .*passage\.md is never closed; end it"),
    ],
    ids=["missing", "empty", "too long", "front matter"],
)
def test_a_passage_that_cannot_be_measured(run, project, options, text, said, monkeypatch):
    monkeypatch.setattr(identity, "context", lambda model: 512)
    path = project / "passage.md"
    path.unlink() if text is None else path.write_text(text)
    before = contents(project)
    done = run("site", *options)
    assert done.code == 1
    assert_matches(said, done.error)
    assert contents(project) == before


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        (
            "--layers",
            "0-3",
            r"model 'tiny-falcon' has 3 layers \(0 to 2\), asked for were the first 4",
        ),
        ("--layers", "1-2", r"--layers: must begin at layer 0, since a layer works on what those"),
        ("--layers", "few", r"--layers: must be a number of layers such as 4, a range such as 0-3"),
        ("--dtype", "float16", r"--dtype: Input should be 'float32' or 'bfloat16' \(got 'float16'"),
        ("--device", "cuda:7", r"device 'cuda:7' is not there: torch sees \d CUDA devices; choose"),
        ("--model", "gpt2", r"unknown model 'gpt2': .* Did you mean openai-community/gpt2"),
    ],
)
def test_an_option_that_cannot_be_met(run, project, options, option, value, said):
    before = contents(project)
    done = run("site", *options, option, value)
    assert done.code == 1
    assert_matches(said, done.error)
    assert contents(project) == before


def test_a_model_on_a_hub_out_of_reach(run, project, options, monkeypatch, tmp_path):
    before = contents(project)
    with hub_in_place(monkeypatch, tmp_path / "home") as hub:
        unknown = run("site", *options, "--model", "someone/gpt-2")
        hub.failing = 503
        failing = run("site", *options, "--model", "someone/tiny")
    nowhere = run("site", *options, "--model", "someone/tiny")
    assert (unknown.code, failing.code, nowhere.code) == (1, 1, 1)
    assert_matches("unknown model 'someone/gpt-2'.*Did you mean openai-comm", unknown.error)
    assert_matches("the hub answered 503 for 'someone/tiny'", failing.error)
    assert_matches("'someone/tiny' is not on this machine, and http://.* cannot", nowhere.error)
    assert contents(project) == before


def test_an_unknown_passage_is_told_the_known_ones(run, options):
    done = run("measure", *options, "--passage", "the-lamp")
    assert done.code == 1
    assert_matches("unknown passage 'the-lamp'; known: the-lamp-on-the-hill", done.error)


def change_article(project, old, new):
    path = project / "templates" / "articles" / "small.md.j2"
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "author: Ann",
            "auther: Ann",
            r"small\.md\.j2, line 4: unknown key 'auther'; did you mean",
        ),
        ("date: 2026-01-02", "date: soon", r"small\.md\.j2, line 3: 'date': .*got 'soon'"),
        ("summary: What it says.\n", "", r"small\.md\.j2, line 1: the key 'summary' is missing"),
        ("---\n", "", r"small\.md\.j2: must start with front matter"),
    ],
)
def test_front_matter_that_is_wrong(run, project, options, old, new, said):
    change_article(project, old, new)
    before = contents(project)
    done = run("site", *options)
    assert done.code == 1
    assert_matches(said, done.error)
    assert contents(project) == before


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            '{{ figure("no_such_figure") }}',
            "unknown figure 'no_such_figure'; known: .*attention_map",
        ),
        ('{{ ref("attention_map") }}', "this article has no such figure"),
        ("{{ nonsense }}", "unknown name 'nonsense'"),
        ("{% for %}", "Expected"),
    ],
)
def test_an_article_that_is_wrong_is_told_before_anything_is_measured(
    run, project, options, body, said
):
    change_article(project, '{{ figure("update_magnitude") }}', f"x\n{body}")
    before = contents(project)
    done = run("site", *options)
    assert done.code == 1
    assert_matches(rf"small\.md\.j2, line 9: .*{said}", done.error)
    assert contents(project) == before


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


def broken_figure(root):
    (root / "figures").mkdir()
    (root / "figures" / "update_magnitude.py").write_text("no Python")
    return ["render"]


def broken_settings(root):
    (root / "mkdocs.yml").write_text("site_name: [")
    return ["site"]


def broken_works(root):
    article = root / "templates" / "articles" / "small.md.j2"
    article.write_text(article.read_text() + '\n{{ cite("one") }}\n')
    (article.parent / "references.bib").write_text("@article{one,")
    return ["render"]


def unknown_key(root):
    article = root / "templates" / "articles" / "small.md.j2"
    article.write_text(article.read_text().replace("title:", "titel:"))
    return ["why"]


def empty_passage(root):
    (root / "passage.md").write_text("")
    return ["render", "--passage", root / "passage.md"]


def no_model(root):
    (root / "model").mkdir()
    return ["render", "--model", root / "model"]


MISTAKES = {
    broken_figure: "update_magnitude.py, line 1: is not Python",
    broken_settings: "mkdocs.yml",
    broken_works: "templates/articles/references.bib",
    unknown_key: "templates/articles/small.md.j2, line 2: unknown key 'titel'",
    empty_passage: "passage.md is empty",
    no_model: "model folder '",
    lambda root: ["render", "--passage", root / "none.txt"]: "none.txt",
    lambda root: ["check"]: "site",
    lambda root: ["bundle", "small"]: "site",
    lambda root: ["publish"]: "no git remote",
    lambda root: ["new", "small"]: "templates/articles/small.md.j2",
}
"""Function that makes a mistake in a publication, and returns a command -> what that says."""


@pytest.mark.parametrize("folder", [".", "site_src"])
def test_paths_of_a_publication_are_said_as_they_are_typed_in_it(
    run, tmp_path, monkeypatch, falcon_folder, folder
):
    for number, (mistake, said) in enumerate(MISTAKES.items()):
        root = write_publication(tmp_path / f"p{number}")
        monkeypatch.chdir(root / folder)
        done = run(*mistake(root))
        assert done.code, said
        assert said in done.error
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
