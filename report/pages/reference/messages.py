"""The sentences of errors, read from the source: what is fixed in them, and what differs.

A sentence is what `ReportError` and its kind are called with. So is that of a `ValueError`: what is
wrong with a key of front matter is said by one.
"""

import functools
import re
from dataclasses import dataclass

from report.pages.filters import markdown_text
from report.pages.reference.sources import PACKAGE, Module, Parts


@dataclass(frozen=True)
class Message:
    """A sentence as a reader may meet it."""

    module: str
    """Where it is raised: "models/find/hub"."""
    line: int
    parts: Parts
    fixed: tuple[Parts, ...]
    """What is always the same in it; several if it begins in several ways."""

    @property
    def markdown(self) -> str:
        """The sentence: what differs in italics, commands as code."""
        marked = "".join(
            part if isinstance(part, str) else f"\0{part.name}\1" for part in self.parts
        )
        spans = re.split(r"(`[^`]+`)", " ".join(marked.split()).rstrip("."))
        return "".join(map(_span, spans))

    @property
    def pattern(self) -> re.Pattern:
        """What fits every such sentence."""
        texts = (
            "".join(re.escape(part) if isinstance(part, str) else ".*" for part in parts)
            for parts in self.fixed
        )
        return re.compile("|".join(texts), re.DOTALL)


def _span(text):
    if text.startswith("`"):
        return re.sub("\0(.*?)\1", lambda gap: (gap[1] or "…").upper(), text)
    pieces = re.split("(\0.*?\1)", text)
    return "".join(
        (f"*{piece[1:-1]}*" if piece[1:-1] else "…") if piece[:1] == "\0" else markdown_text(piece)
        for piece in pieces
    )


def _raises(path):
    """Whether a file may raise an error: most raise none, and need not be parsed."""
    return "Error" in path.read_text("utf-8")


@functools.cache
def messages() -> list[Message]:
    """All sentences, module by module.

    Those that only pass another one on, such as "FILE: REASON", are left out.
    """
    return [
        Message(module.name, sentence.lineno, parts, tuple(module.wordings(sentence, fill=False)))
        for module in map(Module.of, filter(_raises, sorted(PACKAGE.rglob("*.py"))))
        for sentence in module.sentences()
        for parts in module.wordings(sentence)
        if re.search(r"[^\W\d_]{3}", "".join(part for part in parts if isinstance(part, str)))
    ]
