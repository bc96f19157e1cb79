"""Files that appear whole or not at all, names that lead out of no folder, and strict JSON."""

import hashlib
import json
import math
import os
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from report.errors import ReportError


def write_text(path: Path | str, text: str) -> None:
    """Write a text file (UTF-8) whole or not at all; an equal file is left untouched.

    raises: ReportError if the disk is full or the folder cannot be written
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path | str, content: bytes) -> None:
    """Write a file whole or not at all; an equal file is left untouched.

    An equal file keeps its time stamp, so a server does not send it again.
    raises: ReportError if the disk is full or the folder cannot be written
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
        raise cannot_write(path, error) from error


@contextmanager
def new_folder(path: Path | str) -> Iterator[Path]:
    """A folder that appears under its name only when the block ends without an error.

    yields: an empty temporary folder beside `path`; it replaces `path` at the end
    raises: ReportError if the disk is full or the folder cannot be written

    If the process is killed, `path` is the old folder, the new one, or missing. It is never a part
    of one. Leftovers beside `path` are removed when the folder is written again, or by
    `remove_leftovers`.
    """
    path = Path(path)
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        shutil.rmtree(leftover, ignore_errors=True)
    temporary, old = (path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp") for _ in range(2))
    try:
        try:
            temporary.mkdir(parents=True)
        except OSError as error:
            raise cannot_write(path, error) from error
        yield temporary
        try:
            if path.exists():
                path.rename(old)
            temporary.rename(path)
        except OSError as error:
            raise cannot_write(path, error) from error
    finally:
        for folder in (temporary, old):
            shutil.rmtree(folder, ignore_errors=True)


LEFTOVER = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")
"""Names that `write_bytes` and `new_folder` give to unfinished files and folders."""


def remove_leftovers(folder: Path | str, deep: bool = True) -> None:
    """Remove the unfinished files of a killed process. No other process may be writing there.

    deep: also look into the folders below
    """
    for path in list(Path(folder).glob("**/.*.tmp" if deep else ".*.tmp")):
        if LEFTOVER.fullmatch(path.name) and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif LEFTOVER.fullmatch(path.name):
            path.unlink(missing_ok=True)


def remove_others(paths: Iterable[Path], kept: Collection[str]) -> None:
    """Remove the files whose names are not in `kept`."""
    for path in paths:
        if path.is_file() and path.name not in kept:
            path.unlink()


def cannot_write(path: Path, error: OSError) -> ReportError:
    """The error for a file or folder that the system does not let us write."""
    return ReportError(
        f"cannot write {path}: {error.strerror or error}. "
        "Free some disk space or choose a folder that may be written."
    )


LONGEST_PART = 255
"""Bytes that a file system allows a name between two slashes."""


def is_plain(name: object) -> bool:
    """Whether a name leads nowhere but into a folder or below it.

    It is relative, has "/" between its parts, and no part is empty, "." or "..". Links are not
    looked at, see `inside`.
    """
    if not isinstance(name, str) or not name.isprintable() or "\\" in name:
        return False
    parts = name.split("/")
    return not {"", ".", ".."} & {*parts} and all(len(p.encode()) <= LONGEST_PART for p in parts)


def inside(folder: Path | str, name: str) -> Path:
    """The path of what a file, an article or a command names in a folder; it may be missing.

    Every name that was not made here goes through this before it is read or written.

    raises: ReportError if the name is not plain, see `is_plain`, or a part of it is a link
    """
    path = Path(folder)
    if not is_plain(name):
        raise ReportError(
            f"{path}: {str(name)[:80]!r} is no name of a file in this folder or below it; a name "
            "is relative and has no part '..'."
        )
    for part in name.split("/"):
        path /= part
        if path.is_symlink():
            raise ReportError(
                f"{path}: is a link, which may lead anywhere and is not followed; put the file or "
                "folder itself in its place."
            )
    return path


def sha256(*paths: Path | str) -> str:
    """SHA-256 over the contents of files in the order given, as hex digits."""
    digest = hashlib.sha256()
    for path in paths:
        with Path(path).open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def finite(digits: str) -> float:
    """A number of a JSON text as a float; ValueError if no float is that large."""
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:20]} is too large for a number")
    return number


def strict_json(
    text: str | bytes,
    parse_int: Callable[[str], object] = int,
    parse_float: Callable[[str], object] = finite,
) -> object:
    """The value of a JSON text. Python's own reader accepts more than JSON; this one does not.

    parse_int, parse_float: turn the digits of a number into its value
    raises: ValueError if the text is not JSON, a name comes twice in an object, or a number is NaN
        or infinite; RecursionError if lists lie too deep
    """
    return json.loads(
        text,
        object_pairs_hook=_without_duplicates,
        parse_int=parse_int,
        parse_float=parse_float,
        parse_constant=_refuse_constant,
    )


def _without_duplicates(pairs):
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name comes twice in an object")
    return values


def _refuse_constant(name):
    raise ValueError(f"{name} is not a JSON number")
