"""A text, or the segments of a prompt, as messages in a model's chat template.

A template is a program out of a checkpoint: it may refuse a message of the system, write one of its
own, put it into the message of the user, or take white space off a message. Where it puts the
messages is found with marks in their place, and then compared with what it makes of the messages
themselves.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, product, zip_longest

from transformers import PreTrainedTokenizerBase

from report.errors import ReportError
from report.inputs.conditions import TEMPLATE, Segment
from report.models.text.chat import filled

MARKS = {"system": "FirstMessage8245", "user": "SecondMessage8245"}
"""Role -> what stands for its message, to see where a template puts it; letters that no template
changes."""

SHAPES = (("system", "user"), ("user",))
"""The roles of the messages of a prompt: its instruction apart, or all of it to the user."""

ALONE = "alone"
"""Stands for True where all of a prompt is to be the message of the user."""

ASSISTANT = "assistant"
"""Role of the message that a template begins after the last one."""


class NothingLeftError(ReportError):
    """A template leaves nothing of a segment."""

    def __init__(self, name: str) -> None:
        """name: of the segment."""
        super().__init__(
            "the model's chat template takes white space off a message, which leaves nothing "
            f"of the segment '{name}'; leave out the option chat, or that condition"
        )


def user_chat(tokenizer: PreTrainedTokenizerBase, text: str) -> str:
    """The model's chat template filled with one message of the user, up to the end of it.

    raises: ReportError if there is no template, if it does not take the message, or if the text has
        a special token of the model in it
    """
    _require_ordinary(tokenizer, [text])
    (whole,) = filled(tokenizer, [[("user", text)]])
    return _text_of(whole)


def chat_segments(
    tokenizer: PreTrainedTokenizerBase,
    prompts: Sequence[Sequence[Segment]],
    chat: bool | str = True,
) -> list[list[Segment]]:
    """The segments of prompts in the model's chat template, up to where its answer begins.

    Segments up to "system" are the message of the system, all others that of the user. A template
    that takes no message of the system, or leaves it out, gets all of them as that of the user.

    prompts: each its segments in order
    chat: ALONE gives them so to any template
    returns: of each prompt, segments whose joined texts are what the template makes of its
        messages: what the template writes before a message is a segment called "template" and its
        role, such as "template user"; without the white space that the template takes off a message
    raises: ReportError as `user_chat`, or if the template changes a message or leaves it out;
        NothingLeftError if it leaves nothing of a segment
    """
    _require_ordinary(tokenizer, [segment.text for prompt in prompts for segment in prompt])
    shaped = [_messages(prompt, roles) for prompt in prompts for roles in SHAPES]
    marked = [[(role, MARKS[role]) for role in roles] for roles in SHAPES]
    chats = [
        [(role, "".join(segment.text for segment in segments)) for role, segments in messages]
        for messages in shaped
    ]
    marked_texts, *whole = _in_shapes(filled(tokenizer, [*marked, *chats], begun=True))
    around = [_around(text, roles) for text, roles in zip(marked_texts, SHAPES, strict=True)]
    parts = _in_shapes(shaped)
    return [
        _placed(messages, text, around, chat) for messages, text in zip(parts, whole, strict=True)
    ]


def replaceable(
    tokenizer: PreTrainedTokenizerBase,
    prompt_with: Callable[[str], Sequence[Segment]],
    name: str,
    chat: bool | str,
) -> Callable[[str], list[Segment]]:
    """A function from the text of one segment to the segments of a prompt in a template.

    It asks the template once, with another text in that place, since many texts are tried where one
    of a number of tokens is looked for.

    prompt_with: the segments of the prompt with a text for the segment called `name`
    chat: as of `chat_segments`
    raises: ReportError as `chat_segments`; the function: NothingLeftError
    """
    (placed,) = chat_segments(tokenizer, [prompt_with(" x\n")], chat)
    present = next(segment.text for segment in placed if segment.name == name)

    def segments(text):
        rest = text if present.startswith(" ") else text.lstrip()
        rest = rest if present.endswith("\n") else rest.rstrip()
        if text and not rest:
            raise NothingLeftError(name)
        return [Segment(name, rest) if segment.name == name else segment for segment in placed]

    return segments


def _in_shapes(flat):
    """What was asked for, one list a prompt: of every one of the SHAPES."""
    return [flat[start : start + len(SHAPES)] for start in range(0, len(flat), len(SHAPES))]


def _messages(segments, roles):
    """The messages of a prompt, (role, segments) of each."""
    names = [segment.name for segment in segments]
    split = names.index("system") + 1 if "system" in names and "system" in roles else 0
    parts = {"system": segments[:split], "user": segments[split:]}
    return [(role, list(parts[role])) for role in roles]


def _around(marked, roles):
    """What a template writes before, between and after messages; None if it does not write all.

    marked: what it makes of MARKS
    """
    marks = [MARKS[role] for role in roles]
    pattern = "|".join(MARKS.values())
    if isinstance(marked, ReportError) or re.findall(pattern, marked) != marks:
        return None
    return re.split(pattern, marked)


def _placed(messages, texts, around, chat):
    """The segments of a prompt between those of the template.

    messages, texts, around: of every one of the SHAPES; texts: what the template makes of them
    """
    apart = chat != ALONE and around[0] is not None and all(part for _, part in messages[0])
    shape = 0 if apart else 1
    whole, between = _text_of(texts[shape]), around[shape]
    spans = between and _spans(messages[shape], whole, between)
    if not spans:
        raise ReportError(
            "the model's chat template changes the text of a message, so its segments cannot be "
            "told apart; leave the option chat out"
        )
    template = [
        Segment(f"{TEMPLATE} {role}", text)
        for role, text in zip([*SHAPES[shape], ASSISTANT], between, strict=True)
    ]
    placed = []
    for before, (_, segments), span in zip(template[:-1], messages[shape], spans, strict=True):
        placed += [before, *_cut(segments, span)]
    return [segment for segment in [*placed, template[-1]] if segment.text]


def _spans(messages, whole, between):
    """What a template keeps of each message, slices; None if it changes one."""
    contents = ["".join(segment.text for segment in segments) for _, segments in messages]
    for spans in product(*map(_ways, contents)):
        pieces = [content[span] for content, span in zip(contents, spans, strict=True)]
        if "".join(chain(*zip_longest(between, pieces, fillvalue=""))) == whole:
            return spans
    return None


def _ways(content):
    """What a template may keep of a message, list of slice: all, or less of the white space."""
    first, last = len(content) - len(content.lstrip()), len(content.rstrip())
    return [slice(start, end) for start in (0, first) for end in (len(content), last)]


def _cut(segments, span) -> Iterator[Segment]:
    """The segments of a message of which a part is kept."""
    place = 0
    for segment in segments:
        text = segment.text[max(0, span.start - place) : max(0, span.stop - place)]
        place += len(segment.text)
        if segment.text and not text:
            raise NothingLeftError(segment.name)
        yield Segment(segment.name, text)


def _text_of(answer):
    """What a template makes of a chat; raises its refusal."""
    if isinstance(answer, ReportError):
        raise answer
    return answer


def _require_ordinary(tokenizer, texts):
    """Stop for a text that would end or change a chat."""
    special = [token for token in tokenizer.added_tokens_decoder.values() if token.special]
    for token in special:
        if any(token.content in text for text in texts):
            raise ReportError(
                f"the passage contains '{token.content}', a special token of the model, which "
                "would end or change the chat; remove it, or leave the option chat out"
            )
