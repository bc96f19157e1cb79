"""Writes the model card: every number in it comes from training.json and acceptance.json."""

import json
import math
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from report import files
from report.errors import ReportError
from report.models.find.names import model_folder
from report.models.find.weights import read_header
from training import PROGRAM, described
from training.recipe import RECIPES, Recipe
from training.verdict import require_held_out, verdicts

TEMPLATE = Path(__file__).with_name("_card.md.j2")


def write_card(model: str | Path) -> Path:
    """Write README.md of a model from the training.json and acceptance.json in its folder.

    model: an embedded model's name, or a folder
    returns: the path of the card
    raises: ReportError if there is no such model, one of the two is missing, the held-out book
        was never measured, or the disk does not take the card
    """
    folder = model_folder(model).resolve()  # "." has no name
    path = folder / "README.md"
    files.write_text(path, card(folder))
    return path


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """One JSON file of a model folder.

    raises: ReportError if there is no such file
    """
    path = folder / name
    if not path.is_file():
        raise ReportError(
            f"'{folder}' has no {name}; train the model, then measure it ({PROGRAM} accept)"
        )
    return json.loads(path.read_text(encoding="utf-8"))


def card(folder: Path) -> str:
    """The model card as Markdown with YAML front matter, str.

    folder: of the model; its name is that of the model
    raises: ReportError as `write_card`
    """
    facts, result, config = (
        read_json(folder, name) for name in ("training.json", "acceptance.json", "config.json")
    )
    require_held_out(result)
    weights = folder / "model.safetensors"
    shapes = {name: tensor["shape"] for name, tensor in read_header(weights).items()}
    # The card is Markdown, not a page: escaping would only spoil its quotation marks.
    environment = Environment(  # noqa: S701
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        name=folder.name,
        facts=facts,
        recipe=whole_recipe(facts),
        result=result,
        held_out=result["held_out"],
        verdicts=verdicts(result),
        config=config,
        described=described,
        shapes=shapes,
        parameters=sum(map(math.prod, shapes.values())),
        megabytes=weights.stat().st_size / 1e6,
        train_parts=train_parts(facts),
        accept_command=f"{PROGRAM} accept {shlex.quote(folder.name)}",
    )


def train_parts(facts: dict[str, Any]) -> list[str]:
    """The command that repeats the run, TEXTS for the folder of books, OUTPUT for the model's.

    returns: list of str, the command and each option with its value, for a line each
    """
    held_out = Path(facts["held_out"]["file"]).stem
    options = {
        "--recipe": recipe_name(facts),
        "--validation": held_out,
        "--steps": str(facts["steps"]),
        "--source": facts["source"],
    }
    told = [shlex.join([option, value]) for option, value in options.items() if value]
    return [f"{PROGRAM} train TEXTS OUTPUT", *told]


def recipe_name(facts: dict[str, Any]) -> str | None:
    """The recipe of the project that a run followed, whatever its steps; None if it was another.

    facts: training.json
    """
    followed = whole_recipe(facts)
    for name, recipe in RECIPES.items():
        if plain(recipe) | {"steps": followed["steps"]} == followed:
            return name
    return None


def whole_recipe(facts: dict[str, Any]) -> dict[str, Any]:
    """The recipe that training.json records, as a dict, with what recipes learnt to say since."""
    return plain(Recipe()) | facts["recipe"]


def plain(recipe: Recipe) -> dict[str, Any]:
    """A Recipe as a dict that JSON does not change: tuples are lists."""
    return json.loads(json.dumps(asdict(recipe)))
