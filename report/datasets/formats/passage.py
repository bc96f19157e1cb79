"""The tokens of a passage (schema passage/1), and how a token is shown to a reader."""

import unicodedata

VISIBLE = {"\n": "↵", "\t": "⇥", "\r": "␍", "\u2028": "↵", "\u2029": "↵", "\u00a0": "␣"}
"""Stand-ins for white space that a reader would not see."""


def encode(passage, pieces):
    """The passage/1 dataset.

    passage: object with name, title, source, licence, language
    pieces: list of dicts with id and text, perhaps bytes and special, one a token
    """
    return {
        "schema": "passage/1",
        "name": passage.name,
        "title": passage.title,
        "source": passage.source,
        "licence": passage.licence,
        "language": passage.language,
        "tokens": [encoded_token(piece) for piece in pieces],
    }


def encoded_token(piece):
    """One token as a dataset has it, dict; piece: dict with id, text, perhaps bytes, special."""
    # JSON files are UTF-8, which has no lone surrogates
    text = piece["text"].encode("utf-8", "replace").decode("utf-8")
    label = token_label(text, piece.get("bytes"))
    token = {"id": piece["id"], "text": text}
    if label != text:
        token["label"] = label
    return token | {key: piece[key] for key in ("bytes", "special") if piece.get(key)}


def token_label(text, raw_bytes=None):
    """What stands for a token in a figure: its text with everything invisible made visible.

    raw_bytes: hex bytes of a token that is not whole characters
    returns: a non-empty str without control, format or line-breaking characters
    """
    if raw_bytes:
        return f"⟨{raw_bytes}⟩"
    shown = "".join(_visible(character) for character in text)
    if not shown:
        return "⟨⟩"
    return shown if shown.strip(" ") else "␣" * len(shown)


def _visible(character):
    if character in VISIBLE:
        return VISIBLE[character]
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return f"⟨{ord(character):04x}⟩"
    return character
