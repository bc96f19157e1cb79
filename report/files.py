"""Files that appear whole or not at all, names that lead out of no folder, and strict JSON.

They are in one file because every write is whole, stays where it belongs, and replaces nothing of
an author's.
"""

import errno
import fcntl
import glob
import hashlib
import json
import math
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from report.errors import INSTALLED, PACKAGE, ReportError

SHIPPED = PACKAGE if INSTALLED else PACKAGE.parent
"""Where `mkdocs.yml`, `templates/` and `site_src/images/` lie that publications are made with."""
TEMPLATES = SHIPPED / "templates"

LARGEST_TEXT, LARGEST_YAML = 20_000_000, 1_000_000
"""Bytes of a text that an author writes, and of settings, which take some ten seconds to read."""
TEXTS = dict.fromkeys(
    (".bib", ".css", ".html", ".j2", ".js", ".md", ".mjs", ".py", ".svg"), LARGEST_TEXT
)
TEXTS |= dict.fromkeys((".toml", ".yaml", ".yml"), LARGEST_YAML)
"""Ending -> the bytes that it may have."""


NOT_MEANT = re.compile(r"\..*|.*~|#.*#|__pycache__|4913")
"""Names of what editors, systems and Python leave beside files."""


def meant(paths: Iterable[Path]) -> list[Path]:
    """Those paths, sorted, that an author means: no name is of `NOT_MEANT`."""
    return sorted(path for path in paths if not NOT_MEANT.fullmatch(path.name))


def opened(path: Path | str) -> BinaryIO:
    """A file, open to be read as bytes.

    raises: OSError, also for what is no file: of a pipe the reader would wait without end
    """
    return open(path, "rb", opener=_open_file)


def _open_file(path, flags):
    number = os.open(path, flags | os.O_NONBLOCK)
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # of which `open` says that it is one
        return number
    os.close(number)
    raise OSError(errno.EINVAL, "it is no file", str(path))


def read_bytes(path: Path | str) -> bytes:
    """The content of a file; OSError as `opened`."""
    with opened(path) as file:
        return file.read()


def write_text(path: Path | str, text: str) -> None:
    """Write a text file (UTF-8) whole or not at all; an equal file is left untouched.

    raises: ReportError if the disk is full or the folder cannot be written
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path | str, content: bytes) -> None:
    """Write a file whole or not at all; an equal file is left untouched.

    An equal file keeps its time stamp, so a server does not send it again. What killed processes
    left of the file is removed.
    raises: ReportError if the disk is full, the folder cannot be written, or within `only_ours` if
        the program did not write the file that is there, or a text is longer than `TEXTS` allows
    """
    path = Path(path)
    if _ours and _ours.name(path):
        require_text(path, len(content))
    _remove_unheld(_unfinished_of(path))
    try:
        equal = path.is_file() and path.read_bytes() == content
        if not equal and os.path.lexists(path):
            require_ours(path)
        _list(path)
        if equal:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        _put_file(content, path)
    except OSError as error:
        raise cannot_write(path, error) from error


def _put_file(content, path):
    """Put a file in the place of what is there; held meanwhile, as `_made` holds a folder."""
    while True:
        temporary = path.with_name(_unfinished_name(path.name))
        try:
            with temporary.open("wb") as file, _held(temporary):
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                with suppress(FileNotFoundError):  # removed as a leftover before it was held
                    temporary.replace(path)
                    return
        finally:
            temporary.unlink(missing_ok=True)


LIST = ".report.made"
"""File of a project's folder that lists what the program wrote where authors may write too, a path
a line, and blank ones. It only grows: a name is in it before the file is there."""


class _Ours:
    """What a program wrote below some folders of a project; see `only_ours`."""

    def __init__(self, root, folders):
        self.root = root.resolve()
        self.folders = [folder.resolve() for folder in folders]
        self.names = self._listed()

    def _listed(self):
        try:
            return set(read_bytes(inside(self.root, LIST)).decode("utf-8").split("\n"))
        except FileNotFoundError:
            return set()
        except (OSError, ValueError) as error:
            raise ReportError(
                f"{self.root / LIST}: cannot be read or is damaged; delete it, and what was built "
                f"below {', '.join(folder.name for folder in self.folders)}."
            ) from error

    def has(self, name):
        """Whether a path is listed, perhaps since this process looked: several draw articles."""
        if name not in self.names:
            self.names = self._listed()
        return name in self.names

    def name(self, path):
        """A path as it is listed, None for one that is not looked after."""
        path = path.parent.resolve() / path.name
        name = path.relative_to(self.root).as_posix() if self._guards(path) else None
        return None if name is None or _leftover(name) else name

    def _guards(self, path):
        return any(path.is_relative_to(folder) for folder in self.folders)

    def add(self, name):
        if name not in self.names:
            with (self.root / LIST).open("ab", 0) as file:
                # before it too: a disk that was full may have left a part of a name
                file.write(f"\n{name}\n".encode())
                os.fsync(file.fileno())  # or after a power cut the file is there without its name
            self.names.add(name)


_ours: _Ours | None = None


@contextmanager
def only_ours(root: Path, folders: Collection[Path]) -> Iterator[None]:
    """A block in which files below some folders are replaced or removed only if an earlier such
    block wrote them, by `write_bytes`: it lists them in the file `LIST` of the folder `root`.

    raises: ReportError if that list cannot be read
    """
    global _ours  # what writes is called from everywhere, and a process makes one build at a time
    before, _ours = _ours, _Ours(root, folders)
    try:
        yield
    finally:
        _ours = before


def ours() -> tuple[Path, Collection[Path]] | None:
    """What the block of `only_ours` was given, for another process that has a part in it."""
    return _ours and (_ours.root, _ours.folders)


def _list(path):
    name = _ours and _ours.name(path)
    if name:
        _ours.add(name)


def require_ours(path: Path) -> None:
    """Stop for a file that is not the program's, where `only_ours` looks after it.

    raises: ReportError
    """
    name = _ours and _ours.name(path)
    if name and not _ours.has(name):
        raise ReportError(
            f"{path}: is where the program writes, but is not known as written by it. If it is "
            "yours, move it to another name; if not, delete it; then run the command again."
        )


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it.

    raises: ReportError, before anything is removed, if the program did not write all of it and
        `only_ours` looks after it
    """
    folder = path.is_dir() and not path.is_symlink()
    inside = path.rglob("*") if folder else [path]
    for each in inside:
        if os.path.lexists(each) and (each.is_symlink() or not each.is_dir()):
            require_ours(each)
    if folder:
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


SYSTEMS = {".DS_Store", "Thumbs.db", "desktop.ini"}
"""Files that file managers leave in folders that somebody looked at."""


def require_only(folder: Path, names: Collection[str]) -> None:
    """Stop for a folder that holds anything but files of these names; it may be missing.

    names: paths from the folder, with "/"
    raises: ReportError that says which file
    """
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise ReportError(
            f"{folder}: is {'a link' if folder.is_symlink() else 'a file'}, and the program would "
            "put a folder in its place; move it to another name."
        )
    known = {*names}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        there = path.is_symlink() or not path.is_dir()
        if there and name not in known and path.name not in SYSTEMS and not _leftover(name):
            raise ReportError(
                f"{path}: is not known as written by the program, which would remove it with "
                f"{folder}; move it to another place."
            )


@contextmanager
def new_folder(path: Path | str) -> Iterator[Path]:
    """A folder that appears under its name only when the block ends without an error.

    A folder that is there is replaced with all that it holds: see `require_only` for whose it is.
    yields: an empty temporary folder beside `path`; it replaces `path` at the end
    raises: ReportError if the disk is full, the folder cannot be written, or a file or a link has
        its name

    If the process is killed, `path` is the old folder, the new one, or missing. It is never a part
    of one. Leftovers beside `path` are removed when the folder is written again, or by
    `remove_leftovers`. Of several processes that write it at once, each writes a whole folder, and
    the last one stays.
    """
    path = Path(path)
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        require_only(path, ())
    _remove_unheld(_unfinished_of(path))
    with ExitStack() as stack:
        try:
            temporary = _made(path, stack)
        except OSError as error:
            raise cannot_write(path, error) from error
        yield temporary
        try:
            _put(temporary, path, stack)
        except OSError as error:
            raise cannot_write(path, error) from error


@contextmanager
def own_folder(name: str) -> Iterator[Path]:
    """A folder among the system's temporary ones that is gone when the block ends.

    Nobody else can read it. What a killed process left is removed by `remove_leftovers`.
    raises: ReportError if there is no room for it
    """
    with ExitStack() as stack:
        path = Path(tempfile.gettempdir()) / name
        _remove_unheld(_unfinished_of(path))
        try:
            temporary = _made(path, stack, 0o700)
        except OSError as error:
            raise cannot_write(path, error) from error
        yield temporary


def _made(path, stack, mode=0o777):
    """A new folder beside `path`, held until the stack ends, which removes what is left of it."""
    while True:
        temporary = _unfinished(path, stack)
        temporary.mkdir(parents=True, mode=mode)
        stack.enter_context(_held(temporary))
        if temporary.is_dir():  # another process may have removed it before it was held
            return temporary


def _put(temporary, path, stack):
    """Rename a folder to `path`; what was there is removed."""
    while True:
        with suppress(FileNotFoundError):  # another process may have put it aside just now
            path.rename(_unfinished(path, stack))
        try:
            return temporary.rename(path)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise  # else another process has just put its own folder there


def _unfinished(path, stack):
    """A name beside `path` that nothing has; the end of the stack removes what has it then."""
    temporary = path.with_name(_unfinished_name(path.name))
    stack.callback(shutil.rmtree, temporary, ignore_errors=True)
    return temporary


@contextmanager
def _held(folder, wait=True):
    """Hold a folder, so that no other process takes it for a leftover; yields whether it is held.

    The system lets it go when the process ends. A file system without such locks holds nothing.
    """
    try:
        number = os.open(folder, os.O_RDONLY | os.O_NONBLOCK)  # of a pipe, nobody may write
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            held = True
        except OSError as error:
            held = error.errno not in (errno.EAGAIN, errno.EACCES)
        yield held
    finally:
        os.close(number)


@contextmanager
def unreplaced(folder: Path | str) -> Iterator[None]:
    """A block that reads a folder which `new_folder` may put another in the place of.

    raises: ReportError if that happened, whatever else went wrong in the block
    """
    before = _identity(folder)
    try:
        yield
    except (OSError, ReportError) as error:
        if _identity(folder) != before:
            raise _replaced(folder) from error
        raise
    if _identity(folder) != before:
        raise _replaced(folder)


def _identity(folder):
    """What tells a folder from another of the same name; None if there is none."""
    try:
        about = Path(folder).stat()
        return about.st_dev, about.st_ino
    except OSError:
        return None


def _replaced(folder):
    return ReportError(
        f"{folder}: was built anew while it was read; run the command again when the build is done."
    )


LEFTOVER = re.compile(r"\.(.+)\.[0-9a-f]{8}\.report\.tmp")
"""Names of unfinished files and folders, which no other program has: a folder may be anybody's."""


def _unfinished_name(name):
    return f".{name}.{secrets.token_hex(4)}.report.tmp"


def _unfinished_of(path):
    """What is there under names as of `_unfinished_name` for a path, held or not."""
    return [*path.parent.glob(f".{glob.escape(path.name)}.*.tmp")]


def _leftover(name):
    """Whether a path is of an unfinished file, or within an unfinished folder."""
    return any(LEFTOVER.fullmatch(part) for part in name.split("/"))


def remove_leftovers(folder: Path | str, deep: bool = False) -> None:
    """Remove the unfinished files and folders of killed processes; those of others stay.

    deep: also look into the folders below
    """
    _remove_unheld(list(Path(folder).glob("**/.*.tmp" if deep else ".*.tmp")))


def _remove_unheld(paths):
    for path in paths:
        match = LEFTOVER.fullmatch(path.name)
        with _held(path, wait=False) if match else nullcontext() as free:
            if free and path.is_dir():
                _remove_left(path, match[1])
            elif free:
                with suppress(OSError):
                    path.unlink()


def _remove_left(folder, name):
    """Remove a folder that a program of the killed process may still write into: under another
    name, where that program does not find it, and again if it put something there meanwhile."""
    with suppress(OSError):
        folder = folder.rename(folder.with_name(_unfinished_name(name)))
    for _ in range(10):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return


def remove_others(paths: Iterable[Path], names: Collection[str]) -> None:
    """Remove the files whose names are not in `names`; ReportError as `remove`."""
    for path in paths:
        if path.is_file() and path.name not in names:
            remove(path)


def cannot_write(path: Path, error: OSError) -> ReportError:
    """The error for a file or folder that the system does not let us write."""
    advice = "Choose a folder that may be written."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        advice = "Free some disk space or choose a folder that may be written."
    elif error.errno in (errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP, errno.ENXIO):
        way = next(filter(os.path.lexists, (path, *Path(path).parents)), path)
        advice = f"{way} is in the way; move it to another name."
    return ReportError(f"cannot write {path}: {error.strerror or error}. {advice}")


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


def require_within(path: Path | str, root: Path, allowed: Collection[str] = ()) -> None:
    """Stop for a file whose content would be published, though it lies outside the project.

    A name is judged by where it leads, so a link inside the project does not help.

    root: folder of the project; allowed: files and folders elsewhere that the command line named
    raises: ReportError that says where the file lies
    """
    file = Path(os.path.realpath(path))
    if any(file.is_relative_to(os.path.realpath(folder)) for folder in (root, *allowed)):
        return
    link = f"{path} leads out through a link: " if Path(path).is_symlink() else ""
    raise ReportError(
        f"{link}the file {file} lies outside the project, and what is in it would be published; "
        f"copy it into the project, or name it on the command line too: --allow-file {file}"
    )


def require_all_within(folder: Path, root: Path, allowed: Collection[str] = ()) -> None:
    """Stop for what must not end in a site, in a folder that is published; it may be missing.

    Links are followed, as by what builds sites.

    root, allowed: as of `require_within`
    raises: ReportError for a link that leads out of the project, nowhere, or to a folder that it
        lies in; for what is neither a file nor a folder; and, but for what the program wrote
        itself, as `require_text`
    """
    if os.path.lexists(folder):
        require_within(folder, root, allowed)
        require_text(Path(folder))
    for where, folders, names in os.walk(folder, followlinks=True):
        for path in (Path(where, name) for name in (*folders, *names)):
            there = path.is_file() or path.is_dir()
            if path.is_symlink() and (there or not path.name.startswith(".")):
                require_within(path, root, allowed)
                there &= os.path.realpath(path) not in map(
                    os.path.realpath, path.absolute().parents
                )
            elif path.is_symlink():
                continue  # of an editor, for instance
            if not there:
                raise ReportError(
                    f"{path}: is neither a file nor a folder, or a link that leads nowhere or to a "
                    "folder that it lies in; put the file or folder itself there, or take it out."
                )
            if not (_ours and _ours.name(path) in _ours.names):  # it is written anew, or removed
                require_text(path)


def require_text(path: Path, size: int | None = None) -> None:
    """Stop for a text, or settings, that would take minutes and gigabytes to read.

    size: its bytes; None: those of the file that is there
    raises: ReportError that says how large it is, and may be; nothing of what is missing or no text
    """
    most = TEXTS.get(path.suffix)
    if most and size is None:
        size = path.stat().st_size if path.is_file() else 0
    if most and size > most:
        raise ReportError(
            f"{path}: has {size / 1e6:,.1f} MB, and a text of its kind may have "
            f"{most / 1e6:.0f}; make it shorter, or several of it."
        )


def sha256(*paths: Path | str) -> str:
    """SHA-256 over the contents of files in the order given, as hex digits."""
    digest = hashlib.sha256()
    for path in paths:
        with opened(path) as file:
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
    raises: ValueError if the text is not JSON, a name in an object has two values, a number is NaN
        or infinite; RecursionError if lists lie too deep
    """
    return json.loads(
        text,
        object_pairs_hook=_with_one_value,
        parse_int=parse_int,
        parse_float=parse_float,
        parse_constant=_refuse_constant,
    )


def others_json(text: str | bytes) -> object:
    """The value of a JSON text of another program's, as Python reads it.

    raises: ValueError if the text is not JSON, or a name comes twice in an object, with different
        values: some take the first, others the last; RecursionError
    """
    return json.loads(text, object_pairs_hook=_with_one_value)


def _with_one_value(pairs):
    values = dict(pairs)
    if len(values) < len(pairs):
        for name, value in pairs:
            if repr(values[name]) != repr(value):  # True is not 1
                raise ValueError(f"the name {name[:80]!r} comes twice in an object")
    return values


def _refuse_constant(name):
    raise ValueError(f"{name} is not a JSON number")
