"""The yardstick of the validation loss: a trigram model with add-one smoothing, counted exactly."""

import numpy as np

from report.errors import ReportError


def trigram_loss(
    training: list[np.ndarray], validation: np.ndarray, vocab_size: int, begin_id: int
) -> float:
    """Mean negative log probability of the validation tokens under a trigram model, in nats.

    training: list of int [tokens], one array a book, no trigram crosses a border between books
    validation: int [tokens], without the beginning-of-text token
    vocab_size: V, every token id is below it
    begin_id: stands in for the two tokens missing before the first and second token of a book
    returns: float, the mean over every token of `validation`
    raises: ReportError if either has no token
    source: add-one (Laplace) smoothing over the whole vocabulary:
        P(c | a b) = (count(a b c) + 1) / (sum over x of count(a b x) + V)
        A plain yardstick: it puts much probability on words never seen, so a model is to be well
        below it. It sees the two tokens before every token, wherever the model's windows begin.
    """
    if not sum(map(len, training)) or not len(validation):
        raise ReportError("a trigram model needs at least one token to count and one to predict")
    counted = np.concatenate([trigrams(tokens, begin_id) for tokens in training])
    asked = trigrams(validation, begin_id)
    triples = occurrences(codes(counted, vocab_size), codes(asked, vocab_size))
    pairs = occurrences(codes(counted[:, :2], vocab_size), codes(asked[:, :2], vocab_size))
    return float(-np.log((triples + 1) / (pairs + vocab_size)).mean())


def trigrams(tokens: np.ndarray, begin_id: int) -> np.ndarray:
    """int64 [tokens, 3]: every token with the two before it."""
    padded = np.concatenate([[begin_id, begin_id], np.asarray(tokens, dtype=np.int64)])
    return np.stack([padded[:-2], padded[1:-1], padded[2:]], axis=1)


def codes(grams: np.ndarray, vocab_size: int) -> np.ndarray:
    """int64 [grams]: one number for each row of token ids (up to 2 million different ids)."""
    return grams @ (vocab_size ** np.arange(grams.shape[1], dtype=np.int64))


def occurrences(counted: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """How often each number of `asked` is in `counted`, int64 [asked]."""
    values, counts = np.unique(counted, return_counts=True)
    at = np.minimum(np.searchsorted(values, asked), len(values) - 1)
    return np.where(values[at] == asked, counts[at], 0)
