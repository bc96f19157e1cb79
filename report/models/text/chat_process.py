"""Fill a chat template in a process of its own; see `chat`. It needs the libraries alone.

Usage: python chat_process.py BYTES SECONDS, with what to fill as JSON on stdin.
"""

import json
import sys
from typing import Any

LONGEST = 10_000_000
"""Characters of a chat. No model reads nearly as many."""

ALL = 100_000_000
"""Characters of all chats together."""


def main(memory: int, seconds: int) -> None:
    """Write the `answers` to stdout, a list.

    memory: bytes that may be asked for; seconds: of a processor
    """
    try:
        import resource
    except ImportError:  # Windows has no such limits
        pass
    else:
        for limit, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
            _, hard = resource.getrlimit(limit)
            if hard == resource.RLIM_INFINITY or most < hard:
                resource.setrlimit(limit, (most, hard))
    json.dump(answers(json.load(sys.stdin)), sys.stdout)


def answers(request: dict[str, Any]) -> list[dict[str, str]]:
    """The `answer` to every one of the `conversations`."""
    texts, characters = [], 0
    for chat in request["conversations"]:
        texts.append(answer(request | {"conversations": [chat]}))
        characters += len(texts[-1].get("text", ""))
        if characters > ALL:
            raise MemoryError
    return texts


def answer(request: dict[str, Any]) -> dict[str, str]:
    """An object with a `text`, or with an `error`.

    request: arguments of `render_jinja_template`, with one chat among the `conversations`
    """
    from transformers.utils.chat_template_utils import render_jinja_template

    try:
        (text,), _ = render_jinja_template(**request)
        if len(text) > LONGEST:
            raise ValueError(f"it writes {len(text):,} characters")
        return {"text": text}
    except Exception as error:  # a template may do anything, and its sandbox refuse it
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        return {"error": reason[:300]}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
