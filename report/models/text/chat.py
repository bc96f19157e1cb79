"""Chats in a model's chat template.

A template is a program out of a file. The sandbox that it runs in keeps files and objects from it,
but not memory and time: a few letters of it can ask for any number of gigabytes. So it runs in a
process that may take little of both. The process fills in many chats, since it takes a second to
begin.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache

from transformers import PreTrainedTokenizerBase

from report.errors import ReportError
from report.models.text import chat_process

MEMORY = 2 << 30
"""Bytes of addresses that the process may ask for; the libraries take a tenth."""

SECONDS = 60
"""Of a processor, and one more for every hundred chats; usual are some milliseconds a chat, after a
second in which the libraries are loaded."""

FIXED_DATE = """{%- macro strftime_now(format) -%}
{{ format | replace("%Y", "2024") | replace("%m", "07") | replace("%B", "July")
          | replace("%b", "Jul") | replace("%d", "26") }}
{%- endmacro -%}
"""
"""Some chat templates write today's date; the same passage shall give the same tokens every day."""

Chat = Sequence[tuple[str, str]]
"""Messages: the role of each, and its text."""


def has_template(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether a model comes with a chat template."""
    try:
        tokenizer.get_chat_template()
    except ValueError:
        return False
    return True


def filled(
    tokenizer: PreTrainedTokenizerBase, chats: Sequence[Chat], begun: bool = False
) -> list[str | ReportError]:
    """What a template makes of chats, or why it refuses one.

    begun: whether the template also writes how an answer begins
    raises: ReportError if there is no template, or if it takes too much memory or time
    """
    if not has_template(tokenizer):
        raise ReportError(
            "the model's tokenizer has no chat template; leave the option chat out, or choose a "
            "model that was trained for chats"
        )
    template = tokenizer.get_chat_template()
    request = dict(tokenizer.special_tokens_map)
    request |= {
        "chat_template": FIXED_DATE + template if "strftime_now" in template else template,
        "add_generation_prompt": begun,
        "conversations": [
            [{"role": role, "content": text} for role, text in messages] for messages in chats
        ],
    }
    seconds = SECONDS + len(chats) // 100
    answers = json.loads(_answers(json.dumps(request, default=str), MEMORY, seconds))
    return [answer["text"] if "text" in answer else _refusal(answer["error"]) for answer in answers]


@lru_cache(maxsize=8)
def _answers(request, memory, seconds):
    """What the process says; kept, since a text is read once to be measured, and again to be
    written."""
    command = [sys.executable, "-P", chat_process.__file__, str(memory), str(seconds)]
    try:
        done = subprocess.run(  # noqa: S603 (a list of arguments, no shell)
            command, input=request.encode(), capture_output=True, timeout=seconds
        )
        json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError) as error:  # ValueError: it was ended before
        reason = f"it takes more than {memory >> 30} GB of memory or {seconds} seconds"
        raise _refusal(reason) from error
    return done.stdout


def _refusal(reason):
    return ReportError(
        "the model's chat template does not take a single message of the user: "
        f"{reason}; leave the option chat out"
    )
