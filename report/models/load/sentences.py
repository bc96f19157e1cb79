"""One sentence for whatever libraries raise over the files of a checkpoint, or warn of meanwhile.

Damaged files make transformers and the libraries below it raise exceptions of any kind. Those in
Rust even panic: with an exception that is no Exception, after a text of their own on stderr.

transformers warns of a result that will be wrong in the same way as of a faster kernel. Here no
warning is lost: `REFUSED` are errors with what to do, `HARMLESS` have a reason, the rest is shown.
"""

import logging
import os
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub.errors import StrictDataclassError
from transformers.utils import logging as of_transformers

from report.errors import TRACEBACK, ReportError
from report.models.load.memory import is_lack_of_memory
from report.text import shortened

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


LIBRARIES = ("accelerate", "huggingface_hub", "safetensors", "tokenizers", "torch", "transformers")

LONGEST_WARNING = 400
"""Characters of a warning that are shown."""

HARMLESS = {
    r"is falling back to its reference PyTorch implementation": "the same numbers, slower",
    r"LOAD REPORT": "`load` compares the names of all tensors itself, in every way to load",
    r"longer than the specified maximum sequence length": "`tokenize` says how long a text may be",
    r"generation flags|GenerationConfig|generation_config": "nothing is generated with them",
    r"resume_download|`torch_dtype` is deprecated": "about how a library is called, by us",
}
"""Pattern in a warning -> why it changes no number, or who says it instead."""

REFUSED = {
    r"incorrect regex pattern": (
        "its tokenizer cuts texts in another way than the one that the model was trained with; say "
        "`tokenizer: {fix_mistral_regex: true}` to cut them as its makers do, or `false` if this "
        "one is right"
    ),
    r"[Nn]ewly initialized|newly initialised": (
        "transformers fills some of its weights with random numbers; use a whole checkpoint"
    ),
    r"Unrecognized keys in `rope_parameters`": (
        "its config.json has keys below rope_parameters that transformers does not know and would "
        "leave out; take them out if they mean nothing, or install a version that knows them"
    ),
    r"`rope_parameters`'s \w+ field must": (
        "its config.json has a value below rope_parameters that transformers does not allow for; "
        "correct it"
    ),
}
"""Pattern in a warning -> what it means for the numbers, and what to do."""


@contextmanager
def heard(name: str, announce: Callable[[str], object]) -> Iterator[None]:
    """A block in which a library's warning is no longer a page of text that nobody reads.

    name: of the model
    announce: called once with each warning that is neither refused nor known to be harmless
    raises: ReportError at the end of the block for what is refused
    """
    handler = _Handler(announce)
    loggers = [logging.getLogger(library) for library in LIBRARIES]
    before = [(logger, logger.handlers, logger.propagate, logger.level) for logger in loggers]
    bars = of_transformers.is_progress_bar_enabled()
    try:
        for logger in loggers:
            logger.handlers, logger.propagate = [handler], False
            logger.setLevel(logging.WARNING)  # whatever the environment says
        of_transformers.disable_progress_bar()
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = handler.showwarning
            yield
    finally:
        for logger, handlers, propagate, level in before:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
        if bars:
            of_transformers.enable_progress_bar()
    if handler.refused:
        text, meaning = handler.refused[0]
        text = shortened(text, LONGEST_WARNING)
        raise ReportError(f"model '{name}': {meaning} (transformers: {text})")


class _Handler(logging.Handler):
    def __init__(self, announce):
        super().__init__(logging.WARNING)
        self.announce, self.known, self.refused = announce, set(), []

    def emit(self, record):
        self.take(record.name.partition(".")[0], record.getMessage())

    def showwarning(self, message, category, filename, lineno, file=None, line=None):
        library = next((each for each in LIBRARIES if f"/{each}/" in filename), "Python")
        self.take(library, str(message))

    def take(self, library, text):
        if text in self.known or any(re.search(pattern, text) for pattern in HARMLESS):
            return
        self.known.add(text)
        line = " ".join(text.split())
        refused = [(line, why) for pattern, why in REFUSED.items() if re.search(pattern, text)]
        self.refused += refused
        if not refused:
            self.announce(f"{library} warns: {shortened(line, LONGEST_WARNING)}")
