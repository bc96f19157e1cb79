"""Files that appear whole or not at all."""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from report.errors import ReportError


def write_text(path: Path, text: str) -> None:
    """Write a text file (UTF-8) whole or not at all; an equal file is left untouched.

    raises: ReportError when the disk is full or the folder cannot be written
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
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
def new_folder(path: Path) -> Iterator[Path]:
    """A folder that appears under its name only when the block ends without an error.

    yields: an empty temporary folder beside `path`; it replaces `path` at the end

    Whenever the process is killed, `path` is the old folder, the new one, or missing; it is never
    a part of one. What is left beside `path` goes when the folder is written again, or by
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
"""Names that `write_bytes` and `new_folder` give to what is not whole yet."""


def remove_leftovers(folder: Path, deep: bool = True) -> None:
    """Remove what a killed process was writing. No other process may be writing there now.

    deep: look into the folders below, too
    """
    for path in list(Path(folder).glob("**/.*.tmp" if deep else ".*.tmp")):
        if LEFTOVER.fullmatch(path.name) and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif LEFTOVER.fullmatch(path.name):
            path.unlink(missing_ok=True)


def remove_others(paths: Iterable[Path], kept: Collection[str]) -> None:
    """Remove the files that no longer belong here.

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


def sha256(*paths: Path) -> str:
    """Hex SHA-256 over the contents of files, in the order given."""
    digest = hashlib.sha256()
    for path in paths:
        with Path(path).open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
