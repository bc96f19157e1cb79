"""The list of a site's files with their SHA-256 sums: written by the build, compared by the check.

The build writes `SHA256SUMS` last, into the site, and it is published with it. It names every other
file; its own sum it cannot hold. A change of the list itself is noticed all the same, because the
check makes the list anew and compares every byte. `sha256sum --check SHA256SUMS` reads it too.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from report import files
from report.errors import ReportError

NAME = "SHA256SUMS"

LINE = re.compile(rb"(\\?)([0-9a-f]{64})  ([^\n]+)")

ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
"""How `sha256sum` writes what would break a line; such a line begins with a backslash."""

MEANT = re.compile(r"\\(.)", re.DOTALL)


def write_sums(folder: Path) -> None:
    """Write the list of all files below a folder into it.

    raises: ReportError if something there is no readable file, or as `files.write_bytes`
    """
    sums, unreadable = sums_of(folder)
    if unreadable:
        raise ReportError(f"{folder}: {unreadable[0]}; take it out of site_src.")
    files.write_bytes(Path(folder) / NAME, as_list(sums))


def require_site(folder: Path) -> None:
    """Stop for a folder that would be lost if a site were built there; it may be missing or empty.

    raises: ReportError naming a file that no list of a site names
    """
    try:
        listed, _ = _listed(files.read_bytes(folder / NAME))
    except OSError:
        listed = {}
    files.require_only(folder, {NAME, *listed})


def sums_of(folder: Path) -> tuple[dict[str, str], list[str]]:
    """The SHA-256 sum of every file below a folder but the list itself, by path, as hex digits.

    returns: also what is wrong with what cannot be listed: links and what else is no file, files
        that may not be read
    """
    sums, problems = {}, []
    for path in Path(folder).rglob("*"):
        name = path.relative_to(folder).as_posix()
        if name == NAME:
            continue
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            problems.append(f"{name}: is a link or a device, not a file")
        elif path.is_file():
            try:
                sums[name] = files.sha256(path)
            except OSError as error:
                problems.append(f"{name}: cannot be read ({error.strerror})")
    return sums, sorted(problems)


def as_list(sums: Mapping[str, str]) -> bytes:
    """The text of the list: a line a file, sorted by the bytes of their names.

    sums: by path
    """
    named = sorted((os.fsencode(name), name, value) for name, value in sums.items())
    return b"".join(_line(name, value) for _, name, value in named)


def _line(name, value):
    escaped = "".join(ESCAPED.get(letter, letter) for letter in name)
    mark = "\\" if escaped != name else ""
    return os.fsencode(f"{mark}{value}  {escaped}\n")


def with_files(content: bytes, added: Mapping[str, bytes]) -> bytes:
    """A list with the sums of more files.

    content: the list; added: the content of each file, by path
    """
    sums, _ = _listed(content)
    more = {name: hashlib.sha256(text).hexdigest() for name, text in added.items()}
    return as_list(sums | more)


def _listed(content):
    """The sums in a list by path, and what is wrong with its lines."""
    sums, problems = {}, []
    for number, line in enumerate(content.split(b"\n"), start=1):
        match = LINE.fullmatch(line)
        if match:
            name = os.fsdecode(match[3])
            sums[MEANT.sub(_meant, name) if match[1] else name] = match[2].decode()
        elif line:
            problems.append(f"{NAME}: line {number} is not a SHA-256 sum and a name")
    return sums, problems


def _meant(escaped):
    return {"n": "\n", "r": "\r"}.get(escaped[1], escaped[1])


def problems(folder: Path) -> list[str]:
    """What differs between a site and its list, as phrases that begin with the file.

    folder: of the site
    """
    try:
        content = files.read_bytes(Path(folder) / NAME)
    except FileNotFoundError:
        return [f"{NAME}: is missing, so no file can be compared; build the site again"]
    except OSError as error:
        return [f"{NAME}: cannot be read ({error.strerror})"]
    there, phrases = sums_of(folder)
    if content == as_list(there):
        return phrases
    listed, wrong = _listed(content)
    phrases += wrong
    phrases += [
        f"{name}: is in {NAME}, but not in the site" for name in listed.keys() - there.keys()
    ]
    phrases += [
        f"{name}: is in the site, but not in {NAME}" for name in there.keys() - listed.keys()
    ]
    phrases += [
        f"{name}: is not the file that was built"
        for name in listed.keys() & there.keys()
        if listed[name] != there[name]
    ]
    return sorted(phrases) or [f"{NAME}: its lines are not as the build wrote them"]
