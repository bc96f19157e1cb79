"""Tokens of a vocabulary as a reader would see them, and the token that continues a text."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from report.errors import ReportError
from report.models.text.spelling import ways_to_spell
from report.models.text.tokens import tokenize
from report.text import quoted

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


def words(loaded: "LoadedModel", ids: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Id -> its "text", and its "bytes" in hexadecimal where these are not whole characters; the
    text of an id without a token is the number."""
    ways, word_of = ways_to_spell(loaded.tokenizer), {}
    for token in sorted({*map(int, ids)}):
        symbol = loaded.tokenizer.convert_ids_to_tokens(token)
        if symbol is None:
            word_of[token] = {"text": f"<{token}>"}
            continue
        added = token in loaded.tokenizer.added_tokens_decoder
        raw = symbol.encode() if added else ways(symbol)[0]
        word_of[token] = {"text": raw.decode(errors="replace")}
        if word_of[token]["text"].encode() != raw:
            word_of[token]["bytes"] = raw.hex(" ")
    return word_of


def next_token(loaded: "LoadedModel", text: str, continuation: str) -> int:
    """The id of the first token of a continuation of a text.

    raises: ReportError if the continuation changes the text's own tokens, or adds none
    """
    before = tokenize(loaded, text).token_ids
    whole = tokenize(loaded, text + continuation).token_ids
    if whole[: len(before)] != before or len(whole) == len(before):
        raise ReportError(
            f"the text ends in {quoted(text[-20:])}, and the model's tokens do not part there from "
            f"{quoted(continuation)}; end the text with a whole word, and begin what follows with "
            "a space"
        )
    return whole[len(before)]
