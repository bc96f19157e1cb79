"""The keys of front matter, from the model that reads them."""

import inspect
import json
import re
from dataclasses import fields

from report.inputs.prompts import KEYS, Prompts
from report.pages.reference.documented import Entry, Reference, Section, attributes, code, prose
from report.study.front_matter import INSIDE, FrontMatter
from report.study.options import Options
from report.text import slug

KINDS = {"string": "a text", "integer": "a whole number", "number": "a number"}
"""Type in a JSON schema -> what it is called here."""


def page() -> Reference:
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
    schema, said = model.model_json_schema(), attributes(model)
    return [
        Entry(key, prose(said[key]), _about(key, schema, key in options))
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
        return " or ".join(_kind(one) for one in either if one.get("type") != "null")
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
