"""A message of the user in a model's chat template.

A template is a program out of a file. The sandbox that it runs in keeps files and objects from it,
but not memory and time: a few letters of it can ask for any number of gigabytes. So it runs in a
process that may take little of both.
"""

import json
import subprocess
import sys

from transformers import PreTrainedTokenizerBase

from report.errors import ReportError
from report.models.text import chat_process

MEMORY = 2 << 30
"""Bytes of addresses that the process may ask for; the libraries take a tenth."""

SECONDS = 60
"""Usual are some milliseconds, after a second in which the libraries are loaded."""


def filled(tokenizer: PreTrainedTokenizerBase, template: str, text: str) -> str:
    """A chat of one message, up to the end of it.

    raises: ReportError if the template refuses it, or takes too much memory or time
    """
    asked = dict(tokenizer.special_tokens_map)
    asked |= {"conversations": [[{"role": "user", "content": text}]], "chat_template": template}
    limits = map(str, (MEMORY, SECONDS))
    try:
        done = subprocess.run(  # noqa: S603 (a list of arguments, no shell)
            [sys.executable, "-P", chat_process.__file__, *limits],
            input=json.dumps(asked, default=str).encode(),
            capture_output=True,
            timeout=SECONDS,
        )
        answer = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):  # ValueError: it was ended before it answered
        reason = f"it takes more than {MEMORY >> 30} GB of memory or {SECONDS} seconds"
        answer = {"error": reason}
    if "error" in answer:
        raise ReportError(
            "the model's chat template does not take a single message of the user: "
            f"{answer['error']}; leave the option chat out"
        )
    return answer["text"]
