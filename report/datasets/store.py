"""The wall between measuring and publishing: writes, checks and reads the dataset files.

Every dataset is a JSON file that names its schema in its first field ("attention/4"). The schema is
a file in `report/datasets/schemas` (attention-4.json), or in the folder of the kind of article that
alone has it, and is published with the site. A file is checked against it when it is written and
again when it is read. Nothing here needs torch, nor does anything that reads datasets.
"""

import functools
import hashlib
import json
import re
from pathlib import Path

import fastjsonschema

from report.datasets.damaged import damaged
from report.errors import ReportError, command
from report.files import finite, inside, opened, require_only, strict_json, write_text
from report.kinds import folders_of_kinds

SCHEMAS = Path(__file__).parent / "schemas"
MANIFEST = "manifest/1"
OF_KIND = "manifest.json"
"""In the folder of a kind: dict of its name, and of what it has measured apart, to the entries of a
manifest that these have: which are required, and the properties that no other kind has defined."""

LARGEST = 200_000_000
"""Bytes of a dataset; GitHub takes no file of more than half of it."""


@functools.cache
def _schema_files():
    """Name of a schema -> its file."""
    of_kinds = (folder.glob("*/*-[0-9]*.json") for folder in folders_of_kinds())
    paths = [*SCHEMAS.glob("*.json"), *(path for each in of_kinds for path in each)]
    return {"/".join(path.stem.rsplit("-", 1)): path for path in paths}


@functools.cache
def schema_names() -> list[str]:
    """The names of all schemas, e.g. ["attention/4", "manifest/1"]."""
    return sorted(_schema_files())


def schema_text(name: str) -> str:
    """The JSON schema of that name; that of a manifest has the entries of every kind."""
    text = _schema_files()[name].read_text("utf-8")
    return dumps(_with_kinds(json.loads(text))) if name == MANIFEST else text


def _with_kinds(manifest):
    of_kinds = {}
    for folder in folders_of_kinds():
        for path in sorted(folder.glob(f"*/{OF_KIND}")):
            of_kinds |= json.loads(path.read_text("utf-8"))
    properties, conditions = dict(manifest["properties"]), []
    properties["kind"] = properties["kind"] | {"enum": [*of_kinds]}
    for kind, about in of_kinds.items():
        twice = properties.keys() & about["properties"].keys()
        assert not twice, f"{OF_KIND} of {kind} defines {twice}, as another one does"
        properties |= about["properties"]
        then = {"required": about["required"], **about.get("then", {})}
        conditions.append({"if": {"properties": {"kind": {"const": kind}}}, "then": then})
    return manifest | {"allOf": conditions, "properties": properties}


@functools.cache
def _validator(name):
    return fastjsonschema.compile(json.loads(schema_text(name)))


def check(data: object, source: Path | str) -> dict:
    """Return `data` if it satisfies the schema that it names.

    source: where the data are from, for the message
    raises: ReportError naming `source`, the field and what is wrong
    """
    name = data.get("schema") if isinstance(data, dict) else None
    if name not in schema_names():
        raise damaged(
            f"{source}: unknown dataset schema {repr(name)[:40]} (known: "
            f"{', '.join(schema_names())})"
        )
    try:
        return _validator(name)(data)
    except fastjsonschema.JsonSchemaException as error:
        raise damaged(f"{source}: does not satisfy schema {name}: {_first_line(error)}") from error


def dumps(data: object) -> str:
    """`data` as compact JSON text; the same data gives the same bytes on every machine.

    raises: ReportError if a number is NaN or infinite (JSON has neither), or lists lie too deep
    """
    try:
        return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
    except ValueError as error:
        raise ReportError(
            f"a number to be published is not finite: {error}; give None in its place"
        ) from error
    except RecursionError as error:
        raise ReportError(
            "data to be published is nested too deeply; give plain lists and dicts."
        ) from error


def read(path: Path | str) -> dict:
    """The dataset in a JSON file, checked against its schema.

    raises: ReportError if the file is missing, is not JSON or breaks its schema
    """
    return _parsed(_bytes(path), path)


def read_manifest(folder: Path | str) -> dict:
    """The manifest/1 dataset of a folder.

    raises: ReportError as `read` and `inside`, or if its seal is broken
    """
    path = inside(folder, "manifest.json")
    manifest = read(path)
    if not is_whole(manifest):
        raise damaged(f"{path}: is not the manifest that was written")
    return manifest


def read_measured(folder: Path | str, name: str, manifest: dict) -> dict:
    """The dataset of that name in a folder, if it is the one that was measured.

    manifest: the manifest/1 dataset of the folder; a file it does not list is not compared
    raises: ReportError as `read` and `inside`, or if the checksum is not the one in the manifest
    """
    path = inside(folder, name)
    content, listed = _bytes(path), manifest["files"].get(name)
    if listed and hashlib.sha256(content).hexdigest() != listed["sha256"]:
        raise damaged(f"{path}: is not the file that was measured")
    return _parsed(content, path)


KEY = re.compile("[0-9a-f]{12}")
"""Names of folders of datasets."""
NAME = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*\.json")
"""Names of datasets, from their folder."""


def require_datasets(folder: Path) -> None:
    """Stop for a folder that holds anything but one measurement's datasets; it may be missing.

    raises: ReportError naming what else it holds, or the folder if its name is no key
    """
    there = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
    try:
        known = {"manifest.json", *read(folder / "manifest.json")["files"]}
    except ReportError:  # damaged: then their names tell them
        known = filter(NAME.fullmatch, there if KEY.fullmatch(folder.name) else ())
    require_only(folder, known)


def sealed(dataset: dict) -> dict:
    """A manifest/1 or batch/3 dataset with its seal: a checksum of its content, which reveals
    damage."""
    return dataset | {"seal": _seal(dataset)}


def is_whole(dataset: dict) -> bool:
    """Whether a sealed dataset still has the content that its seal was made of."""
    return dataset.get("seal") == _seal(dataset)


def _seal(dataset):
    # without the day: measuring the same again gives the same seal
    content = {name: value for name, value in dataset.items() if name not in ("seal", "date")}
    content = json.loads(json.dumps(content), parse_float=_number)  # as when it is read back
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _bytes(path):
    try:
        with opened(path) as file:
            content = file.read(LARGEST + 1)
        if len(content) <= LARGEST:
            return content
    except FileNotFoundError as error:
        raise ReportError(
            f"{path}: no such dataset; run `{command('site')}` to measure it."
        ) from error
    except OSError as error:
        raise ReportError(
            f"{path}: cannot be read: {error.strerror}; make it readable, or delete it and run "
            f"`{command('site')}`."
        ) from error
    raise ReportError(
        f"{path}: has more than {LARGEST / 1e6:.0f} MB, which no dataset has; delete it and run "
        f"`{command('site')}`."
    )


def _parsed(content, path):
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ReportError(
            f"{path}: cannot be read: {error}; delete it and run `{command('site')}`."
        ) from error
    try:
        data = _values(text)
        if HALF.search(text):
            json.dumps(data, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise damaged(f"{path}: is not JSON ({_first_line(error)})") from error
    return check(data, path)


def _values(text):
    whole = _whole_number if LONG.search(text) else int
    return strict_json(text, parse_int=whole, parse_float=_number)


LONG = re.compile(r"\d{19}")
"""Digits that may be more than LARGEST_WHOLE. Most texts have none, and hundreds of thousands of
numbers, which are read in half the time if not each of them is compared."""

HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""How JSON writes a lone surrogate, which no file that we write can hold."""

LARGEST_WHOLE = 2**63 - 1
"""The sums of a batch may be as large as an int64; published numbers are far smaller."""

EXACT = 2**53
"""From here on a float cannot hold every whole number."""


def _whole_number(digits):
    if len(digits) > 20 or abs(int(digits)) > LARGEST_WHOLE:
        raise ValueError(f"{digits[:20]}… is too large for a number of a dataset")
    return int(digits)


def _number(digits):
    """A float; a whole number as int, because a reader may use it as an index."""
    number = finite(digits)
    return int(number) if number.is_integer() and abs(number) <= EXACT else number


def _first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def as_read(data: dict, source: str) -> dict:
    """What writing a dataset and reading it gives; ReportError as `write`."""
    return _values(dumps(check(data, source)))


def write(path: Path | str, data: dict) -> None:
    """Check a dataset and write it as JSON, whole or not at all.

    raises: ReportError as `text_of` or `write_text`
    """
    write_text(path, text_of(data, path))


def text_of(data: dict, path: Path | str) -> str:
    """A dataset as it is written, once it is checked; path: for messages.

    raises: ReportError if it breaks its schema, or could not be read again (whole numbers beyond
        LARGEST_WHOLE, lone surrogates)
    """
    text = dumps(check(data, path))
    try:
        _values(text)
        text.encode("utf-8")
    except ValueError as error:
        raise ReportError(f"cannot write {path}: {_first_line(error)}.") from error
    return text
