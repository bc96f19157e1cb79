"""What a GGUF file says about its architecture, key by key; a key that nobody asked for is refused.

Keys of an architecture begin with its name: "llama.block_count". They are asked for without it.
"""

import math
import re
from typing import Any

import numpy as np

from report.errors import ReportError
from report.models.gguf.file import GgufFile
from report.text import quoted

NEEDED = object()
"""Stands for the default of a key that has to be there."""

WITHOUT_EFFECT = re.compile(
    r"vocab_size|max_position_embeddings|rope\.scaling\.finetuned|(vision|audio|mm)\..+"
)
"""Keys that change no number: the size of the vocabulary is that of the embedding, Ollama repeats
the length of the context under another name, and pictures and sound are not read."""


class Keys:
    """The keys of a file's architecture; each may be asked for, once or more often.

    file: GgufFile; name: of the architecture, as the file says it
    defaults: what was taken where the file says nothing, as phrases
    """

    def __init__(self, file: GgufFile, name: str):
        self.file, self.name = file, name
        self.defaults: list[str] = []
        prefix = f"{name}."
        self._values = {
            key.removeprefix(prefix): value
            for key, value in file.values.items()
            if key.startswith(prefix)
        }
        self._left = {key for key in self._values if not WITHOUT_EFFECT.fullmatch(key)}

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def rename(self, key: str, name: str) -> None:
        """Take a key that another program writes for the one of llama.cpp, if that is missing."""
        if key in self._values and name not in self._values:
            self._values[name] = self._values.pop(key)
            self._left = self._left - {key} | {name}

    def assume(self, key: str, value: Any, why: str) -> None:
        """Take a value for a key that the file lacks; it is listed in `defaults`.

        why: what says that it is this value, as a phrase
        """
        if key not in self._values:
            self._values[key] = value
            number = f"{value:,.10g}" if isinstance(value, float) else str(value)
            self.defaults.append(f"{self.name}.{key}: {number} is taken, {why}")

    def whole(self, key: str, default: Any = NEEDED, least: int = 1) -> Any:
        """A whole number of at least `least`; `default` where the key is missing."""
        return self._get(
            key,
            default,
            f"a whole number from {least}",
            lambda value: type(value) is int and value >= least,
        )

    def number(self, key: str, default: Any = NEEDED, above: float = -math.inf) -> Any:
        """A finite number above `above`. Ollama writes 0 for what its converter did not find."""
        return self._get(
            key,
            default,
            "a number" if above == -math.inf else f"a number above {above:g}",
            lambda value: type(value) in (int, float) and math.isfinite(value) and value > above,
        )

    def flag(self, key: str, default: Any = NEEDED) -> Any:
        """True or false."""
        return self._get(key, default, "true or false", lambda value: type(value) is bool)

    def text(self, key: str, default: Any = NEEDED) -> Any:
        """A text."""
        return self._get(key, default, "a text", lambda value: isinstance(value, str))

    def listed(self, key: str, default: Any = NEEDED) -> Any:
        """A list of numbers, or of true and false, as a list."""
        value = self._get(
            key, default, "a list of numbers", lambda value: isinstance(value, np.ndarray)
        )
        return value.tolist() if isinstance(value, np.ndarray) else value

    def is_list(self, key: str) -> bool:
        """Whether the value of a key is a list of numbers."""
        return isinstance(self._values.get(key), np.ndarray)

    def require_all_used(self) -> None:
        """Stop for a key that nobody asked for: what it says might change the numbers.

        raises: ReportError naming it
        """
        if self._left:
            key = min(self._left)
            raise ReportError(
                f"'{self.file.name}' says {quoted(f'{self.name}.{key}')} "
                f"({quoted(_as_text(self._values[key]))}), which is not understood in this "
                "architecture, so its numbers might come out wrong; use the model's checkpoint in "
                "safetensors"
            )

    def refused(self, key: str, allowed: str) -> ReportError:
        """The ReportError for the value of a key."""
        return ReportError(
            f"'{self.file.name}': {self.name}.{key} is {quoted(_as_text(self._values.get(key)))}, "
            f"allowed is {allowed}"
        )

    def lacking(self, key: str) -> ReportError:
        """The ReportError for a key that is missing, and whose value nothing else tells."""
        return ReportError(
            f"'{self.file.name}' does not say {self.name}.{key}, without which its numbers are "
            "not known; use a file that llama.cpp's converter wrote, or the checkpoint in "
            "safetensors"
        )

    def _get(self, key, default, words, allowed):
        if key not in self._values:
            if default is NEEDED:
                raise self.lacking(key)
            return default
        self._left.discard(key)
        value = self._values[key]
        if not allowed(value):
            raise self.refused(key, words)
        return value


def _as_text(value):
    return value[:8].tolist() if isinstance(value, np.ndarray) else value
