"""The one boundary around what authors write: an error of any class becomes a `ReportError`."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from report.authored import guard
from report.errors import PACKAGE, TRACEBACK, ReportError, of_hub
from report.files import read_bytes
from report.text import printable, shortened

TEMPLATE = ".j2"
"""Ending of templates; Jinja writes their names and lines into tracebacks."""

MOST = 400
"""Characters of what an error says."""


@contextmanager
def authored(file: Path | str) -> Iterator[None]:
    """Run what an author wrote, or do what a file of an author's asks for.

    file: what is said to be wrong where no line is known; below its folder, all are an author's
    raises: ReportError with file and line, in place of an error of any class
    """
    with guard.busy(str(file)):
        try:
            yield
        except BaseException as error:
            if guard.interrupts(error):
                raise
            sentence = sentence_about(error, Path(file))
            if sentence is error:
                raise
            raise sentence from error


def sentence_about(error: BaseException, file: Path) -> ReportError:
    """The sentence about an error: file, line, and what happened.

    file: as of `authored`; an error that names a place in it already is returned as it is
    """
    place, known = _place(error, file)
    if isinstance(error, ReportError) and (not known or str(error).startswith(str(file))):
        return error
    return ReportError(f"{place}: {_words(error, known)}")


def in_words(error: BaseException) -> ReportError:
    """An error that reached the end of a command: as it is, as one of the hub's library, or as a
    defect of this program."""
    if isinstance(error, ReportError):
        return error
    frames = traceback.extract_tb(error.__traceback__)
    if any("huggingface_hub" in Path(frame.filename).parts for frame in frames):
        return of_hub(error)
    frame = frames[-1]
    return ReportError(
        f"this is a defect of the program, not of what you wrote: {_words(error, known=True)} "
        f"({frame.filename}, line {frame.lineno}); please report it, with what is shown if you "
        f"put {TRACEBACK}=1 before the command."
    )


def read_text(path: Path) -> str:
    """The text of a file that an author wrote.

    raises: ReportError with file and line if it cannot be read, or is not UTF-8
    """
    with authored(path):
        try:
            content = read_bytes(path)
        except OSError as error:
            raise ReportError(
                f"{path}: cannot be read ({error.strerror}); put a text file in its place."
            ) from error
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def _place(error, file):
    """(file and line of an error, whether they are those of something that was running)."""
    for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
        name = frame.f_code.co_filename
        if Path(name).suffix == TEMPLATE or _is_beside(name, file):
            return f"{name}, line {line}", True
    line = None
    if isinstance(error, SyntaxError):
        file, line = Path(error.filename or file), error.lineno
    if mark := getattr(error.__context__ or error, "problem_mark", None):
        line = mark.line + 1
    if isinstance(error, UnicodeDecodeError):
        line = error.object[: error.start].count(b"\n") + 1
    if file.suffix == TEMPLATE and isinstance(error, RecursionError | MemoryError):
        line = _line_of_node(error)
    return f"{file}, line {line}" if line else str(file), False


def _is_beside(name, file):
    """Whether it is an author's file of Python, or one in its folder or below."""
    here = file.suffix in (".py", ".yml") and Path(name).is_relative_to(file.parent)
    ours = Path(name).is_relative_to(PACKAGE) or "site-packages" in name
    return name == str(file) or (here and not ours)


def _line_of_node(error):
    """The line of the innermost part of a template that was being compiled."""
    for frame, _ in reversed([*traceback.walk_tb(error.__traceback__)]):
        for value in (frame.f_locals.get("node"), frame.f_locals.get("token")):
            if isinstance(line := getattr(value, "lineno", None), int):
                return line
        if stream := getattr(frame.f_locals.get("self"), "stream", None):
            return stream.current.lineno
    return None


def _words(error, known):
    """What an error says, on one line; known: whether its line is known, of what was running."""
    if not known and isinstance(error, SyntaxError):
        return f"is not Python: {error.msg}."
    if not known and isinstance(error, UnicodeDecodeError):
        return "cannot be read as UTF-8 text; save it as UTF-8."
    if isinstance(error, RecursionError):
        return "too much stands inside each other, or calls itself without end."
    if isinstance(error, MemoryError):
        return "takes more memory than there is; let it make less."
    try:
        text = " ".join([str(error), *getattr(error, "__notes__", ())])
    except Exception:  # of a class of the author's own
        text = ""
    text = printable(shortened(" ".join(text.split()), MOST))
    if isinstance(error, ReportError | guard.TooLongError) or (text and _is_jinja(error)):
        return text
    kind = type(error).__name__
    [*_, last] = traceback.extract_tb(error.__traceback__)
    inside = Path(last.filename).is_relative_to(PACKAGE) and last.filename.endswith(".py")
    where = f" (in {last.filename}, line {last.lineno})" if known and inside else ""
    return f"{kind}{': ' if text else ''}{text}{where}"


def _is_jinja(error):
    return type(error).__module__.startswith("jinja2.")
