"""Writes the reference, for a publication that has a documentation.

A page each: the keys of front matter, from the model that reads them; commands and their options,
from what `--help` says; what prose may use (in_prose.py); the fields of a figure, and what it can
ask its data for; the published schemas of datasets.
"""

import inspect
import json
import re
from dataclasses import MISSING, fields
from pathlib import Path

import typer

from report import files
from report.datasets import store
from report.datasets.formats.attention import DecodedAttention
from report.errors import NAME
from report.figures.build.find import figure_named, figure_names
from report.figures.parts.figure import Figure
from report.inputs.prompts import KEYS, Prompts
from report.pages.reference import in_prose
from report.pages.reference.documented import (
    Entry,
    Reference,
    Section,
    attributes,
    code,
    marked,
    prose,
)
from report.pages.reference.in_prose import members
from report.pages.templates import environment
from report.project import documentation
from report.study.front_matter import INSIDE, FrontMatter
from report.study.options import Options
from report.text import slug

KINDS = {"string": "a text", "integer": "a whole number", "number": "a number"}
"""Type in a JSON schema -> what it is called here."""


def front_matter_page() -> Reference:
    """All keys, then those of the keys that have keys of their own."""
    options = {field.name for field in fields(Options)}
    sections = [Section("Keys", _entries(FrontMatter, options))]
    for key, (model, _) in INSIDE.items():
        title = _inside(key)
        sections.append(Section(title, _entries(model, set()), prose(inspect.getdoc(model))))
    about = attributes(Prompts)
    sections.append(
        Section(
            "Keys of a file of prompts",
            [Entry(key, prose(about[key]), "A text.") for key in KEYS],
            "They stand at the top of an `.md` file, between two lines `---`; below, each line is "
            "a question. Other keys are passed over.",
        )
    )
    return Reference(
        "front-matter",
        "Front matter",
        "Every key at the top of an article: what it may be, and what it is by default.",
        sections,
    )


def _inside(key):
    return f"Keys of {key}"


def _entries(model, options):
    """Entries of the fields of a model of pydantic; options: keys that are options too."""
    schema, texts = model.model_json_schema(), attributes(model)
    return [
        Entry(key, prose(texts[key]), _about(key, schema, key in options))
        for key in model.model_fields
    ]


def _about(key, schema, is_option):
    what = schema["properties"][key]
    parts = [_kind(what)]
    if key in schema.get("required", ()):
        parts.append("must be given")
    elif what["default"] not in (None, "", [], {}) and not isinstance(what["default"], dict):
        parts.append(f"default: {code(json.dumps(what['default']).strip(chr(34)))}")
    if is_option:
        parts.append(f"on the command line {code('--' + key.replace('_', '-'))}")
    about = "; ".join(parts)
    return f"{about if about.startswith('`') else re.sub('[a-z]', _capital, about, count=1)}."


def _capital(letter):
    return letter[0].upper()


def _kind(what):
    """What a value may be, from its JSON schema, as Markdown."""
    either = what.get("anyOf") or what.get("oneOf")
    if either:
        return " or ".join(_kind(schema) for schema in either if schema.get("type") != "null")
    if "$ref" in what:
        name = what["$ref"].rpartition("/")[2]
        (key,) = [key for key, (model, _) in INSIDE.items() if model.__name__ == name]
        return f"[{_inside(key)[:1].lower()}{_inside(key)[1:]}](#{slug(_inside(key))})"
    if "enum" in what or "const" in what:
        return " or ".join(map(code, what.get("enum") or [what["const"]]))
    if what["type"] == "array":
        return f"a list, each {_kind(what['items'])}"
    if what["type"] == "boolean":
        return "`true` or `false`"
    if what.get("format") == "date":
        return "a day, `2026-01-31`"
    limits = [
        f"{word} {what[name]}"
        for name, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "more than"),
            ("maximum", "at most"),
        )
        if name in what
    ]
    return f"{KINDS[what['type']]}{', ' if limits else ''}{' and '.join(limits)}"


def figures_page() -> Reference:
    """The fields, and a section a class of data; the gallery has the figures themselves."""
    texts = attributes(Figure)
    needed = {
        field.name
        for field in fields(Figure)
        if field.default is MISSING and field.default_factory is MISSING
    }
    return Reference(
        "figures",
        "Figures",
        "What the file of a figure of your own may say, and what it can ask its data for.",
        [
            Section(
                "Fields of a figure",
                [
                    Entry(name, prose(text), "Must be given." if name in needed else "")
                    for name, text in texts.items()
                ],
                "The file of a figure sets them by functions and constants of these names, the "
                "constants in capitals. [Your own figure](../how-to/figures.md) shows such a file, "
                "and the [gallery](../gallery/index.md) has the figures that ship.",
            ),
            *(_data(of) for of in _classes()),
        ],
    )


def _classes():
    """What figures are drawn of, as their files say; and the head that a passage gives."""
    classes = [of for name in figure_names() for of in figure_named(name).of]
    return [*sorted(dict.fromkeys(classes), key=lambda of: of.__name__), DecodedAttention]


def _data(of):
    bases = [base for base in reversed(of.__mro__) if base.__module__.startswith("report.")]
    entries = {entry.name: entry for base in bases for entry in members(base)}
    return Section(f"Data: {of.__name__}", [*entries.values()], prose(of.__doc__))


def datasets_page() -> Reference:
    """A section a schema, with a link to it and what it says of each property."""
    return Reference(
        "datasets",
        "Datasets",
        "The files of numbers below a site's address, and the schemas that they fit.",
        [
            _schema(f"{name.replace('/', '-')}.json", json.loads(store.schema_text(name)))
            for name in store.schema_names()
        ],
    )


def _schema(name, schema):
    title, _, what = schema["title"].partition(": ")
    text = f"[{name}](../../schemas/{name}): {marked(what)}."
    if "description" in schema:
        text += f"\n\n{marked(schema['description'])}"
    required = schema.get("required", ())
    return Section(
        title,
        [
            Entry(key, marked(_description(about, schema)), "" if key in required else "Optional.")
            for key, about in schema["properties"].items()
            if key != "schema"
        ],
        text,
    )


def _description(about, schema):
    """What a property says of itself, else what the definition says that it refers to."""
    named = about.get("$ref", "").removeprefix("#/definitions/")
    definition = schema["definitions"][named] if named else {}
    return (definition | about).get("description", "")


IN_PLACE = "Options in place of front matter"


def commands_page(commands: typer.Typer) -> Reference:
    """A section a command, and one of the options that several of them have."""
    program = typer.main.get_command(commands)
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


def pages(commands: typer.Typer | None) -> list[Reference]:
    """All pages; commands: the command line, None: without its page."""
    listed = [commands_page(commands)] if commands else []
    return [front_matter_page(), *listed, in_prose.page(), figures_page(), datasets_page()]


def write_reference(site_src: Path, commands: typer.Typer | None = None) -> None:
    """Write `site_src/docs/reference` beside the documentation, if this publication has it."""
    docs = documentation(site_src)
    if docs is None:
        return
    template = environment().get_template("reference.md.j2")
    references = pages(commands)
    for reference in references:
        path = docs / "reference" / f"{reference.name}.md"
        files.write_text(path, template.render(reference=reference))
    names = {f"{reference.name}.md" for reference in references}
    files.remove_others((docs / "reference").glob("*.md"), names)
