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
    """Within the context, an exception is a ReportError: `what`, and the reason that was given.

    what: e.g. "model 'a': its tokenizer cannot be loaded"
    folder: in the reason its path is replaced by `name`, so that nobody reads it; None for none
    passing: kinds of exceptions that pass
    A ReportError passes too, and so does lack of memory, of which others say what to reduce.
    """
    try:
        yield
    except BaseException as error:
        meant = isinstance(error, Exception) or type(error).__name__ == "PanicException"
        if not meant or isinstance(error, (ReportError, *passing)) or is_lack_of_memory(error):
            raise
        reason = _reason(error)
        if folder is not None:
            reason = reason.replace(f"{folder}", name)
        raise ReportError(f"{what}: {reason[:LONGEST]}") from error


@contextmanager
def supported(name: str) -> Iterator[None]:
    """Within the context, an exception that nothing expects is a ReportError: of a model that is
    not supported, or a defect here.

    name: of the model
    It says the kind of exception and where it was raised. A ReportError passes, and so do lack of
    memory and errors of the system, of which others say what to do.
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

    Rust writes it past Python, so stderr leads elsewhere meanwhile. What else was written there is
    put out afterwards.
    """
    sys.stderr.flush()
    try:
        own = os.dup(2)
    except OSError:  # there is no stderr
        yield
        return
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(own, 2)
            os.close(own)
            kept.seek(0)
            if written := PANIC.sub(b"", kept.read()):
                os.write(2, written)


def _reason(error):
    """The line of an error that says most."""
    if isinstance(error, KeyError) and " " not in str(error):
        return f"{error} is missing"
    if isinstance(error, StrictDataclassError) and error.__cause__ is not None:
        error = error.__cause__  # the error itself only names the check
    said = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return said.encode("utf-8", "replace").decode("utf-8")
