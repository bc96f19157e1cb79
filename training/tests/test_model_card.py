"""The card says what training.json and acceptance.json say, and nothing is left to fill in."""

import json
import shlex
import shutil

import pytest
import yaml

from report.errors import ReportError
from training.acceptance import acceptance, write_acceptance
from training.architectures import ARCHITECTURES
from training.model_card import plain, recipe_name, train_parts, write_card
from training.recipe import RECIPES, random_model
from training.train import train
from training.verdict import verdicts

from .conftest import HELD_OUT, SOURCE, shorten_corpus, tiny_recipe


def accept(folder, books):
    """Measure a model folder, and write its acceptance.json."""
    with pytest.MonkeyPatch.context() as patch:
        shorten_corpus(patch)
        write_acceptance(folder, acceptance(folder, books))


@pytest.fixture(scope="module")
def measured(trained, books_folder, tmp_path_factory):
    """A measured model folder, shared by the tests of this file: they change copies of it."""
    copy = shutil.copytree(trained, tmp_path_factory.mktemp("measured") / "tiny")
    accept(copy, books_folder)
    return copy


@pytest.fixture
def folder(measured, tmp_path):
    """A measured model folder of a test's own."""
    return shutil.copytree(measured, tmp_path / "tiny")


@pytest.fixture(scope="module", params=ARCHITECTURES)
def added(request, books_folder, tmp_path_factory):
    """A measured model of each architecture, half of its text prompts; with its recipe."""
    numbers = {"num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 24, "prompts": 0.5}
    recipe = tiny_recipe(architecture=request.param, **numbers)
    folder = tmp_path_factory.mktemp(request.param) / "added"
    train(books_folder, folder, recipe, HELD_OUT, source=SOURCE)
    accept(folder, books_folder)
    return folder, recipe


def test_every_number_is_on_the_card(folder):
    facts = json.loads((folder / "training.json").read_text())
    result = json.loads((folder / "acceptance.json").read_text())
    held_out = result["held_out"]
    text = write_card(folder).read_text(encoding="utf-8")
    for number in (
        f"{facts['training_tokens']:,} tokens to train on",
        f"| tokens seen | {facts['tokens_seen']:,} ",
        f"| time | {facts['minutes']:.1f} minutes (by the clock: waiting for other work",
        f"| steps | {facts['steps']}, each of 2 sequences of 32 tokens |",
        f"| {facts['train_loss']:.3f} |",
        f"| validation, held-out book | {held_out['validation_loss']:.3f} |",
        f"same training and validation tokens | {held_out['trigram_loss']:.3f} |",
        f"of which it has read none | {result['prompts']['loss']:.3f} |",
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
        "\npython -m training train TEXTS OUTPUT \\\n  --validation gee_third-book \\\n"
        "  --steps 12 \\\n"
        f"  --source '{SOURCE}'\npython -m training accept OUTPUT \\\n"
        "  --texts TEXTS --write\n"
    ) in text
    assert "`OUTPUT` is a new folder" in text
    accept = "\npython -m training accept tiny"
    assert f"{accept} \\\n  --texts TEXTS\n{accept}\n" in text
    assert str(folder) not in text


def test_a_source_that_a_shell_would_read_is_quoted():
    facts = {
        "held_out": {"file": "a b.txt"},
        "steps": 3,
        "source": "Ann's; $(rm)\n",
        "recipe": plain(tiny_recipe()),
    }
    words = shlex.split(" ".join(train_parts(facts)))
    assert words[3:] == [
        *("train", "TEXTS", "OUTPUT", "--validation", "a b", "--steps", "3"),
        *("--source", "Ann's; $(rm)\n"),
    ]
    assert "--source" not in " ".join(train_parts(facts | {"source": ""}))


def test_the_card_is_plain_about_how_little_was_learnt(folder):
    facts = json.loads((folder / "training.json").read_text())
    text = " ".join(write_card(folder).read_text(encoding="utf-8").split())
    assert f"The model saw {facts['tokens_seen']:,} tokens, drills included." in text
    assert (
        "Its validation loss is that of a small model that had "
        f"{facts['training_tokens']:,} tokens of text to learn from"
    ) in text
    assert "the drills helped" in text
    assert "## Known limits" in text


@pytest.mark.parametrize(("value", "formed"), [(0.31, True), (0.29, False)])
def test_heads_that_did_not_form_are_owned_up_to(folder, value, formed):
    path = folder / "acceptance.json"
    result = json.loads(path.read_text())
    result["induction"]["value"], result["limits"]["induction"] = value, 0.3
    result["held_out"]["previous_token"]["value"] = value
    result["limits"]["previous_token"] = 0.3
    path.write_text(json.dumps(result))
    text = " ".join(write_card(folder).read_text(encoding="utf-8").split())
    for said in (
        "They did not help enough for heads which copy: the best reaches an induction of 0.290",
        "for heads which look one token back: the best reaches 0.290, where 0.300 is wanted.",
    ):
        assert (said in text) is not formed
    missed = sum(not row["accepted"] for row in verdicts(result))
    assert ("numbers that this model had to reach:" in text) is (missed == 0)
    assert (f"This model misses {missed} of the 4 limits below." in text) is (missed > 0)


def test_the_card_begins_with_front_matter_and_leaves_nothing_open(folder):
    text = write_card(folder).read_text(encoding="utf-8")
    _, front_matter, body = text.split("---\n", 2)
    assert yaml.safe_load(front_matter)["license"] == "mit"
    assert body.startswith("\n# tiny\n")
    assert "{{" not in text
    assert "None" not in text


def test_every_architecture_gets_a_card_of_its_own(added):
    folder, recipe = added
    text = " ".join(write_card(folder).read_text(encoding="utf-8").split())
    model = random_model(recipe, 0)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    assert f"| parameters | {parameters:,}, " in text
    assert f"| class | `{type(model).__name__}`, " in text
    falcon = recipe.architecture == "falcon"
    assert ("| position | ALiBi |" in text) == falcon
    assert ("longer texts rest on ALiBi alone." in text) == falcon
    assert ("| position | RoPE, base 10,000" in text) == (not falcon)
    assert ("longer texts hold distances that it has never met." in text) == (not falcon)
    assert ("bfloat16 autocast, attention in float32 |" in text) == (not falcon)
    assert ("| windows | layers 0 and 1 see " in text) == (recipe.architecture == "gemma3")
    assert "falcon" in text.lower() or not falcon
    assert "falcon" not in text.lower() or falcon


def test_prompts_among_the_text_are_told_where_there_are_any(added, folder):
    result = json.loads((added[0] / "acceptance.json").read_text())
    with_prompts, without = (
        " ".join(write_card(each).read_text(encoding="utf-8").split())
        for each in (added[0], folder)
    )
    for sentence in (
        "2 books and generated word problems, so that",
        "50 % of the sequences of text are prompts that `training/problems.py` makes up",
        "tokens, drills and prompts included. Its validation loss",
        "15 % of those from books hold a span",
        f"| generated prompts with word problems, drawn anew | {result['prompts']['loss']:.3f} |",
        "Their templates are those of the training",
        "It has read its books, generated word problems and the drills that",
        "Whether its answers are right was not measured",
    ):
        assert sentence in with_prompts
        assert sentence not in without
    assert 'It has read its books and the drills that "Training" tells of' in without
    assert "This model was trained on none." in without


def test_the_command_names_the_recipe_that_was_followed_whatever_its_steps():
    facts = {"held_out": {"file": "a.txt"}, "steps": 7, "source": ""}
    for name in RECIPES:
        followed = plain(RECIPES[name]) | {"steps": 7}
        assert recipe_name(facts | {"recipe": followed}) == name
        words = shlex.split(" ".join(train_parts(facts | {"recipe": followed})))
        assert words[6:] == ["--recipe", name, "--validation", "a", "--steps", "7"]
        assert recipe_name(facts | {"recipe": followed | {"seed": 1}}) is None
    before_the_others = {"steps": 2200}  # a recipe that says less than recipes do by now
    assert recipe_name(facts | {"recipe": before_the_others}) == "falcon-8x8"


def test_a_model_that_was_not_measured_gets_no_card(trained):
    with pytest.raises(ReportError, match=r"has no acceptance\.json"):
        write_card(trained)
    assert not (trained / "README.md").exists()


def test_a_model_not_measured_on_its_held_out_book_gets_no_card(folder):
    result = json.loads((folder / "acceptance.json").read_text())
    (folder / "acceptance.json").write_text(json.dumps(result | {"held_out": None}))
    with pytest.raises(ReportError, match="validation loss of these weights has never"):
        write_card(folder)
