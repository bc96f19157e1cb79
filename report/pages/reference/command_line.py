"""The commands and their options, from what `--help` says."""

from dataclasses import fields
from importlib import import_module

import typer

from report.errors import NAME
from report.pages.reference.documented import Entry, Reference, Section, code, marked, prose
from report.study.options import Options
from report.text import slug

IN_PLACE = "Options in place of front matter"


def page() -> Reference:
    """A section a command, and one of the options that several of them have."""
    # By its name, as figures are: the command line stands above the pages, which it has written.
    program = typer.main.get_command(import_module("report.__main__").app)
    shared = {field.name for field in fields(Options)}
    return Reference(
        "command-line",
        "Command line",
        "Every command and option, as the program itself explains them.",
        [
            *(_command(name, command, shared) for name, command in program.commands.items()),
            Section(
                IN_PLACE,
                _options(program.commands["site"], lambda name: name in shared),
                "They stand in for keys in the front matter of every article, or allow what the "
                "articles ask for.",
            ),
        ],
    )


def _command(name, command, shared):
    context = _context(name, command)
    usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    text = f"{code(usage)}\n\n{prose(command.help)}"
    if shared & {option.name for option in command.params}:
        text += f"\n\nIt also takes the [{IN_PLACE[:1].lower()}{IN_PLACE[1:]}](#{slug(IN_PLACE)})."
    return Section(name, _options(command, lambda option: option not in shared), text)


def _options(command, wanted):
    """Entries of the arguments and options of a command whose name is wanted."""
    records = [
        option.get_help_record(_context(command.name, command))
        for option in command.params
        if wanted(option.name)
    ]
    return [Entry(" ".join(name.split()), marked(text)) for name, text in filter(None, records)]


def _context(name, command):
    return command.context_class(command, info_name=f"{NAME} {name}")
