"""One head's attention over a passage, as a shard of integers (schema attention/3).

Figures 1 to 3 need the terms of every score of one head. What depends on one token alone is stored
once a token, the others once a visible cell, or as products of queries and keys (product.py) and,
once a visible cell, what is missing. Scores are rounded so that every probability computed
from the file is within `rounding.PROBABILITY_ERROR` of the measured one:

    score_ij = sum of the terms        probability_ij = exp(cap(score_ij) - log_normalizer_i)
    cap(x) = softcap * tanh(x / softcap), or x in a model without
"""

from dataclasses import dataclass

import numpy as np

from report.datasets.formats import packing, rounding
from report.datasets.formats.product import as_json, from_json, shortest
from report.datasets.formats.visible import Visible
from report.errors import ReportError

TERMS = ("content", "bias", "position", "row_constant", "score")
"""The names that terms have, in the order of a tooltip."""

RANKS = 11
"""Largest targets that a file lists of a row."""

TAKES_UP = ("content", "score")
"""The cell term that takes up the rounding of the others: the first of these that there is."""


@dataclass(frozen=True)
class DecodedTerm:
    """One summand of a head's scores."""

    name: str
    """"content", "bias", "position", "row_constant"; or "score" where a model tells no more."""
    per: str
    """What the values belong to: "cell", "target", "target_difference" (values[j] - values[i]) or
    "current"."""
    values: np.ndarray
    """float64 [query, key] for "cell" (0 where nothing is visible), else [T]."""
    visible: Visible | None = None
    """None is causal."""

    def matrix(self):
        """The term of every cell, float64 [query, key], 0 where nothing is visible."""
        if self.per == "cell":
            return self.values
        values = self.values[:, None] if self.per == "current" else self.values[None, :]
        full = values - self.values[:, None] if self.per == "target_difference" else values
        length = len(self.values)
        return np.where(Visible.of(self.visible, length).mask(), full, 0.0)


@dataclass(frozen=True)
class DecodedAttention:
    """One head's attention over a passage of T tokens, as a reader's browser sees it."""

    layer: int
    head: int
    terms: dict[str, DecodedTerm]
    score: np.ndarray
    """float64 [query, key], the sum of the terms; -inf where nothing is visible."""
    probability: np.ndarray
    """float64 [query, key], in [0, 1]; rows sum to 1, or to what the sink leaves."""
    marker_count: np.ndarray
    """int [query]: the fewest largest targets that hold half of the row's probability; 11 where
    that takes more."""
    largest_targets: np.ndarray
    """int [query, 11]: targets by falling probability, -1 where the row has no more."""
    ranges: Visible | None = None
    """Which cells are visible; None is causal."""
    softcap: float | None = None
    """Bound of the scores, or None."""
    sink: float | None = None
    """A score that takes part in every softmax without being a target, or None."""

    @property
    def visible(self):
        """`ranges`, with causal attention filled in."""
        return Visible.of(self.ranges, len(self.score))

    @property
    def capped(self):
        """What enters the softmax, float64 [query, key]: `score` within the softcap."""
        return cap(self.score, self.softcap)


def cap(score, softcap):
    """softcap * tanh(score / softcap), or the score itself where `softcap` is None."""
    if softcap is None:
        return score
    return np.where(np.isneginf(score), -np.inf, softcap * np.tanh(score / softcap))


def encode(
    layer,
    head,
    terms,
    probability,
    marker_count,
    largest_targets,
    *,
    visible=None,
    softcap=None,
    sink=None,
):
    """The attention/3 dataset of one head.

    terms: list of objects with `name`, `per`, `values` as in `DecodedTerm`, and `pair`, query and
        key [T, n] whose product a "cell" term is, or None; one of them, "content" or "score", is a
        "cell" term and takes up the rounding of the others, so the total is off by at most half of
        its own step
    probability: float [query, key], the measured probabilities
    visible: object with `first` and `last`, or None for causal attention
    softcap, sink: numbers, or None for a model without
    returns: a dict that satisfies the schema
    raises: ReportError if a term is beyond LARGEST_SCORE, or the rounded probabilities cannot be
        kept within PROBABILITY_ERROR
    """
    length = len(probability)
    ranges = Visible.of(visible, length)
    pairs = {term.name: term.pair for term in terms}
    terms = [DecodedTerm(t.name, t.per, np.asarray(t.values, float), ranges) for t in terms]
    _require_plausible(layer, head, terms)
    free = next(name for name in TAKES_UP if any(term.name == name for term in terms))
    encoded = {term.name: None for term in terms}  # in the order given
    coarse = rounding.multiples(probability, largest_targets, rounding.CELL_COARSENING)
    encoded |= {t.name: _encode_term(t, pairs[t.name], coarse) for t in terms if t.name != free}
    others = np.zeros((length, length))
    for name in encoded.keys() - {free}:
        others += _decode_term(name, encoded[name], ranges).matrix()
    total = sum(term.matrix() for term in terms)
    multiple = rounding.multiples(probability, largest_targets, rounding.COARSENING)
    step, mask = rounding.STEPS[free], ranges.mask()
    product = shortest(total - others, pairs[free], step, multiple, mask)
    if product:
        others += product.matrix()

    def scored(integers):
        score = np.where(mask, integers * step + others, -np.inf)
        return cap(score, softcap), _log_normalizer(cap(score, softcap), sink).round(6)

    integers, normalizer, error = _rounded_rows(
        total - others, step, probability, largest_targets, scored
    )
    if not error.max() <= rounding.PROBABILITY_ERROR:
        raise ReportError(
            f"layer {layer} head {head}: rounding moves a probability by {error.max():.2g}, more "
            f"than {rounding.PROBABILITY_ERROR}; measure in float32 or shorten the passage."
        )
    encoded[free] = _encoded_cells(integers, step, mask, product)
    optional = {
        "visible": None if ranges.is_causal else ranges.as_json(),
        "softcap": softcap,
        "sink": sink,
    }
    return {
        "schema": "attention/3",
        "layer": layer,
        "head": head,
        "tokens": length,
        "terms": encoded,
        **{name: value for name, value in optional.items() if value is not None},
        "log_normalizer": normalizer.tolist(),
        "marker_count": np.asarray(marker_count).tolist(),
        "largest_targets": np.asarray(largest_targets).ravel().tolist(),
    }


def _require_plausible(layer, head, terms):
    """Stop for scores of no working model: they would take gigabytes, and mean nothing."""
    for term in terms:
        largest = np.abs(term.values).max(initial=0)
        if not largest <= rounding.LARGEST_SCORE:
            raise ReportError(
                f"layer {layer} head {head}: the {term.name} term of a score is {largest:.3g}, "
                f"and more than {rounding.LARGEST_SCORE:,} is not kept; weights that are quantised "
                "or damaged look like this: give the model in float32, float16 or bfloat16."
            )


def _rounded_rows(values, step, probability, largest_targets, scored):
    """Each row as coarse as the bound allows: integers [query, key], normalizer and error [query].

    scored: from integers to the scores that enter the softmax, and their normalizers
    """
    integers = np.zeros(values.shape, np.int64)
    normalizer = np.zeros(len(values))
    error = np.full(len(values), np.inf)
    for coarsening in rounding.FINER:
        multiple = rounding.multiples(probability, largest_targets, coarsening)
        tried = rounding.rounded(values, step, multiple)
        capped, normalizers = scored(tried)
        errors = np.abs(np.exp(capped - normalizers[:, None]) - probability).max(1)
        todo = error > rounding.PROBABILITY_ERROR
        integers[todo], normalizer[todo], error[todo] = tried[todo], normalizers[todo], errors[todo]
        if error.max() <= rounding.PROBABILITY_ERROR:
            break
    return integers, normalizer, error


def decode(shard):
    """The `DecodedAttention` of an attention/3 dataset (a dict); the inverse of `encode`.

    raises: ReportError if there are too few or too many values of anything, if one is beyond what
        is ever written, or a target is no token
    """
    length, given = shard["tokens"], shard.get("visible")
    try:
        _require_sizes(shard)
        ranges = Visible.of(given and Visible(given["first"], given["last"]), length)
        terms = {name: _decode_term(name, term, ranges) for name, term in shard["terms"].items()}
    except ReportError as error:
        raise ReportError(f"layer {shard['layer']} head {shard['head']}: {error}") from error
    score = np.where(ranges.mask(), sum(term.matrix() for term in terms.values()), -np.inf)
    capped = cap(score, shard.get("softcap"))
    with np.errstate(over="ignore"):
        probability = np.exp(capped - np.asarray(shard["log_normalizer"], float)[:, None])
    if not np.isfinite(probability).all():
        raise ReportError(
            f"layer {shard['layer']} head {shard['head']}: a normalizer does not fit the scores; "
            "delete the dataset and run `make site`."
        )
    return DecodedAttention(
        layer=shard["layer"],
        head=shard["head"],
        terms=terms,
        score=score,
        probability=probability,
        marker_count=np.asarray(shard["marker_count"]),
        largest_targets=np.asarray(shard["largest_targets"]).reshape(length, RANKS),
        ranges=ranges,
        softcap=shard.get("softcap"),
        sink=shard.get("sink"),
    )


def _require_sizes(shard):
    """Stop before anything is made of a number of tokens that the values are not of."""
    rows = shard["tokens"]
    sizes = {"log_normalizer": rows, "marker_count": rows, "largest_targets": rows * RANKS}
    for name, size in sizes.items():
        if len(shard[name]) != size:
            raise ReportError(
                f"{name} has {len(shard[name])} values, not {size}; delete the dataset and run "
                "`make site`."
            )
    if max(shard["largest_targets"]) >= rows:
        raise ReportError(
            f"a target is {max(shard['largest_targets'])}, of {rows} tokens that count from 0; "
            "delete the dataset and run `make site`."
        )


def _log_normalizer(score, sink):
    largest = score.max(1) if sink is None else np.maximum(score.max(1), sink)
    total = np.exp(score - largest[:, None]).sum(1)
    return largest + np.log(total if sink is None else total + np.exp(sink - largest))


def _encode_term(term, pair, multiple):
    if term.per == "cell":
        step, mask = rounding.CELL_STEP, term.visible.mask()
        product = shortest(term.values, pair, step, multiple, mask)
        missing = term.values - product.matrix() if product else term.values
        return _encoded_cells(rounding.rounded(missing, step, multiple), step, mask, product)
    step = rounding.STEPS[term.name]
    return {"per": term.per, "step": step, "values": rounding.rounded(term.values, step).tolist()}


def _encoded_cells(integers, step, mask, product):
    told = {"packed": packing.pack(integers[mask])}
    if product:
        told = {"product": as_json(product, integers[mask])}
    return {"per": "cell", "step": step, **told}


def _decode_term(name, term, ranges):
    step, values = float(term["step"]), term.get("values")
    if term["per"] == "cell":
        values = _decoded_cells(name, term, step, ranges)
    else:
        _require_number(name, values, len(ranges.first))
        values = np.asarray(values) * step
    if not np.abs(values).max(initial=0) <= 2 * rounding.LARGEST_SCORE:  # rounding adds a little
        raise ReportError(
            f"term {name!r} has a value beyond {rounding.LARGEST_SCORE:,}; delete the dataset and "
            "run `make site`."
        )
    return DecodedTerm(name, term["per"], values, ranges)


def _decoded_cells(name, term, step, ranges):
    """The values of a "cell" term, float64 [query, key], 0 where nothing is visible."""
    mask = ranges.mask()
    cells = np.zeros(mask.shape)
    if "product" in term:
        product, missing = _product(name, term["product"], ranges)
        cells[mask] = product.matrix()[mask] + missing * step
    else:
        integers = packing.unpack(term["packed"])
        _require_number(name, integers, ranges.count)
        cells[mask] = integers * step
    return cells


def _require_number(name, values, expected):
    if len(values) != expected:
        raise ReportError(
            f"term {name!r} has {len(values)} values, not {expected}; "
            "delete the dataset and run `make site`."
        )


def _product(name, given, ranges):
    try:
        return from_json(given, len(ranges.first), ranges.count)
    except ValueError as error:
        raise ReportError(
            f"the product of term {name!r} is not one of {len(ranges.first)} queries and keys; "
            "delete the dataset and run `make site`."
        ) from error
