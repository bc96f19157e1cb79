"""The published schemas of datasets."""

import json

from report.datasets import store
from report.pages.reference.documented import Entry, Reference, Section, marked


def page() -> Reference:
    """A section a schema, with a link to it and what it says of each property."""
    paths = sorted(store.SCHEMAS.glob("*.json"))
    return Reference(
        "datasets",
        "Datasets",
        "The files of numbers below a site's address, and the schemas that they fit.",
        [_schema(path.name, json.loads(path.read_text("utf-8"))) for path in paths],
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
            Entry(key, marked(_said(about, schema)), "" if key in required else "Optional.")
            for key, about in schema["properties"].items()
            if key != "schema"
        ],
        text,
    )


def _said(about, schema):
    """What a property says of itself, else what the definition says that it refers to."""
    named = about.get("$ref", "").removeprefix("#/definitions/")
    definition = schema["definitions"][named] if named else {}
    return (definition | about).get("description", "")
