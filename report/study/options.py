"""The options of the command line that replace keys of front matter, or allow what they ask."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated

import typer


@dataclass(frozen=True)
class Options:
    """What the command line says for all articles; None leaves a key to the article."""

    model: Annotated[
        str | None,
        typer.Option(
            help="Embedded model, folder, GGUF file, ollama:NAME, or owner/model[@revision]."
        ),
    ] = None
    label: Annotated[str | None, typer.Option(help="What pages call the model.")] = None
    models: Annotated[
        list[str] | None,
        typer.Option(help="Of an article that compares models, each in turn: give it again."),
    ] = None
    passage: Annotated[str | None, typer.Option(help="Passage by name, or a .md or .txt file.")] = (
        None
    )
    layers: Annotated[
        str | None, typer.Option(help="First layers to measure: 4, or 0-3, or all.")
    ] = None
    heads: Annotated[
        str | None, typer.Option(help="First heads of each layer to keep: 4, or 0-3, or all.")
    ] = None
    dtype: Annotated[str | None, typer.Option(help="float32 (default) or bfloat16.")] = None
    device: Annotated[str | None, typer.Option(help="auto (default), cpu, cuda or cuda:1.")] = None
    trust_remote_code: Annotated[
        str | None, typer.Option(help="Name of the model whose own code may run.")
    ] = None
    alibi_factor: Annotated[
        float | None, typer.Option(help="How often ALiBi counts; 2 recreates a known bug.")
    ] = None
    chat: Annotated[
        bool | None, typer.Option(help="Put the passage into the model's chat template.")
    ] = None
    layer_by_layer: Annotated[
        bool | None, typer.Option(help="Keep one layer's weights in memory at a time.")
    ] = None

    real: Annotated[
        bool | None,
        typer.Option(
            "--real/--no-real",
            help="Whether models in packages count where an article names an alternative.",
            show_default="--real",
        ),
    ] = None
    allow_file: Annotated[
        list[str] | None,
        typer.Option(
            help="A file or folder outside the project that may be published, as front matter or a "
            "link says; give it again for more."
        ),
    ] = None
    allow_local: Annotated[
        bool | None,
        typer.Option(
            "--allow-local",
            help="Let a corpus be fetched from this machine or a private network.",
        ),
    ] = None

    @property
    def given(self) -> dict:
        """The options that were given, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, [])}


@dataclass(frozen=True)
class Apart:
    """Which of what is measured apart is asked for; see `report.kinds.question.Question.apart`."""

    answers: Annotated[
        bool,
        typer.Option(
            "--answers",
            help="Instead, ask whether fillers help the answer, where articles want it; it takes "
            "some 20 minutes a model.",
        ),
    ] = False
    generated: Annotated[
        bool,
        typer.Option(
            "--generated",
            help="Instead, measure the generated sentences of articles about predictions; it "
            "takes about an hour a model.",
        ),
    ] = False
    composition: Annotated[
        bool,
        typer.Option(
            "--composition",
            help="Instead, measure which heads of atlases read what others write; it takes about "
            "a minute a model.",
        ),
    ] = False
    copying: Annotated[
        bool,
        typer.Option(
            "--copying",
            help="Instead, measure what heads of atlases write for words that they read; it takes "
            "about a minute a model.",
        ),
    ] = False
    successor: Annotated[
        bool,
        typer.Option(
            "--successor",
            help="Instead, measure which heads of atlases turn a word of a list into the next "
            "one; it takes some seconds a model.",
        ),
    ] = False

    @property
    def kind(self) -> str | None:
        """The name of the first; None for what articles are measured on."""
        return next((field.name for field in fields(self) if getattr(self, field.name)), None)


def with_options(command: Callable) -> Callable:
    """A command with an option of typer for each field of its parameters `Options` and `Apart`.

    typer reads options from a function's signature and cannot take a dataclass, so the signature is
    composed here. The plain alternative would repeat these parameters in every command.
    """
    parameters, classes = [], {}
    for name, parameter in inspect.signature(command).parameters.items():
        if parameter.annotation in (Options, Apart):
            classes[name] = parameter.annotation
            parameters += inspect.signature(parameter.annotation).parameters.values()
        else:
            parameters.append(parameter)

    @functools.wraps(command)
    def run(**arguments):
        for name, each in classes.items():
            arguments[name] = each(
                **{field.name: arguments.pop(field.name) for field in fields(each)}
            )
        return command(**arguments)

    only = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature([each.replace(kind=only) for each in parameters])
    return run
