"""One sentence for whatever libraries raise over the files of a checkpoint.

Damaged files make transformers and the libraries below it raise exceptions of any kind. Those in
Rust even panic: with an exception that is no Exception, after a text of their own on stderr.
"""

import os
import re
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub.errors import StrictDataclassError

from report.errors import TRACEBACK, ReportError
from report.models.load.memory import is_lack_of_memory

PANIC = re.compile(rb"\n?thread '[^\n]* panicked at .*", re.DOTALL)
"""What Rust writes of a panic, and of where it came from."""

LONGEST = 300
"""Characters of a library's reason that are quoted."""


@contextmanager
def one_sentence(
    what: str,
    folder: object = None,
    name: str = "",
    passing: tuple[type[Exception], ...] = (),
) -> Iterator[None]:
    """Within the context, an exception becomes a ReportError: `what`, and the library's reason.

    what: e.g. "model 'a': its tokenizer cannot be loaded"
    folder: whose path in the reason is replaced by `name`, so that nobody reads it; None for none
    passing: classes of exceptions that pass
    A ReportError passes too, and so does lack of memory, of which others say what to reduce.
    """
    try:
        yield
    except BaseException as error:
        is_failure = isinstance(error, Exception) or type(error).__name__ == "PanicException"
        if not is_failure or isinstance(error, (ReportError, *passing)) or is_lack_of_memory(error):
            raise
        reason = _reason(error)
        if folder is not None:
            reason = reason.replace(f"{folder}", name)
        raise ReportError(f"{what}: {reason[:LONGEST]}") from error


@contextmanager
def supported(name: str) -> Iterator[None]:
    """Within the context, an unexpected exception becomes a ReportError: the model is not
    supported, or the program has a defect.

    name: of the model
    The sentence has the class of the exception and where it was raised. A ReportError passes, and
    so do lack of memory and an OSError, of which others say what to do.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, (ReportError, OSError)) or is_lack_of_memory(error):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        parts = Path(place.filename).parts[-3:]
        raise ReportError(
            f"model '{name}' cannot be measured: {type(error).__name__} in "
            f"{'/'.join(parts)}, line {place.lineno} ({_reason(error)[:LONGEST]}); it is not "
            f"supported, please report it with what the same command says with {TRACEBACK}=1"
        ) from error


@contextmanager
def without_panics() -> Iterator[None]:
    """Within the context, Rust's text about a panic does not reach the terminal.

    Rust writes it past Python, so meanwhile stderr leads to a file, whose other text goes to the
    terminal afterwards.
    """
    sys.stderr.flush()
    try:
        terminal = os.dup(2)
    except OSError:  # there is no stderr
        yield
        return
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(terminal, 2)
            os.close(terminal)
            file.seek(0)
            if rest := PANIC.sub(b"", file.read()):
                os.write(2, rest)


def _reason(error):
    """The first line of an error's text, or its class; of a cause where that says more."""
    if isinstance(error, KeyError) and " " not in str(error):
        return f"{error} is missing"
    if isinstance(error, StrictDataclassError) and error.__cause__ is not None:
        error = error.__cause__  # the error itself only names the check
    line = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return line.encode("utf-8", "replace").decode("utf-8")
