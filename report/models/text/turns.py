"""A chat of several turns in a model's chat template, and what the template writes around each."""

import re
from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from report.errors import ReportError
from report.models.text.chat import Chat, filled
from report.models.text.regions import RegionsError

MARK = "Turn8245x{}x"
"""What stands for a turn, to see where a template puts it; letters that no template changes."""


def in_template(tokenizer: PreTrainedTokenizerBase, chat: Chat) -> tuple[str, list[int], set[int]]:
    """What a template makes of a chat.

    returns: all of it; the characters at which what the template writes and turns begin, by turns;
        and which of these pieces the template writes, counted from 0
    raises: ReportError if there is no template; RegionsError if it does not take the turns or
        changes one, or if a turn has a special token of the model in it
    """
    for token in tokenizer.added_tokens_decoder.values():
        if token.special and any(token.content in text for _, text in chat):
            raise RegionsError(
                f"a turn contains '{token.content}', a special token of the model, which would "
                "end or change the chat; remove it, or leave the option chat out"
            )
    marks = [(role, MARK.format(number)) for number, (role, _) in enumerate(chat)]
    marked, whole = filled(tokenizer, [marks, chat])
    if isinstance(marked, ReportError) or isinstance(whole, ReportError):
        raise RegionsError(
            f"the model's chat template does not take the turns {_roles(chat)}; order them as it "
            "wants, or leave the option chat out"
        )
    between = re.split(MARK.format(r"\d+"), marked)
    texts = [re.escape(text.strip()) for _, text in chat]
    named = re.findall(MARK.format(r"\d+"), marked) == [mark for _, mark in marks]
    pairs = zip(map(re.escape, between), texts, strict=False)
    parts = "".join(rf"({before}\s*)({text})" for before, text in pairs)
    match = named and re.fullmatch(rf"{parts}(\s*{re.escape(between[-1])})", whole)
    if not match:
        raise RegionsError(
            "the model's chat template changes or leaves out a turn, so turns cannot be told from "
            "what it writes itself; leave the option chat out"
        )
    spans = [match.span(group) for group in range(1, 2 * len(chat) + 2)]
    seen = [(a, not at % 2) for at, (a, b) in enumerate(spans) if whole[a:b].strip()]
    return whole, [start for start, _ in seen], {at for at, (_, mine) in enumerate(seen) if mine}


def _roles(chat: Sequence[tuple[str, str]]) -> str:
    return ", ".join(role for role, _ in chat)
