"""The command line of training: `python -m training train`, then `python -m training accept`; and
`quantise`, which rounds a model that there is."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from report.__main__ import Commands, main, measuring_packages, terminal
from report.console import as_typed, progress
from report.errors import UsageError
from training import PROGRAM

app = typer.Typer(
    cls=Commands,
    help="Train the small models that ship with the package, and measure what they have learnt.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def train(
    texts: Annotated[Path, typer.Argument(help="Folder of .txt files, one book each.")],
    output: Annotated[Path, typer.Argument(help="Folder for the model; resumed if half done.")],
    validation: Annotated[
        str | None, typer.Option(help="Part of the file name of the book to validate on.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Number of steps; default: the recipe's.")
    ] = None,
    recipe: Annotated[
        str, typer.Option(help="Name of the embedded model to train.")
    ] = "falcon-8x8",
    source: Annotated[str, typer.Option(help="Where the texts are from, for the model card.")] = "",
    keep: Annotated[
        str,
        typer.Option(
            metavar="STEPS",
            help="Also keep the model after these steps, in OUTPUT/step-…: 0,50,100 for a sweep.",
        ),
    ] = "",
):
    """Train an embedded model on a folder of books.

    A shipped recipe takes about an hour on two cores. An interrupted run is resumed.
    """
    with measuring_packages():
        from training.recipe import named_recipe
        from training.train import train

    recipe = named_recipe(recipe, **({"steps": steps} if steps else {}))
    kept = _steps(keep)
    with progress() as bar:
        task = bar.add_task("Training", total=recipe.steps)

        def show(step, total, text):
            bar.update(task, completed=step, total=total, description=f"Training {text}")

        train(texts, output, recipe, validation, show, source, kept)
    if kept:
        terminal.say(f"Kept on the way: {', '.join(f'step-{step}' for step in kept)} in {output}.")
    following = ["accept", str(output), "--texts", str(texts), "--write"]
    terminal.say(f"The model is in {output}; next: {PROGRAM} {shlex.join(following)}")


@app.command()
def accept(
    model: Annotated[str, typer.Argument(help="Embedded model or the folder of a trained one.")],
    texts: Annotated[
        Path | None,
        typer.Option(help="The books it was trained on; with them, the loss is measured too."),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Also write acceptance.json and the model card.")
    ] = False,
):
    """Measure what a model has learnt: its loss, and three kinds of heads."""
    with measuring_packages():
        from training.acceptance import acceptance, write_acceptance
        from training.model_card import write_card
        from training.verdict import remarks, require_accepted, verdict_table

    with progress() as bar:
        task = bar.add_task("Measuring", total=None)

        def show(step, total, text):
            bar.update(task, completed=step, total=total, description=text)

        result = acceptance(model, texts, show)
    typer.echo(verdict_table(result))
    for line in remarks(result, books_read=texts is not None):
        typer.echo(line)
    if write:
        write_acceptance(model, result)
        terminal.say(f"Written: {as_typed(write_card(model))} and acceptance.json.")
    require_accepted(result)


@app.command()
def quantise(
    model: Annotated[str, typer.Argument(help="A GGUF file, or a model that comes in one.")],
    output: Annotated[Path, typer.Argument(help="Folder for the files.")],
    formats: Annotated[
        list[str], typer.Argument(help="Formats of llama.cpp, such as Q8_0 Q4_0.", metavar="FORMAT")
    ],
):
    """Write a model in other block formats, one file each, to compare with the file it is from."""
    with measuring_packages():
        from report.models.find.names import find
        from training.quantise import quantise

    source = find(model)
    if source.file is None:
        raise UsageError(f"{model!r} is no GGUF file; name one, or a model that comes in one")
    for name in formats:
        terminal.say(f"Written: {as_typed(quantise(source, name, output))}")


def _steps(listed):
    """The numbers in "0,50,100", sorted.

    raises: UsageError for anything else
    """
    words = [word.strip() for word in listed.split(",")] if listed else []
    if not all(word.isdecimal() for word in words):
        raise UsageError(
            f"--keep {listed!r} is not a list of steps; give whole numbers, as in 0,50,100"
        )
    return sorted(set(map(int, words)))


if __name__ == "__main__":
    main(app)
