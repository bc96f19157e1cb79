"""Writes the reference, for a publication that has a documentation.

A page each: the keys of front matter, from the model that reads them; commands and their options,
from what `--help` says; what prose may use: functions, findings and filters; the fields of a
figure, and what it can ask its data for; the published schemas of datasets.
"""

import ast
import functools
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

import typer
from jinja2.filters import FILTERS
from pydantic import BaseModel

from report import files, kinds
from report.datasets import store
from report.datasets.formats import conditions
from report.datasets.formats.attention import DecodedAttention
from report.errors import NAME
from report.figures.build.find import figure_named, figure_names
from report.figures.parts.figure import Figure
from report.inputs.prompts import KEYS, Prompts
from report.kinds import folders
from report.kinds.passage.data import Token
from report.measures import shipped
from report.pages.article import FUNCTIONS, ArticleFigures
from report.pages.filters import markdown_text
from report.pages.templates import environment
from report.project import documentation
from report.study.front_matter import INSIDE, FrontMatter
from report.study.options import Options
from report.text import slug

ITEM = re.compile(r"([a-z_][\w, ]*): (.*)")
"""A line that begins what a docstring says of an argument, "returns" or "raises"."""


@dataclass(frozen=True)
class Entry:
    """One thing that is described."""

    name: str
    """As it is written in code."""
    text: str
    """Markdown."""
    about: str = ""
    """What stands above the text, Markdown: what it may be, and what it is by default."""


@dataclass(frozen=True)
class Section:
    """Entries under a heading."""

    title: str
    entries: list[Entry]
    text: str = ""
    """Markdown below the heading."""

    def anchor(self, entry: Entry) -> str:
        """The place of an entry on its page, from its name without arguments."""
        name = re.search(r"[\w.-]+", entry.name.lstrip("-"))[0]
        return f"{slug(self.title)}-{name.replace('.', '-')}"


@dataclass(frozen=True)
class Reference:
    """A page of the reference."""

    name: str
    """Of its file, without ending."""
    title: str
    description: str
    sections: list[Section]


def marked(text: str) -> str:
    """A sentence as Markdown in which only what stands in backquotes is more than plain text."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else markdown_text(part) for part in parts)


def code(text: object) -> str:
    """Any text in one line as a code span."""
    plain = " ".join(str(text).split())
    return f"`` {plain} ``" if "`" in plain else f"`{plain}`"


def prose(docstring: str | None) -> str:
    """A docstring as Markdown: paragraphs, and a list of what it says of arguments and errors."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(docstring or ""))
    return "\n\n".join(_paragraph(lines.splitlines(), n) for n, lines in enumerate(paragraphs))


def _paragraph(lines, number):
    """A paragraph as Markdown; only a later one than the first may be a list, by its first line.

    lines: of the paragraph; number: of it, from 0
    """
    if not number or not lines or not ITEM.match(lines[0]):
        return marked(" ".join(lines))
    items = []
    for line in lines:
        if item := ITEM.match(line):
            items.append((item[1], [item[2]]))
        else:
            items[-1][1].append(line)
    return "\n".join(f"- **{marked(name)}**: {marked(' '.join(words))}" for name, words in items)


def attributes(owner: type) -> dict[str, str]:
    """The docstrings below a class's annotated attributes in its source: name -> text, "" for none;
    for a model of pydantic, those of its bases too."""
    texts = {}
    if issubclass(owner, BaseModel):  # whose keys may be those of its bases
        for base in owner.__bases__:
            texts |= attributes(base) if base is not BaseModel else {}
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    for node, below in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            texts[node.target.id] = inspect.cleandoc(below.value.value) if text else ""
    return texts


def call(name: str, function: object) -> str:
    """How a function is called: its name and parameters, without types and `self`."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    ]
    return f"{name}{inspect.Signature(parameters)}"


def page() -> Reference:
    """Functions of every article, the findings of each kind of article, and filters."""
    functions = {name: getattr(ArticleFigures, name) for name in FUNCTIONS}
    filters = {name: each for name, each in environment().filters.items() if name not in FILTERS}
    return Reference(
        "prose",
        "In prose",
        "Functions, findings and filters that the template of an article may use.",
        [
            Section("Functions", _functions(functions)),
            *(_findings(kind) for kind in kinds.questions()),
            *_measures(),
            Section("Fields of a token", members(Token), "Such as of `data.tokens[0]`."),
            Section(
                "Filters", _functions(filters), "A filter stands behind a value: `value | filter`."
            ),
        ],
    )


def _functions(functions):
    return [Entry(call(name, each), prose(each.__doc__)) for name, each in functions.items()]


def _findings(kind):
    """A section of what `find` and its like know in an article of a kind."""
    names = folders.finding_names(kind)
    classes = {
        name: owner
        for name, owner in names.items()
        if name != "data" and owner and owner.__module__.startswith(kinds.__name__)
    }
    return Section(
        f"Findings of a {kind.rstrip('s')}",
        [
            entry
            for name, owner in classes.items()
            for base in reversed(owner.__mro__[:-1])
            for entry in members(base, f"{name}.")
        ],
        f"Templates have these names: {', '.join(map(code, sorted(names)))}.",
    )


def _measures():
    """Sections of what the argument `measure` may be."""
    of_passages = {
        name: f"{measure.shows.rstrip('.')}; {measure.unit}."
        for name, measure in sorted(shipped().items())
    }
    of_conditions = {name: f"{about}." for name, about in conditions.MEASURES.items()}
    of_conditions |= {"taken": "1 less `lambda`: what goes to the added segment."}
    return [
        Section(
            title,
            [Entry(name, prose(text[0].upper() + text[1:])) for name, text in known.items()],
            about,
        )
        for title, known, about in (
            ("Measures of a passage", of_passages, "What `find.strongest`, for one, takes."),
            ("Measures of conditions", of_conditions, "What `find.most`, for one, takes."),
        )
    ]


def members(owner: type, prefix: str = "") -> list[Entry]:
    """Entries of all that a class itself defines and explains; prefix: put before each name."""
    numbers = vars(sys.modules[owner.__module__])
    texts = {name: with_numbers(text, numbers) for name, text in attributes(owner).items() if text}
    entries = [Entry(prefix + name, prose(text)) for name, text in texts.items() if public(name)]
    for name, member in vars(owner).items():
        text = with_numbers(inspect.getdoc(member) or "", numbers)
        if not public(name) or not text:
            continue
        if inspect.isfunction(inspect.unwrap(member)):  # also one that keeps its results
            entries.append(Entry(prefix + call(name, member), prose(text)))
        elif isinstance(member, property | functools.cached_property):
            entries.append(Entry(prefix + name, prose(text)))
    return entries


def with_numbers(text: str, names: Mapping[str, object]) -> str:
    """A docstring in which a constant such as `MOST` is the number that it stands for.

    names: of the module, each with its value
    """
    for name in set(re.findall(r"`([A-Z][A-Z_]+)`", text)):
        if isinstance(names.get(name), int | float):
            text = text.replace(f"`{name}`", f"{names[name]}")
    return text


def public(name: str) -> bool:
    """Whether a name is meant for others."""
    return not name.startswith("_")


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
    if what["type"] == "object":
        return f"names, each with {_kind(what['additionalProperties'])}"
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
    return [front_matter_page(), *listed, page(), figures_page(), datasets_page()]


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
