"""Text to token ids and back to the exact text of each token, special tokens included."""

from tokenizers import pre_tokenizers

from report.errors import ReportError


def encode(loaded, text):
    """The token ids of a passage, with the special tokens that the model's tokenizer adds.

    text: str, tokenised whole and as it is
    returns: list of int, at least 2 of them from the text itself
    raises: ReportError if the passage is empty, has one token, or is longer than the model allows
    """
    if not text.strip():
        raise ReportError("the passage is empty; give a text of at least 2 tokens")
    encoded = loaded.tokenizer(text, return_special_tokens_mask=True, verbose=False)
    token_ids = encoded["input_ids"]
    from_text = encoded["special_tokens_mask"].count(0)
    if from_text < 2:
        raise ReportError(
            f"the passage has {from_text} token; give a text of at least 2 tokens, "
            "so that there is something to attend to"
        )
    context = loaded.identity["context"]
    if len(token_ids) > context:
        raise ReportError(
            f"the passage has {len(token_ids)} tokens, the model takes at most {context}; "
            "shorten the passage"
        )
    return token_ids


def token_pieces(loaded, token_ids):
    """The exact text of each token, for showing it.

    token_ids: ids of the tokenizer's vocabulary
    returns: list of {"id": int, "text": str, "special": bool}, a leading space kept; a token whose
        bytes are not whole characters has U+FFFD in its text for what is missing and "bytes", its
        bytes in hexadecimal ("e2 80")
    raises: ReportError for an id that the tokenizer does not know
    """
    tokenizer = loaded.tokenizer
    byte_of = _byte_alphabet()
    added = {index: token.content for index, token in tokenizer.added_tokens_decoder.items()}
    special = set(tokenizer.all_special_ids)
    return [
        _piece(token_id, tokenizer, byte_of, added, token_id in special) for token_id in token_ids
    ]


def _piece(token_id, tokenizer, byte_of, added, special):
    piece = {"id": int(token_id), "text": added.get(token_id), "special": special}
    if piece["text"] is None:
        symbols = _symbols(tokenizer, int(token_id))
        raw = b"".join(byte_of.get(symbol, symbol.encode()) for symbol in symbols)
        piece["text"] = raw.decode("utf-8", errors="replace")
        if piece["text"].encode() != raw:
            piece["bytes"] = raw.hex(" ")
    return piece


def _symbols(tokenizer, token_id):
    """The vocabulary's spelling of a token; ReportError for an id that is in no vocabulary."""
    symbols = tokenizer.convert_ids_to_tokens(token_id) if token_id >= 0 else None
    if symbols is None:
        raise ReportError(
            f"token id {token_id} is not in the tokenizer, which has {len(tokenizer)} tokens; "
            "use the tokenizer that belongs to the model"
        )
    return symbols


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


def is_byte_level(tokenizer):
    """Whether the tokenizer's vocabulary is made of bytes, so that every piece is exact."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and "ByteLevel(" in repr(backend.decoder)
