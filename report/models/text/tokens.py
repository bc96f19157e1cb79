"""Text to tokens, exactly as the model's tokenizer does it, special tokens included.

Which tokens are parts of a character.

Many vocabularies have no token of their own for a character: they spell it in bytes, or a flag in
two letters, or an accent apart from its letter. Such tokens alone show nothing that a reader knows.
So they are put together, from one place at which both a token and a character begin to the next. A
character is what a reader takes for one, a grapheme cluster of Unicode Standard Annex 29.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from report.errors import ReportError
from report.models.load.tokenizing import asked, encoded
from report.models.text.messages import user_chat
from report.models.text.spelling import spelled

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

from itertools import accumulate, groupby
from typing import Any

import regex

CHARACTER = regex.compile(r"\r|\X")
"""A carriage return is one of its own, since both signs of a line end show well alone."""

MOST = 64
"""Tokens that are put together at most. No character in use has more than some forty bytes; a chain
of more is left as it is, so that a hostile text of n tokens takes no n² letters to tell of."""


def with_parts(tokens: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tokens, told which of them are parts of a character.

    tokens: as `report.models.text.spelling.spelled` returns them
    returns: the same; a token that is no whole character has besides
        "part": {"of": the text of all its parts, "number": from 1, "count": 2 or more}
        "of" may be several characters, where a token holds the end of one and the beginning of the
        next. Tokens that the tokenizer added are no parts, nor are bytes that become no character.
    """
    result = []
    for special, group in groupby(tokens, key=lambda token: token["special"]):
        stretch = list(group)
        result += stretch if special else _joined(stretch)
    return result


def _joined(tokens):
    """The same of tokens that follow each other in the text."""
    raw = [_bytes(token) for token in tokens]
    whole = b"".join(raw)
    if whole.isascii():
        return tokens
    characters = CHARACTER.findall(whole.decode(errors="surrogateescape"))
    ends = set(accumulate((len(_encoded(each)) for each in characters), initial=0))
    result, group = [], []
    for number, end in enumerate(accumulate(map(len, raw))):
        group.append(tokens[number])
        if end in ends and not _shares(tokens[number + 1 : number + 2]):
            result += _of_group(group)
            group = []
    return result + group


def _of_group(group):
    try:
        text = b"".join(map(_bytes, group)).decode()
    except UnicodeDecodeError:
        return group
    if not 2 <= len(group) <= MOST:
        return group
    return [
        token | {"part": {"of": text, "number": number, "count": len(group)}}
        for number, token in enumerate(group, 1)
    ]


def _shares(following):
    """Whether the next token stands for a character that the one before has ("ﬁ" as "f", "i").

    It is not a space that the tokenizer puts before the text.
    """
    return any(not _bytes(token) and token.get("spelling", "").strip() for token in following)


def _bytes(token):
    return bytes.fromhex(token["bytes"]) if "bytes" in token else _encoded(token["text"])


def _encoded(text):
    return text.encode(errors="surrogateescape")


@dataclass(frozen=True)
class TokenizedText:
    """A text as the model reads it.

    text: what was tokenised: the passage, or the chat around it
    token_ids: [T], with the special tokens that the tokenizer adds
    tokens: [T], what each token is in the text, see `report.models.text.spelling.spelled` and
        `report.models.text.tokens.with_parts`
    """

    text: str
    token_ids: list[int]
    tokens: list[dict]


def encode(loaded: "LoadedModel", text: str, chat: bool = False) -> list[int]:
    """The token ids of a passage; see `tokenize`.

    raises: ReportError as `tokenize`
    """
    return tokenize(loaded, text, chat).token_ids


@dataclass(frozen=True)
class EncodedTexts:
    """The tokens of several texts.

    token_ids: dict of a text's place to its token ids, as `encode` gives them
    left_out: how many texts are too long for the model, or have fewer than 2 tokens
    failed: dict of the place of a text that cannot be read to the reason
    """

    token_ids: dict[int, list[int]]
    left_out: int
    failed: dict[int, str]


def encode_texts(loaded: "LoadedModel", texts: list[str]) -> EncodedTexts:
    """The `EncodedTexts` of a list of texts."""
    context = loaded.identity["context"]
    unlimited = replace(loaded, identity=loaded.identity | {"context": None})
    token_ids, failed = {}, {}
    for place, text in enumerate(texts):
        try:
            token_ids[place] = encode(unlimited, text)
        except TooShortError:
            continue
        except ReportError as error:
            failed[place] = str(error)
    fitting = {p: ids for p, ids in token_ids.items() if context is None or len(ids) <= context}
    return EncodedTexts(fitting, len(texts) - len(fitting) - len(failed), failed)


class TooShortError(ReportError):
    """A text has fewer than 2 tokens."""


def tokenize(loaded: "LoadedModel", text: str, chat: bool = False) -> TokenizedText:
    """The tokens of a passage, with the special tokens that the model's tokenizer adds.

    loaded: LoadedModel
    text: str, tokenised whole and as it is: what looks like a special token in it is plain text
    chat: whether the passage is put into the model's chat template, as a message of the user
    returns: TokenizedText with at least 2 tokens that were not added
    raises: ReportError if the passage is empty, has one token, is longer than the model allows, or
        contains text that the tokenizer reads as a special token; if the model has no chat
        template; or if its tokenizer does not say where its tokens lie in the text
    """
    _require_offsets(loaded.tokenizer)
    if not text.strip():
        raise TooShortError("the passage is empty; give a text of at least 2 tokens")
    return tokenize_whole(loaded, user_chat(loaded.tokenizer, text) if chat else text, chat)


def tokenize_whole(loaded: "LoadedModel", whole: str, chat: bool) -> TokenizedText:
    """The tokens of a text, or of a chat as the model's template wrote it.

    raises: ReportError as `tokenize`
    """
    tokenizer = loaded.tokenizer
    _require_offsets(tokenizer)
    pieces = encoded(tokenizer, whole, **reading(chat))
    added = pieces["special_tokens_mask"]
    with asked():
        tokens = spelled(tokenizer, whole, pieces["input_ids"], pieces["offset_mapping"], added)
    if not chat:
        _require_plain(tokens, added)
    _require_length(tokens, loaded.identity["context"])
    return TokenizedText(whole, list(pieces["input_ids"]), with_parts(tokens))


def reading(chat: bool) -> dict[str, bool]:
    """Options of a tokenizer that reads a text, or a chat: a template writes special tokens itself,
    and in a text nothing is one."""
    return {
        "add_special_tokens": not chat,
        "split_special_tokens": not chat,
        "return_special_tokens_mask": True,
        "return_offsets_mapping": True,
        "verbose": False,
    }


def _require_offsets(tokenizer):
    if not getattr(tokenizer, "is_fast", False):
        raise ReportError(
            f"the tokenizer is a {type(tokenizer).__name__}, which does not say where its tokens "
            "lie in a text; give a model with a tokenizer.json"
        )


def _require_plain(tokens, added):
    """Stop where the text itself became a special token: some vocabularies contain "<s>"."""
    for token, was_added in zip(tokens, added, strict=True):
        if token["special"] and not was_added:
            raise ReportError(
                f"the passage contains '{token['text'].strip()}', which the model's tokenizer "
                "cannot tell from its special token; write it differently"
            )


def _require_length(tokens, context):
    from_text = sum(not token["special"] for token in tokens)
    if from_text < 2:
        raise TooShortError(
            f"the passage has {from_text} token; give a text of at least 2 tokens, "
            "so that there is something to attend to"
        )
    if context is not None and len(tokens) > context:
        raise ReportError(
            f"the passage has {len(tokens)} tokens, the model takes at most {context}; "
            "shorten the passage"
        )
