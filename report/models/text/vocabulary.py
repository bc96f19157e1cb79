"""Tokens of a vocabulary as a reader would see them, and those that a text can go on with."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from report.errors import ReportError
from report.models.text.spelling import ways_to_spell
from report.models.text.tokens import tokenize
from report.text import quoted

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


def words(loaded: "LoadedModel", ids: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Id -> its "text" as it would stand in a text, and its "bytes" where that is not whole
    characters; an id that the tokenizer does not know is shown by its number."""
    ways, word_of = ways_to_spell(loaded.tokenizer), {}
    for token in sorted({*map(int, ids)}):
        symbol = loaded.tokenizer.convert_ids_to_tokens(token)
        if symbol is None:
            word_of[token] = {"text": f"<{token}>"}
            continue
        known = token in loaded.tokenizer.added_tokens_decoder
        spelt = symbol.encode() if known else ways(symbol)[0]
        word_of[token] = {"text": spelt.decode(errors="replace")}
        if word_of[token]["text"].encode() != spelt:
            word_of[token]["bytes"] = spelt.hex(" ")
    return word_of


def following(loaded: "LoadedModel", text: str, going_on: str) -> int:
    """The id of the first token after a text, if it goes on in a certain way.

    raises: ReportError if the text's tokens are others then, or nothing follows them
    """
    before = tokenize(loaded, text).token_ids
    whole = tokenize(loaded, text + going_on).token_ids
    if whole[: len(before)] != before or len(whole) == len(before):
        raise ReportError(
            f"the text ends in {quoted(text[-20:])}, and the model's tokens do not part there from "
            f"{quoted(going_on)}; end the text with a whole word, and begin what follows with a "
            "space"
        )
    return whole[len(before)]
