"""What a file of queries and keys says beside them, so that its numbers are right where they count.

What has to hold (`rounding`): every probability within PROBABILITY_ERROR of the measured one, and
terms within TOP_ERROR at the largest targets of a row and within CELL_ERROR elsewhere. What all
scores of a row are off by changes nothing after softmax. So each row is moved by as much as its
uncorrected scores are off on average, and only then single cells are corrected.
"""

import numpy as np

from report.datasets.formats import ranking, rice, rounding
from report.datasets.formats.decoded import cap
from report.datasets.formats.factored import Products, of_tokens
from report.datasets.formats.group import Exact, Head
from report.errors import ReportError

PROBABLY = 0.999 * rounding.PROBABILITY_ERROR
"""The bound, but for what a browser's arithmetic may add."""

PARTS = (0.5, 0.5, 0.3, 0.3, 0.1, 0, 0, 0, 0, 0)
"""Parts of the bound by which a corrected probability may be off; the next for rows in which one
is wrong. At 0 all cells of such a row count that have a hundredth of the bound."""

BYTES_OF_A_CELL = 2.1
"""What a corrected cell takes: how far it is from the one before, and by how much it is off."""


def of_rows(head: Head, products: Products, exact: Exact) -> dict[str, np.ndarray]:
    """What a file says of some rows, int [any number] by name: "targets", "rows", "content",
    "position", and of these two what is missing at the largest targets, "content top" and so on.
    Where nothing is rotated there is no "content"."""
    target, current = of_tokens(head.written, len(head.keys))
    score = products.together(exact.rows, exact.columns) + target[exact.columns]
    error = score + current[exact.rows, None] - exact.score
    rows, position = _to_scores(head, exact, error)
    numbers = {"targets": _places(head, exact, score), "rows": rows.astype(np.int64)}
    cells = {"position": position}
    if head.turned:
        cells["content"] = _to_content(products, exact)
    for name, integers in cells.items():
        integers = integers.astype(np.int64)
        numbers[f"{name} top"] = integers[exact.top_cells]
        numbers[name] = np.where(exact.top, 0, integers)[exact.mask]
    return numbers


def _to_content(products, exact):
    """What is missing to the content, in units of its step, float64 [query, key]."""
    content = products.content(exact.rows, exact.columns) - exact.content
    bound = np.where(exact.top, rounding.TOP_ERROR, rounding.CELL_ERROR)
    cells = np.nonzero(np.abs(content) > bound)
    integers = np.zeros(content.shape)
    integers[cells] = np.rint(-content[cells] / rounding.MISSING_STEPS["content"])
    return integers


def as_json(name: str, numbers: dict[str, np.ndarray]) -> dict:
    """A "cell" term as attention/4 has it; numbers: as of `of_rows`, of all rows.

    name: "position" for the term that what is missing to the scores belongs to, else "content"
    """
    top = numbers[f"{name} top"]
    tens = np.rint(top / rounding.TENS[name]).astype(np.int64)
    rows = {"rows": rice.write(numbers["rows"][None])} if name == "position" else {}
    return {
        "per": "cell",
        "step": rounding.MISSING_STEPS[name],
        "tens": rounding.TENS[name],
        "top": rice.write(tens[None]),
        "top_cells": rice.write_few(top - tens * rounding.TENS[name]),
        "cells": rice.write_few(numbers[name]),
        **rows,
    }


def size(head: Head, products: Products, exact: Exact) -> float:
    """About how many bytes it takes to say what is missing of some rows."""
    target, current = of_tokens(head.written, len(head.keys))
    score = products.together(exact.rows, exact.columns) + target[exact.columns]
    score += current[exact.rows, None]
    error = np.where(exact.mask, score - exact.score, 0)
    error -= _mean(exact, error, exact.top)[:, None]
    off = np.abs(error) / _allowed(exact.probability, exact.top, 0.9)
    bits, cells = np.log2(2 + 2 * off[exact.top_cells]).sum(), (off > 1).astype(int)
    if head.turned:
        content = np.abs(products.content(exact.rows, exact.columns) - exact.content)
        bits += np.log2(2 + 2 * content[exact.top_cells] / rounding.TOP_ERROR).sum()
        cells += content > rounding.CELL_ERROR
    return BYTES_OF_A_CELL * float(cells[exact.mask & ~exact.top].sum()) + bits / 8


def _places(head, exact, score):
    """The numbers of the largest targets, see `ranking`, int [any number]."""
    first = exact.columns.start
    listed = head.group.largest_targets[head.place, exact.rows]
    here = np.where(listed < 0, -1, listed - first)
    places = ranking.places(np.where(exact.mask, score, -np.inf), here)
    places = np.where(places >= ranking.DEPTH, places + first, places)
    return places[listed >= 0]


def _mean(exact, error, corrected):
    """By how much the scores of the other cells of a row are off on average, float64 [query]."""
    weight = np.where(corrected, 0, exact.probability)
    mean = (weight * np.expm1(np.minimum(error, 1))).sum(1) / np.maximum(weight.sum(1), 1e-30)
    return np.log1p(np.maximum(mean, -0.5))


def _allowed(probability, top, part):
    """How far the scores of cells may be off, float64: their probabilities by a part of the bound.

    top: whether they are among the largest targets
    """
    spread = np.maximum(probability * (1 - probability), 1e-9)
    bound = np.where(top, rounding.TOP_ERROR / 2, rounding.CELL_ERROR)
    return np.minimum(part * rounding.PROBABILITY_ERROR / spread, bound)


def _to_scores(head, exact, error):
    """What is missing to the scores, in units of their step: of each row, float64 [query], and of
    single cells beside that, float64 [query, key]; error: float64 [query, key]."""
    step, tens = rounding.MISSING_STEPS["position"], rounding.TENS["position"]
    error = np.where(exact.mask, error, 0)
    corrected = exact.top | (np.abs(error) > rounding.CELL_ERROR)
    rows_integers, integers = np.zeros(len(error)), np.zeros(error.shape)
    rows = np.arange(len(error))  # those that are not yet right
    for part in PARTS:
        some = exact if len(rows) == len(error) else exact.of(rows)
        own, here = error[rows], corrected[rows]
        rows_integers[rows] = np.rint(-_mean(some, own, here) / step)
        own += rows_integers[rows, None] * step
        cells = np.nonzero(here)
        allowed = _allowed(some.probability[cells], some.top[cells], part)
        coarse = np.where(2 * allowed >= tens * step, tens, 1)
        chosen = -np.rint(own[cells] / (coarse * step)) * coarse
        integers[rows[cells[0]], cells[1]] = chosen
        own[cells] += chosen * step
        wrong = _wrong(head, some, own)
        limit = PROBABLY if part else PROBABLY / 100
        still = wrong.max(1) > PROBABLY
        counts = wrong > PROBABLY if part else some.probability > limit
        corrected[rows[still]] |= counts[still]
        rows = rows[still]
        if not len(rows):
            return rows_integers, integers
    raise ReportError(
        f"layer {head.group.layer} head {head.number}: rounding moves a probability by "
        f"{wrong.max():.2g}, more than {rounding.PROBABILITY_ERROR}; measure in float32 or "
        "shorten the passage."
    )


def _wrong(head, exact, error):
    """By how much probabilities are off if scores are off by `error`, float64 [query, key]."""
    if head.softmax.softcap is None:  # then it follows from the probabilities
        grown = exact.probability * np.exp(error)
        left = 1 - exact.probability.sum(1)  # what a sink takes
        return np.abs(grown / (grown.sum(1) + left)[:, None] - exact.probability)
    score = np.where(exact.mask, exact.score + error, -np.inf)
    capped = cap(score, head.softmax.softcap)
    normalizer = head.softmax.log_normalizer(capped)
    return np.abs(np.exp(capped - normalizer[:, None]) - exact.probability)
