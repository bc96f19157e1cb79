"""The card says what training.json and acceptance.json say, and nothing is left to fill in."""

import json
import shlex
import shutil

import pytest
import yaml

from report.embedded.acceptance import acceptance, write_acceptance
from report.embedded.card import parameter_count, train_command, write_card
from report.embedded.recipe import random_model
from report.errors import ReportError

from .conftest import SOURCE, tiny_recipe


@pytest.fixture
def folder(trained, books_folder, tmp_path, short_corpus):
    """A measured model folder."""
    copy = shutil.copytree(trained, tmp_path / "tiny")
    write_acceptance(copy, acceptance(copy, books_folder))
    return copy


def test_every_number_is_on_the_card(folder):
    facts = json.loads((folder / "training.json").read_text())
    result = json.loads((folder / "acceptance.json").read_text())
    held_out = result["held_out"]
    text = write_card(folder).read_text(encoding="utf-8")
    for number in (
        f"{facts['training_tokens']:,} tokens to train on",
        f"| tokens seen | {facts['tokens_seen']:,} ",
        f"| time | {facts['minutes']:.1f} minutes |",
        f"| steps | {facts['steps']}, each of 2 sequences of 32 tokens |",
        f"| {facts['train_loss']:.3f} |",
        f"| validation, held-out book | {held_out['validation_loss']:.3f} |",
        f"same training and validation tokens | {held_out['trigram_loss']:.3f} |",
        facts["hardware"]["processor"],
        *(
            f"{best['value']:.3f} (L{best['layer']}H{best['head']})"
            for best in (
                held_out["first_token"],
                held_out["previous_token"],
                result["induction"],
                result["corpus"]["first_token"],
                result["corpus"]["previous_token"],
            )
        ),
    ):
        assert number in text


def test_books_source_and_commands_are_on_the_card(folder):
    text = write_card(folder).read_text(encoding="utf-8")
    assert "- A. B. Cee: *First Book* (" in text
    assert "\nGee: *Third Book* (" in text
    assert SOURCE in text
    assert (
        "\npython -m report train TEXTS OUTPUT --validation gee_third-book --steps 12 "
        f"--source '{SOURCE}'\npython -m report accept OUTPUT --texts TEXTS --write\n"
    ) in text
    assert "`OUTPUT` is a new folder" in text
    assert "\npython -m report accept tiny --texts TEXTS\npython -m report accept tiny\n" in text
    assert str(folder) not in text


def test_a_source_that_a_shell_would_read_is_quoted():
    facts = {"held_out": {"file": "a b.txt"}, "steps": 3, "source": "Ann's; $(rm)\n"}
    words = shlex.split(train_command(facts))
    assert words[3:] == [
        *("train", "TEXTS", "OUTPUT", "--validation", "a b", "--steps", "3"),
        *("--source", "Ann's; $(rm)\n"),
    ]
    assert "--source" not in train_command(facts | {"source": ""})


def test_the_card_is_plain_about_how_little_was_learnt(folder):
    facts = json.loads((folder / "training.json").read_text())
    text = " ".join(write_card(folder).read_text(encoding="utf-8").split())
    assert f"The model saw {facts['tokens_seen']:,} tokens, drills included." in text
    assert (
        "Its validation loss is that of a small model that had "
        f"{facts['training_tokens']:,} tokens of text to learn from"
    ) in text
    assert "helped by the drills" in text
    assert "## Known limits" in text


def test_the_card_begins_with_front_matter_and_leaves_nothing_open(folder):
    text = write_card(folder).read_text(encoding="utf-8")
    _, front_matter, body = text.split("---\n", 2)
    assert yaml.safe_load(front_matter)["license"] == "mit"
    assert body.startswith("\n# tiny\n")
    assert "{{" not in text
    assert "None" not in text


def test_parameters_are_counted_as_the_model_has_them():
    model = random_model(tiny_recipe(), 0)
    assert parameter_count(model.config.to_dict()) == sum(p.numel() for p in model.parameters())


def test_a_model_that_was_not_measured_gets_no_card(trained):
    with pytest.raises(ReportError, match=r"has no acceptance\.json"):
        write_card(trained)
    assert not (trained / "README.md").exists()


def test_a_model_not_measured_on_its_held_out_book_gets_no_card(folder):
    result = json.loads((folder / "acceptance.json").read_text())
    (folder / "acceptance.json").write_text(json.dumps(result | {"held_out": None}))
    with pytest.raises(ReportError, match="validation loss of these weights has never"):
        write_card(folder)
