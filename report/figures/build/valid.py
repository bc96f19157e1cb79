"""Whether a specification is valid Vega-Lite, in a fifth of the time that Altair needs to say so.

Altair's own check tells what is wrong, and where. To do so it goes through every alternative of the
schema for every part of a chart, though most parts are those of another chart: the look, the axes,
the layers of the next panel. Here a part is judged once.
"""

import functools
import json

import altair
from jsonschema import Draft7Validator, ValidationError
from jsonschema.validators import extend

from report.figures.parts.figure import Spec

MOST = 20_000
"""Parts of charts that are remembered."""


def is_valid(spec: Spec) -> bool:
    """Whether the schema of Vega-Lite allows a specification, as `altair.Root.validate` says."""
    return _allows("#/definitions/TopLevelSpec", json.dumps(spec))


@functools.lru_cache(maxsize=MOST)
def _allows(definition, part):
    """Whether a definition of the schema, "#/definitions/…", allows a part, which is JSON."""
    schema = _definitions()[definition.removeprefix("#/definitions/")]
    return _validator().evolve(schema=schema).is_valid(json.loads(part))


def _of_definition(validator, definition, part, schema):
    """The keyword "$ref", as of `jsonschema`."""
    if not _allows(definition, json.dumps(part)):
        yield ValidationError("")  # Altair says what is wrong


@functools.cache
def _definitions():
    return altair.Root._schema["definitions"]


@functools.cache
def _validator():
    remembering = extend(Draft7Validator, {"$ref": _of_definition})
    return remembering(altair.Root._schema, format_checker=Draft7Validator.FORMAT_CHECKER)
