"""What the acceptance test asks of single heads: pure functions on measured attention."""

import numpy as np

from report.errors import ReportError


def largest_target_counts(largest_target):
    """How often a head's largest target is the first token, and the previous one.

    largest_target: int [layers, heads, tokens], the most probable target of every current token
    returns: (first, previous, rows): int [layers, heads] twice, and the number of current tokens
        counted: all but token 0, which can attend to nothing but itself. For token 1 the first
        token is the previous one, and counts as both.
    raises: ReportError if there are fewer than 2 tokens
    source: previous-token heads, Elhage et al. 2021; first token as a sink, Xiao et al. 2023
    """
    tokens = largest_target.shape[-1]
    if tokens < 2:
        raise ReportError(f"{tokens} token(s); at least 2 are needed to ask for a previous one")
    targets = largest_target[..., 1:]
    first = (targets == 0).sum(-1)
    previous = (targets == np.arange(tokens - 1)).sum(-1)
    return first, previous, tokens - 1


def repeated_sequence(ordinary, length, begin_id, seed):
    """Begin token, `length` different random tokens, the same again: int [1 + 2 length].

    ordinary: int, the token ids to draw from, special tokens left out. None is drawn twice, so that
        there is one earlier occurrence.
    raises: ReportError if there are fewer of them than `length`
    """
    if len(ordinary) < length:
        raise ReportError(f"{length} different tokens wanted of a vocabulary of {len(ordinary)}")
    span = np.random.default_rng(seed).choice(ordinary, length, replace=False)
    return np.concatenate([[begin_id], span, span])


def induction_probability(probability, length):
    """Mean probability on the token that came after the earlier occurrence of the current one.

    probability: float [..., query, key] on a sequence as of `repeated_sequence`
    length: tokens in the repeated span
    returns: float [...], the mean over every current token of the second copy, in [0, 1]
    source: induction heads, Olsson et al. 2022
    """
    current = np.arange(length + 1, 2 * length + 1)
    return probability[..., current, current - length + 1].mean(-1)


def strongest(values):
    """The largest of float [layers, heads] with its address: {"value", "layer", "head"}."""
    layer, head = np.unravel_index(np.argmax(values), values.shape)
    return {
        "value": round(float(values[layer, head]), 4),
        "layer": int(layer),
        "head": int(head),
    }
