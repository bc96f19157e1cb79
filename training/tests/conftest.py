"""A tiny training run (two layers of two heads, twelve steps) on text made up here."""

import random

import pytest

from report.inputs.passages import Passage
from tests.conftest import falcon_folder  # noqa: F401 (a fixture)
from training import acceptance as acceptance_module
from training.recipe import Recipe
from training.train import train

SENTENCE = "the fox ran over a hill and saw lamp light in her window while rain fell on old mill"
HELD_OUT = "third-book"
SOURCE = "Made up for a test, CC0."


def tiny_recipe(**changes):
    """A Recipe that trains in under a second."""
    numbers = {
        "vocab_size": 290,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "hidden_size": 16,
        "context": 32,
        "batch": 2,
        "steps": 12,
        "warmup_steps": 3,
        "loops_only": 6,
        "longest_drill": 8,
        "shortest_span": 2,
        "longest_span": 8,
    }
    return Recipe(**(numbers | changes))


def write_books(folder):
    """Three books of random words; returns the folder."""
    folder.mkdir()
    generator = random.Random(7)
    for name in ("a-b-cee_first-book", "dee-eff_the-second-of-two_x-wye", "gee_third-book"):
        lines = [" ".join(generator.choices(SENTENCE.split(), k=12)) for _ in range(60)]
        (folder / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def books_folder(tmp_path_factory):
    """A folder of three books."""
    return write_books(tmp_path_factory.mktemp("embedded") / "books")


@pytest.fixture(scope="session")
def trained(tmp_path_factory, books_folder):
    """The folder of a finished run on these books."""
    output = tmp_path_factory.mktemp("trained") / "tiny"
    train(books_folder, output, tiny_recipe(), HELD_OUT, source=SOURCE)
    return output


SHORT_TEXTS = ("the fox ran over a hill and saw", "rain fell on rain fell on rain")


def shorten_corpus(monkeypatch):
    """Put two short texts in place of the corpus, too long for a vocabulary of 290 tokens."""
    passages = [Passage(str(i), "", "", "", "en", text) for i, text in enumerate(SHORT_TEXTS)]
    monkeypatch.setattr(acceptance_module, "corpus", lambda: passages)


@pytest.fixture
def short_corpus(monkeypatch):
    """For the length of a test, two short texts are the corpus."""
    shorten_corpus(monkeypatch)
