"""What the libraries warn of while a model is loaded and run: refused, shown, or known harmless.

transformers warns of a result that will be wrong in the same way as of a faster kernel. Here no
warning is lost: `REFUSED` are errors with what to do, `HARMLESS` have a reason, the rest is shown.
"""

import logging
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from transformers.utils import logging as of_transformers

from report.errors import ReportError
from report.text import shortened

LIBRARIES = ("accelerate", "huggingface_hub", "safetensors", "tokenizers", "torch", "transformers")

LONGEST = 400
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
        raise ReportError(f"model '{name}': {meaning} (transformers: {shortened(text, LONGEST)})")


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
            self.announce(f"{library} warns: {shortened(line, LONGEST)}")
