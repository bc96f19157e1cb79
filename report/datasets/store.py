"""The wall between measuring and publishing: writes, checks and reads the dataset files.

Every dataset is a JSON file that names its schema in its first field ("attention/3"). The schema is
a file in `report/datasets/schemas` (attention-3.json) and is published with the site. It is checked
when a file is written and again when it is read. Nothing here, and nothing that reads from here,
needs torch.
"""

import functools
import hashlib
import json
import math
import re
from pathlib import Path

import fastjsonschema

from report.errors import ReportError
from report.files import write_text

SCHEMAS = Path(__file__).parent / "schemas"


def schema_names():
    """The names of all schemas, e.g. ["attention/3", "manifest/1"]."""
    return sorted("/".join(path.stem.rsplit("-", 1)) for path in SCHEMAS.glob("*.json"))


@functools.cache
def _validator(schema):
    path = SCHEMAS / f"{schema.replace('/', '-')}.json"
    return fastjsonschema.compile(json.loads(path.read_text("utf-8")))


def check(data, source):
    """Return `data` if it satisfies the schema that it names.

    raises: ReportError naming `source`, the field and what is wrong
    """
    name = data.get("schema") if isinstance(data, dict) else None
    if name not in schema_names():
        raise ReportError(
            f"{source}: unknown dataset schema {repr(name)[:40]}; known: "
            f"{', '.join(schema_names())}. Delete the file and run `make site`."
        )
    try:
        return _validator(name)(data)
    except fastjsonschema.JsonSchemaException as error:
        raise ReportError(
            f"{source}: does not satisfy schema {name}: {_first_line(error)}. "
            "Delete the file and run `make site`."
        ) from error


def dumps(data):
    """`data` as compact JSON text; the same data gives the same bytes on every machine.

    raises: ReportError if a number is NaN or infinite (JSON has neither), or lists lie too deep
    """
    try:
        return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
    except ValueError as error:
        raise ReportError(f"a number to be published is not finite: {error}") from error
    except RecursionError as error:
        raise ReportError("what is to be published lies too deep inside of itself.") from error


def read(path):
    """The dataset in a JSON file, checked against its schema.

    raises: ReportError if the file is missing, is not JSON or breaks its schema
    """
    return _parsed(_bytes(path), path)


def read_manifest(folder):
    """The manifest/1 dataset of a folder; ReportError as `read`, or if its seal is broken."""
    path = Path(folder) / "manifest.json"
    manifest = read(path)
    if not is_whole(manifest):
        raise ReportError(
            f"{path}: is not the manifest that was written; delete it and run `make site`."
        )
    return manifest


def read_measured(folder, name, manifest):
    """The dataset of that name in a folder, if it is the one that was measured.

    manifest: the manifest/1 dataset of the folder; names that it does not list are not compared
    raises: ReportError as `read`, or if the file is another than the manifest tells of
    """
    path = Path(folder) / name
    content, told = _bytes(path), manifest["files"].get(name)
    if told and hashlib.sha256(content).hexdigest() != told["sha256"]:
        raise ReportError(
            f"{path}: is not the file that was measured; delete it and run `make site`."
        )
    return _parsed(content, path)


def sealed(manifest):
    """A manifest/1 dataset with a checksum of what it says, by which damage is seen."""
    return manifest | {"seal": _seal(manifest)}


def is_whole(manifest):
    """Whether a manifest/1 dataset says what it said when it was written."""
    return "seal" not in manifest or manifest["seal"] == _seal(manifest)


def _seal(manifest):
    # the day is left out: two measurements of the same have the same seal
    told = {name: value for name, value in manifest.items() if name not in ("seal", "date")}
    read = json.loads(json.dumps(told), parse_float=_finite)  # as it is when it is read back
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()


def _bytes(path):
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise ReportError(f"{path}: no such dataset; run `make site` to measure it.") from error
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror}.") from error


def _parsed(content, path):
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ReportError(f"{path}: cannot be read: {error}.") from error
    try:
        data = _values(text)
        if HALF.search(text):
            json.dumps(data, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise ReportError(
            f"{path}: is not JSON ({_first_line(error)}); delete the file and run `make site`."
        ) from error
    return check(data, path)


def _values(text):
    return json.loads(
        text,
        object_pairs_hook=_without_duplicates,
        parse_int=_exact,
        parse_float=_finite,
        parse_constant=_refuse_constant,
    )


HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""How JSON writes half a character, which no file that we write can hold."""

LARGEST_WHOLE = 2**63 - 1
"""Sums of shards are as large as arrays hold; what is published is far smaller."""

EXACT = 2**53
"""Floats are all whole from here on, and not exact."""


def _exact(digits):
    if len(digits) > 20 or abs(int(digits)) > LARGEST_WHOLE:
        raise ValueError(f"{digits[:20]}… is too large to be a number of a dataset")
    return int(digits)


def _finite(digits):
    """A float; a whole one as int, for readers may take it as an index."""
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:20]} is too large to be a number of a dataset")
    return int(number) if number.is_integer() and abs(number) <= EXACT else number


def _without_duplicates(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name comes twice in an object")
    return found


def _refuse_constant(name):
    raise ValueError(f"{name} is not a JSON number")


def _first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def write(path, data):
    """Check a dataset and write it as JSON, whole or not at all.

    raises: ReportError if it breaks its schema, if it could not be read again (numbers beyond
        LARGEST_WHOLE, halves of characters), or as `write_text`
    """
    text = dumps(check(data, path))
    try:
        _values(text)
        text.encode("utf-8")
    except ValueError as error:
        raise ReportError(f"{path}: is not written: {_first_line(error)}.") from error
    write_text(path, text)
