"""A prompt made of named segments, as tokens: which segment each belongs to, and its counterpart.

The whole text is tokenised, and every token is looked up in it: segments tokenised one by one would
have other tokens than the model sees. A token that begins in one segment and reaches into the next
is a crossing: its words are of both, so it counts for neither, and a study has to mention it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from transformers import PreTrainedTokenizerBase

from report.errors import ReportError
from report.inputs.conditions import ADDED, TEMPLATE, Segment
from report.models.load.tokenizing import asked, encoded
from report.models.text.messages import chat_segments
from report.models.text.tokens import reading, tokenize, tokenize_whole

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

OWN_SPACE = ("Ġ", "▁", " ")
"""What a vocabulary writes for the space that a token begins with."""
ANCHOR = "the"
"""Put before a token when it is decoded, since decoders drop the space that a text begins with."""


@dataclass(frozen=True)
class Crossing:
    """A token that begins in one segment and ends in another: the tokenizer merged across."""

    token: int
    """Index in the prompt."""
    text: str
    before: str
    """Name of the segment in which it begins; `after` is the one that it reaches into."""
    after: str
    raw_bytes: str | None = None
    """Hexadecimal, of a token that is not whole characters."""


@dataclass(frozen=True)
class SegmentedText:
    """A prompt as the model reads it (T tokens).

    text, token_ids, tokens: as of `TokenizedText`
    texts: dict of segment name to its text, in order
    segment: [T], the name of the segment in which each token begins, "added" for tokens that the
        tokenizer adds
    place: [T] pairs, where the token begins and ends in its segment, in bytes of UTF-8; of an added
        token its number among them, and 0
    crossings: list of Crossing
    """

    text: str
    token_ids: list[int]
    tokens: list[dict]
    texts: dict[str, str]
    segment: list[str]
    place: list[tuple[int, int]]
    crossings: list[Crossing]

    @property
    def before_last(self) -> list[str]:
        """Names of the segments before the last that is a part of the prompt, and not of a template
        around it."""
        names = list(self.texts)
        places = [place for place, name in enumerate(names) if not name.startswith(TEMPLATE)]
        return names[: places[-1]] if places else names

    def span(self, name: str, whole: bool = True) -> range:
        """The tokens of a segment as a range; empty if it has none.

        whole: whether those count only that lie in it with all their characters; else those that
            begin in it
        """
        over = {crossing.token for crossing in self.crossings} if whole else ()
        named = (token for token, segment in enumerate(self.segment) if segment == name)
        tokens = [token for token in named if token not in over]
        return range(tokens[0], tokens[-1] + 1) if tokens else range(0)


def segmented_prompts(
    loaded: "LoadedModel",
    prompts: Sequence[Sequence[Segment]],
    chat: bool | str = False,
    after: Sequence[Sequence[Segment]] = (),
) -> list[SegmentedText]:
    """The tokens of prompts and their segments.

    prompts: each its segments in order
    chat: whether they are put into the model's chat template, as of `chat_segments`
    after: of every prompt the segments after all of that, with which the model's answer begins; ():
        none
    raises: ReportError as `segmented` and `chat_segments` do
    """
    if chat:
        prompts = chat_segments(loaded.tokenizer, prompts, chat)
    after = after or [()] * len(prompts)
    return [
        segmented(loaded, [*segments, *more], bool(chat))
        for segments, more in zip(prompts, after, strict=True)
    ]


def segmented(
    loaded: "LoadedModel", segments: Sequence[Segment], chat: bool = False
) -> SegmentedText:
    """The tokens of a prompt and their segments.

    segments: of the prompt, in its order
    chat: whether a chat template wrote some of them, which are segments of their own
    raises: ReportError as `report.models.text.tokens.tokenize` does
    """
    texts = {segment.name: segment.text for segment in segments}
    whole = "".join(texts.values())
    tokenized = tokenize_whole(loaded, whole, True) if chat else tokenize(loaded, whole)
    ends = np.cumsum([len(text.encode()) for text in texts.values()])
    names, starts = list(texts), ends - [len(text.encode()) for text in texts.values()]
    segment, place, crossings = [], [], []
    for token, (start, end) in enumerate(_bytes(loaded.tokenizer, tokenized, chat)):
        if start is None:
            place.append((segment.count(ADDED), 0))
            segment.append(ADDED)
            continue
        # the first segment that ends after the token's beginning; it may begin at the text's end
        first = min(int(np.searchsorted(ends, start, side="right")), len(names) - 1)
        last = first
        while end > ends[last]:
            last += 1
            if starts[last] < ends[last]:  # an empty segment is not reached into
                here, ends_of = tokenized.tokens[token], (names[first], names[last])
                crossings.append(Crossing(token, here["text"], *ends_of, here.get("bytes")))
        segment.append(names[first])
        place.append((int(start - starts[first]), int(end - starts[first])))
    return SegmentedText(
        tokenized.text, tokenized.token_ids, tokenized.tokens, texts, segment, place, crossings
    )


def align(text: SegmentedText, other: SegmentedText) -> list[int]:
    """Where each token of `text` is in `other`: the same token at the same place of a segment.

    text, other: SegmentedText, conditions of a prompt
    returns: list of int [tokens of `text`], -1 where `other` has no such token: its segment is
        missing or has another text, or where a merge across a boundary changed the token
    """
    places = defaultdict(list)
    for token, key in enumerate(_keys(other)):
        places[key].append(token)
    aligned = []
    for key in _keys(text):
        same_text = text.texts.get(key[0]) == other.texts.get(key[0])
        aligned.append(places[key].pop(0) if same_text and places[key] else -1)
    return aligned


def ordinary_tokens(tokenizer: PreTrainedTokenizerBase, number: int, seed: int = 0) -> list[str]:
    """The texts of random tokens of the vocabulary: letters, with a space before them.

    tokenizer: of transformers
    returns: list of at most `number` str, such as " lamp"; fewer where the vocabulary has no more
    raises: ReportError if it has none
    """
    with asked("the model's tokenizer cannot write the texts of its tokens"):
        anchor = tokenizer(ANCHOR, add_special_tokens=False)["input_ids"]
        before = tokenizer.decode(anchor)
        special, texts = set(tokenizer.added_tokens_decoder), []
        for token_id in np.random.default_rng(seed).permutation(len(tokenizer)).tolist():
            text = tokenizer.decode([*anchor, token_id]).removeprefix(before)
            if token_id not in special and text[:1] == " " and text[1:].isalpha():
                texts.append(text)
                if len(texts) == number:
                    break
    if not texts:
        raise ReportError(
            "the vocabulary has no token that is a space and letters; choose another filler"
        )
    return texts


def _keys(text):
    return list(zip(text.segment, text.place, text.token_ids, strict=True))


def _bytes(tokenizer, tokenized, chat):
    """[T] pairs: at which byte of the text each token begins and ends; None for an added one."""
    pieces = encoded(tokenizer, tokenized.text, **reading(chat))
    assert list(pieces["input_ids"]) == tokenized.token_ids
    byte_of = np.cumsum([0, *(len(character.encode()) for character in tokenized.text)])
    symbols = tokenizer.convert_ids_to_tokens(tokenized.token_ids)
    end, spans = 0, []
    for symbol, token, offsets, added in zip(
        symbols,
        tokenized.tokens,
        pieces["offset_mapping"],
        pieces["special_tokens_mask"],
        strict=True,
    ):
        if added:
            spans.append((None, None))
            continue
        part = bytes.fromhex(token["bytes"]) if "bytes" in token else token["text"].encode()
        start, end = end, end + len(part)
        first = int(byte_of[offsets[0]])
        if not part:  # it shares a character with the token before
            spans.append((first, first))
        elif first > start and not symbol.startswith(OWN_SPACE):
            spans.append((first, end))  # the tokenizer leaves out what is white space before it
        else:
            spans.append((start, end))
    return spans
