"""Train and accept on books made up for a test: what they say, and when they write."""

import json
import shlex
import shutil

import pytest

from report.models.find import known
from tests.cli.saying import assert_matches, ended
from tests.commands import contents, report
from tests.small import CORPUS
from training import acceptance as acceptance_module
from training import recipe as recipe_module
from training.__main__ import app
from training.train import train

from .conftest import HELD_OUT, SOURCE, tiny_recipe, write_books


@pytest.fixture
def run():
    """A function that runs a command of training here."""
    return lambda *arguments: ended(report(*arguments, commands=app))


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    return write_books(tmp_path_factory.mktemp("training") / "the books")


@pytest.fixture(scope="module")
def trained(tmp_path_factory, books):
    output = tmp_path_factory.mktemp("training") / "tiny"
    train(books, output, tiny_recipe(), HELD_OUT, source=SOURCE)
    return output


@pytest.fixture
def embedded(trained, tmp_path, monkeypatch):
    """The folder of a trained model that is embedded under the name "tiny"."""
    monkeypatch.setattr(known, "EMBEDDED", tmp_path / "embedded")
    monkeypatch.setattr(acceptance_module, "corpus", lambda: CORPUS)
    monkeypatch.setattr(acceptance_module, "LIMITS", dict.fromkeys(acceptance_module.LIMITS, -9.0))
    return shutil.copytree(trained, tmp_path / "embedded" / "tiny")


def test_training_says_the_whole_command_that_comes_next(
    run, books, trained, tmp_path, monkeypatch
):
    monkeypatch.setitem(recipe_module.RECIPES, "tiny", tiny_recipe())
    options = ("--recipe", "tiny", "--validation", HELD_OUT, "--steps", 12, "--source", SOURCE)
    done = run("train", books, tmp_path / "out", *options)
    assert done.code == 0
    command = done.said.split("next: python -m training ")[1].splitlines()[0]
    assert shlex.split(command) == [
        *("accept", str(tmp_path / "out"), "--texts", str(books), "--write")
    ]
    weights = "model.safetensors"
    assert (tmp_path / "out" / weights).read_bytes() == (trained / weights).read_bytes()


def test_models_are_kept_on_request(run, books, tmp_path, monkeypatch):
    monkeypatch.setitem(recipe_module.RECIPES, "tiny", tiny_recipe())
    options = ("--recipe", "tiny", "--validation", HELD_OUT, "--keep", "10, 0,10")
    done = run("train", books, tmp_path / "out", *options)
    assert done.code == 0
    assert f"Kept on the way: step-0, step-10 in {tmp_path / 'out'}." in done.said
    for step in (0, 10):
        facts = json.loads((tmp_path / "out" / f"step-{step}" / "training.json").read_text())
        assert facts["steps"] == step


@pytest.mark.parametrize("listed", ["0-100", "5,", "-1"])
def test_steps_that_are_no_numbers_are_refused(run, books, tmp_path, listed):
    done = run("train", books, tmp_path / "out", f"--keep={listed}")
    assert done.code == 2
    assert_matches(f"--keep '{listed}' is not a list of steps; give whole numbers", done.error)
    assert not (tmp_path / "out").exists()


def test_an_unknown_recipe_is_refused(run, books, tmp_path):
    done = run("train", books, tmp_path / "out", "--recipe", "qwen-5x28")
    assert done.code == 1
    assert_matches("unknown recipe 'qwen-5x28'; known: falcon-8x8, qwen2-5x28,", done.error)
    assert not (tmp_path / "out").exists()


def test_accept_shows_the_table_and_writes_nothing(run, embedded, books):
    before = contents(embedded)
    done = run("accept", "tiny", "--texts", books)
    assert done.code == 0, done.said
    assert_matches(r"number +measured +wanted +accepted\nvalidation loss.* yes\n", done.said)
    assert "The best heads on the corpus that ships: first token " in done.said
    assert "as recorded" not in done.said
    assert contents(embedded) == before


@pytest.mark.parametrize("by", ["name", "folder"])
def test_accept_writes_on_request_and_then_knows_the_loss_without_books(run, embedded, books, by):
    model = "tiny" if by == "name" else embedded
    written = run("accept", model, "--texts", books, "--write")
    assert written.code == 0, written.said
    recorded = json.loads((embedded / "acceptance.json").read_text())
    assert f"{recorded['held_out']['validation_loss']:.3f}" in written.said
    assert (embedded / "README.md").read_text().split("---\n")[2].startswith("\n# tiny\n")
    before = contents(embedded)
    again = run("accept", model, "--write")
    assert again.code == 0
    assert "are as recorded; --texts measures them" in again.said
    assert contents(embedded) == before


def test_a_model_that_misses_a_limit_is_refused_after_the_table(run, embedded, books, monkeypatch):
    monkeypatch.setitem(acceptance_module.LIMITS, "induction", 1.1)
    done = run("accept", "tiny", "--texts", books)
    assert done.code == 1
    assert_matches(r"induction, mean probability .* NO\n", done.said)
    assert_matches("the model is not accepted: induction", done.error)
