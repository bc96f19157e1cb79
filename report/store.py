"""The wall between measuring and publishing: writes, checks and reads the dataset files.

Every dataset is a JSON file that names its schema in its first field ("attention/2"); the schema
is a file in `report/schemas` (attention-2.json), published with the site, and is checked when a
file is written and again when it is read. Nothing here, and nothing that reads from here, needs
torch.
"""

import functools
import hashlib
import json
import os
import re
import secrets
import shutil
from contextlib import contextmanager
from pathlib import Path

import fastjsonschema

from report.errors import ReportError

SCHEMAS = Path(__file__).parent / "schemas"


def schema_names():
    """The names of all schemas, e.g. ["attention/2", "manifest/1"]."""
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
            f"{source}: unknown dataset schema {name!r}; known: {', '.join(schema_names())}. "
            "Delete the file and run `make site`."
        )
    try:
        return _validator(name)(data)
    except fastjsonschema.JsonSchemaException as error:
        raise ReportError(
            f"{source}: does not satisfy schema {name}: {str(error)[:300]}. "
            "Delete the file and run `make site`."
        ) from error


def dumps(data):
    """`data` as compact JSON text; the same data gives the same bytes on every machine.

    raises: ReportError if a number is NaN or infinite (JSON has neither)
    """
    try:
        return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
    except ValueError as error:
        raise ReportError(f"a number to be published is not finite: {error}") from error


def read(path):
    """The dataset in a JSON file, checked against its schema.

    raises: ReportError if the file is missing, is not JSON or breaks its schema
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError as error:
        raise ReportError(f"{path}: no such dataset; run `make site` to measure it.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(f"{path}: cannot be read: {error}.") from error
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ReportError(
            f"{path}: is not JSON ({error}); delete the file and run `make site`."
        ) from error
    return check(data, path)


def _refuse_constant(name):
    raise ValueError(f"{name} is not a JSON number")


def write(path, data):
    """Check a dataset and write it as JSON, whole or not at all."""
    write_text(path, dumps(check(data, path)))


def write_text(path, text):
    """Write a text file (UTF-8) whole or not at all; an equal file is left untouched.

    raises: ReportError when the disk is full or the folder cannot be written
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path, content):
    """Write a file whole or not at all; an equal file is left untouched.

    Leaving equal files alone keeps their time stamps, so a server does not send them again.
    """
    path = Path(path)
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _cannot_write(path, error) from error


@contextmanager
def new_folder(path):
    """A folder that appears under its name only when the block ends without an error.

    yields: an empty temporary folder beside `path`; it replaces `path` at the end

    Whenever the process is killed, `path` is the old folder, the new one, or nothing, and never
    a part of one; what it leaves beside `path` goes when the folder is written again, or by
    `remove_leftovers`.
    """
    path = Path(path)
    for left in path.parent.glob(f".{path.name}.*.tmp"):
        shutil.rmtree(left, ignore_errors=True)
    temporary, old = (path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp") for _ in range(2))
    try:
        try:
            temporary.mkdir(parents=True)
        except OSError as error:
            raise _cannot_write(path, error) from error
        yield temporary
        try:
            if path.exists():
                path.rename(old)
            temporary.rename(path)
        except OSError as error:
            raise _cannot_write(path, error) from error
    finally:
        for folder in (temporary, old):
            shutil.rmtree(folder, ignore_errors=True)


LEFTOVER = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")
"""What `write_bytes` and `new_folder` call what is not whole yet."""


def remove_leftovers(folder, deep=True):
    """Remove what a process that was killed was writing; no other may be writing there now.

    deep: look into the folders below, too
    """
    for path in list(Path(folder).glob("**/.*.tmp" if deep else ".*.tmp")):
        if LEFTOVER.fullmatch(path.name) and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif LEFTOVER.fullmatch(path.name):
            path.unlink(missing_ok=True)


def remove_others(paths, kept):
    """Remove those of some files that nothing writes any more.

    kept: names of the files that stay
    """
    for path in paths:
        if path.is_file() and path.name not in kept:
            path.unlink()


def _cannot_write(path, error):
    return ReportError(
        f"cannot write {path}: {error.strerror or error}. "
        "Free some disk space or choose a folder that may be written."
    )


def sha256(*paths):
    """Hex SHA-256 over the contents of files, in the order given."""
    digest = hashlib.sha256()
    for path in paths:
        with Path(path).open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
