"""Writes the model card: every number in it comes from training.json and acceptance.json."""

import json
import shlex
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from report import store
from report.embedded.verdict import require_held_out, verdicts
from report.errors import ReportError
from report.models.names import model_folder

TEMPLATE = Path(__file__).with_name("_card.md.j2")


def write_card(model):
    """Write README.md of a model from the training.json and acceptance.json in its folder.

    model: an embedded model's name, or a folder
    returns: the path of the card
    raises: ReportError if there is no such model, one of the two is missing, the held-out book
        was never measured, or the disk does not take the card
    """
    folder = model_folder(model).resolve()  # "." has no name
    path = folder / "README.md"
    facts, result, config = (
        read_json(folder, name) for name in ("training.json", "acceptance.json", "config.json")
    )
    size = (folder / "model.safetensors").stat().st_size
    store.write_text(path, card(folder.name, facts, result, config, size))
    return path


def read_json(folder, name):
    """One JSON file of a model folder."""
    path = folder / name
    if not path.is_file():
        raise ReportError(
            f"'{folder}' has no {name}; train the model, then measure it (python -m report accept)"
        )
    return json.loads(path.read_text(encoding="utf-8"))


def card(name, facts, result, config, size):
    """The model card as Markdown with YAML front matter, str.

    name: of the model folder; facts: training.json; result: acceptance.json; config: config.json
    size: bytes of the weights file
    raises: ReportError if the held-out book was never measured
    """
    require_held_out(result)
    # The card is Markdown, not a page: escaping would only spoil its quotation marks.
    environment = Environment(  # noqa: S701
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        name=name,
        facts=facts,
        recipe=facts["recipe"],
        result=result,
        held_out=result["held_out"],
        verdicts=verdicts(result),
        config=config,
        parameters=parameter_count(config),
        megabytes=size / 1e6,
        train_command=train_command(facts),
        accept_command=f"python -m report accept {shlex.quote(name)}",
    )


def train_command(facts):
    """The command that repeats the run, TEXTS for the folder of books, OUTPUT for the model's."""
    held_out = Path(facts["held_out"]["file"]).stem
    options = ["--validation", held_out, "--steps", str(facts["steps"])]
    if facts["source"]:
        options += ["--source", facts["source"]]
    return f"python -m report train TEXTS OUTPUT {shlex.join(options)}"


def parameter_count(config):
    """Trainable numbers of a Falcon decoder with biases and tied embeddings, from its config.json.

    A layer has four attention matrices, two of the MLP, a bias for each of their outputs, and two
    norms; one more norm closes the model.
    """
    hidden, inner = config["hidden_size"], config["ffn_hidden_size"]
    matrices = 4 * hidden * hidden + 2 * hidden * inner
    biases = 4 * hidden + inner + hidden
    norms = 4 * hidden
    layers = config["num_hidden_layers"] * (matrices + biases + norms)
    return config["vocab_size"] * hidden + layers + 2 * hidden
