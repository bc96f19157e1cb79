"""What each token of a text is, in the text's own characters.

A vocabulary spells its tokens in its own way: byte by byte in a printable alphabet (GPT-2), with
"▁" for a space and <0xE2> for a byte (SentencePiece), with "##" inside of words (WordPiece), often
after lower-casing or normalising. A reader shall see the text. So the text is walked along with the
tokens: where a token spells what comes next, that is its text; otherwise the tokenizer's offsets
say which characters it stands for, and its spelling is kept beside them.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from tokenizers import pre_tokenizers
from transformers import PreTrainedTokenizerBase

BYTE_TOKEN = re.compile("<0x([0-9A-F]{2})>")
SPACE = "▁"
"""What SentencePiece writes for a space."""


def spelled(
    tokenizer: PreTrainedTokenizerBase,
    text: str,
    token_ids: list[int],
    offsets: Sequence[tuple[int, int]],
    added: Sequence[int],
) -> list[dict[str, Any]]:
    """The tokens of `text` in its own characters, one dict a token.

    tokenizer: of transformers, with a backend
    offsets: [T] pairs (first character, end), of the tokenizer
    added: [T], 1 for a token that the tokenizer added to the text
    returns: list of {"id": int, "text": str, "special": bool}, with
        "bytes" (hexadecimal, "e2 80") where a token is not whole characters; its text has U+FFFD
            for what is missing
        "spelling" where the vocabulary has something else than the text: other letters, a stand-in
            for what it does not know; differences of white space alone are not mentioned
    The texts (or bytes) of all tokens that were not added, joined, are `text`; white space that
    the tokenizer leaves out begins the text of the next token.
    """
    walk = _Walk(text)
    ways_of = ways_to_spell(tokenizer)
    entries = tokenizer.added_tokens_decoder
    special_ids = {index for index, token in entries.items() if token.special}
    special_ids.update(tokenizer.all_special_ids)
    spellings = []
    for token_id, (start, end), was_added in zip(token_ids, offsets, added, strict=True):
        symbol = tokenizer.convert_ids_to_tokens(token_id)
        # "<unk>" is special, but stands for something of the text that is not itself
        special = was_added or (token_id in special_ids and symbol in text[start:end])
        if was_added:
            part, spelling = symbol.encode(), symbol.encode()
        elif token_id in special_ids:
            spelling = symbol.encode()
            part = walk.by_offsets(start, end, spelling)
        else:
            ways = [symbol.encode()] if token_id in entries else ways_of(symbol)
            part, spelling = walk.next(ways, start, end), ways[0]
        spellings.append((int(token_id), part, spelling, bool(special)))
    walk.finish()
    return [_token(*given) for given in spellings]


def _token(token_id, part, spelling, special):
    token = {"id": token_id, "text": part.decode(errors="replace"), "special": special}
    if token["text"].encode() != part:
        token["bytes"] = part.hex(" ")
    readable = spelling.decode(errors="replace")
    if part != spelling and (not part or readable.strip() != token["text"].strip()):
        token["spelling"] = readable
    return token


class _Walk:
    """Goes along a text and hands out its bytes, each of them to one token."""

    def __init__(self, text):
        self.text, self.bytes = text, text.encode()
        self.byte_of = [0]  # [characters + 1], the byte at which each character begins
        for character in text:
            self.byte_of.append(self.byte_of[-1] + len(character.encode()))
        self.place = 0
        self.last = bytearray()  # of the last token that stands for anything

    def next(self, ways, start, end):
        """The part of a token that may be spelled in `ways`, list of bytes, first the likeliest."""
        for way in ways:
            if way and self.bytes.startswith(way, self.place):
                return self._take(self.place + len(way))
        return self.by_offsets(start, end, ways[0])

    def by_offsets(self, start, end, spelling):
        """The part of a token that stands for the characters from `start` to `end`."""
        # Nothing is left for it where several tokens share a character ("ﬁ" read as "f", "i"), and
        # where SentencePiece puts a space before the text.
        extra_space = not spelling.strip() and self.text[start:end].strip()
        if extra_space or self.byte_of[end] <= self.place:
            return bytearray()
        self._take_marks(start)
        return self._take(self.byte_of[end])

    def _take(self, end):
        self.last = bytearray(self.bytes[self.place : end])
        self.place = end
        return self.last

    def _take_marks(self, start):
        """Leave accents that the tokenizer drops with the letter they stand on."""
        while self.last and self.place in self.byte_of[:start]:
            character = self.text[self.byte_of.index(self.place)]
            if not unicodedata.category(character).startswith("M"):
                break
            self.last += character.encode()
            self.place += len(character.encode())

    def finish(self):
        """Give what no token stands for at the end of the text to the last one."""
        self.last += self.bytes[self.place :]


def ways_to_spell(tokenizer: PreTrainedTokenizerBase) -> Callable[[str], list[bytes]]:
    """A function from a symbol of the vocabulary to the list of bytes that it may stand for, the
    likeliest first."""
    decoder = repr(tokenizer.backend_tokenizer.decoder)
    if "ByteLevel(" in decoder:
        byte_of = _byte_alphabet()
        return lambda symbol: [b"".join(byte_of.get(c, c.encode()) for c in symbol)]

    def ways(symbol):
        byte = BYTE_TOKEN.fullmatch(symbol) if "ByteFallback(" in decoder else None
        if byte:
            return [bytes.fromhex(byte[1])]
        if SPACE in decoder:
            return [symbol.replace(SPACE, " ").encode(), symbol.encode()]
        if "WordPiece(" in decoder:
            return [symbol.removeprefix("##").encode()]
        return [symbol.encode()]

    return ways


def _byte_alphabet():
    """Which byte each symbol of a byte-level vocabulary stands for.

    Printable Latin-1 characters stand for themselves, the other bytes for the characters from
    U+0100 on, in order (Radford et al. 2019).
    """
    alphabet = set(pre_tokenizers.ByteLevel.alphabet())
    byte_of = {chr(byte): bytes([byte]) for byte in range(256) if chr(byte) in alphabet}
    others = [byte for byte in range(256) if chr(byte) not in byte_of]
    byte_of.update((chr(256 + place), bytes([byte])) for place, byte in enumerate(others))
    return byte_of
