"""The terms of a head's scores as integers (a part of the schema attention/3), and back.

What depends on one token alone is stored once a token. Other terms are stored once a visible cell,
or as products of queries and keys (product.py) and, once a visible cell, what these leave over.
"""

import functools
from dataclasses import dataclass

import numpy as np

from report.datasets.damaged import damaged, require_number
from report.datasets.formats import packing, rounding
from report.datasets.formats.product import Product, as_json, from_json, shortest
from report.datasets.formats.visible import Visible
from report.errors import ReportError

PLACED = ("content", "content_position", "position_content", "position_position")
"""What is "mixed" in other layers, where positions added to the embeddings are told apart."""

TERMS = (*PLACED, "mixed", "bias", "position", "row_constant", "score")
"""The names of terms, in the order of `PassageData.terms`."""


@dataclass(frozen=True)
class DecodedTerm:
    """One summand of a head's scores."""

    name: str
    """One of `TERMS`; "score" where the terms are unknown."""
    per: str
    """What the values belong to: "cell", "target", "target_difference" (values[j] - values[i]) or
    "current"."""
    values: np.ndarray
    """float64 [query, key] for "cell" (0 where nothing is visible), else [T]."""
    visible: Visible | None = None
    """None is causal."""

    def matrix(self) -> np.ndarray:
        """The term of every cell, float64 [query, key], 0 where nothing is visible."""
        if self.per == "cell":
            return self.values
        values = self.values[:, None] if self.per == "current" else self.values[None, :]
        full = values - self.values[:, None] if self.per == "target_difference" else values
        length = len(self.values)
        return np.where(Visible.of(self.visible, length).mask(), full, 0.0)

    @functools.cached_property
    def smallest(self) -> np.ndarray:
        """Its smallest value among the targets that each current token can see, float64 [query]."""
        matrix = self.matrix()
        mask = Visible.of(self.visible, len(matrix)).mask()
        return np.where(mask, matrix, np.inf).min(1)


def require_plausible(layer: int, head: int, terms: list[DecodedTerm]) -> None:
    """Stop for scores that the integers of a file cannot hold.

    raises: ReportError naming layer, head and term
    """
    for term in terms:
        largest = np.abs(term.values).max(initial=0)
        if not largest <= rounding.LARGEST_SCORE:
            raise ReportError(
                f"layer {layer} head {head}: the {term.name} term of a score is {largest:.3g}, "
                f"the integers of a dataset hold {rounding.LARGEST_SCORE:,.0f} at most; measure "
                "the layers before it alone (--layers), or another model"
            )


def encode_term(
    term: DecodedTerm, pair: tuple[np.ndarray, np.ndarray] | None, multiple: np.ndarray
) -> dict:
    """A term as attention/3 has it.

    pair: query and key [T, n] whose product the term is, or None
    multiple: int [query, key], the multiples of the step that cells are rounded to
    """
    if term.per == "cell":
        step, mask = rounding.CELL_STEP, term.visible.mask()
        product = shortest(term.values, pair, step, multiple, mask)
        missing = term.values - product.matrix if product else term.values
        return encode_cells(rounding.rounded(missing, step, multiple), step, mask, product)
    step = rounding.STEPS[term.name]
    return {"per": term.per, "step": step, "values": rounding.rounded(term.values, step).tolist()}


def encode_cells(
    integers: np.ndarray, step: float, mask: np.ndarray, product: Product | None
) -> dict:
    """A "cell" term as attention/3 has it.

    integers: [query, key], in units of `step`, what the product leaves over
    mask: bool [query, key], the visible cells
    product: None if the integers are the whole term
    """
    content = {"packed": packing.pack(integers[mask])}
    if product:
        content = {"product": as_json(product, integers[mask])}
    return {"per": "cell", "step": step, **content}


def decode_term(name: str, term: dict, ranges: Visible) -> DecodedTerm:
    """A term of an attention/3 dataset; the inverse of `encode_term`.

    raises: ReportError if there are too few or too many values, or one is beyond LARGEST_SCORE
    """
    step, values = float(term["step"]), term.get("values")
    if term["per"] == "cell":
        values = _decode_cells(name, term, step, ranges)
    else:
        require_number(f"term {name!r}", values, len(ranges.first))
        values = np.asarray(values) * step
    if not np.abs(values).max(initial=0) <= 2 * rounding.LARGEST_SCORE:  # rounding adds a little
        raise damaged(f"term {name!r} has a value beyond {rounding.LARGEST_SCORE:,.0f}")
    return DecodedTerm(name, term["per"], values, ranges)


def _decode_cells(name, term, step, ranges):
    """The values of a "cell" term, float64 [query, key], 0 where nothing is visible."""
    mask = ranges.mask()
    cells = np.zeros(mask.shape)
    if "product" in term:
        product, missing = _decode_product(name, term["product"], mask)
        cells[mask] = product.matrix[mask] + missing * step
    else:
        integers = packing.unpack(term["packed"])
        require_number(f"term {name!r}", integers, ranges.count)
        cells[mask] = integers * step
    return cells


def _decode_product(name, content, mask):
    try:
        return from_json(content, mask)
    except ValueError as error:
        raise damaged(
            f"the product of term {name!r} does not have {len(mask)} queries and keys"
        ) from error
