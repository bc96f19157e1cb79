"""A "cell" term as a sum of products of one number a query and one number a key.

A content term is the product of T queries and T keys of a few dozen numbers each, far fewer
numbers than the T * T / 2 cells. So a file may write a term as

    value_ij = sum over c of weight_c * query_ci * key_cj

with integers query_ci and key_cj; the cells then hold only what is still missing. The components c
are those of the singular value decomposition. Both sides are scaled by the singular value, and all
integers have the same unit. Every component then adds about as much to the error, which takes the
fewest bits (reverse water-filling, Cover & Thomas, Elements of Information Theory, section 10.3.3),
and small components round to 0.
"""

import functools
import zlib
from dataclasses import dataclass

import numpy as np

from report.datasets.formats import packing, rounding

NOISE = 0.06
"""Standard deviation of the products' error, in units of the coarsest rounding of a cell: small
enough that few coarsely rounded cells have anything missing."""


BLOCK = 64
"""Rows that are summed at a time: few enough to stay in a processor's cache."""


@dataclass(frozen=True)
class Product:
    """The components of a term: a weight, and an integer a query and a key for each."""

    weights: np.ndarray
    """float64 [component]."""
    queries: np.ndarray
    """int64 [component, query]."""
    keys: np.ndarray
    """int64 [component, key]."""
    mask: np.ndarray
    """bool [query, key], the visible cells."""

    @functools.cached_property
    def matrix(self) -> np.ndarray:
        """float64 [query, key], right where a cell is visible, and anything elsewhere.

        It is summed component by component as the browser does, to the last bit.
        """
        left, keys = (self.weights[:, None] * self.queries).T, self.keys.astype(float)
        total = np.zeros(self.mask.shape)
        for start in range(0, len(total), BLOCK):
            rows = slice(start, start + BLOCK)
            seen = np.flatnonzero(self.mask[rows].any(0))
            columns = slice(seen[0], seen[-1] + 1) if len(seen) else slice(0)
            block = np.zeros((len(total[rows]), len(total[0, columns])))
            one = np.empty_like(block)
            for component, key in enumerate(keys):
                np.multiply(left[rows, component, None], key[columns], out=one)
                block += one
            total[rows, columns] = block
        return total

    def texts(self) -> tuple[str, str]:
        """The integers of queries and keys as two texts, component by component."""
        return packing.pack_wide(np.stack([self.queries, self.keys], 1).ravel())


def as_json(product: Product, missing: np.ndarray) -> dict:
    """A product as a file has it; missing: int [cell], what it leaves over of each visible cell."""
    names = ("coarse", "fine", "skipped", "missing")
    texts = (*product.texts(), *packing.pack_few(missing))
    return {"weights": product.weights.tolist(), **dict(zip(names, texts, strict=True))}


def from_json(content: dict, mask: np.ndarray) -> tuple[Product, np.ndarray]:
    """The product, and what is missing of each visible cell, int [cell]; inverse of `as_json`.

    mask: bool [query, key], the visible cells
    raises: ValueError if there are more or fewer integers than that
    """
    weights = np.asarray(content["weights"], float)
    integers = packing.unpack_wide(content["coarse"], content["fine"])
    integers = integers.reshape(len(weights), 2, len(mask))
    missing = packing.unpack_few(content["skipped"], content["missing"], int(mask.sum()))
    return Product(weights, integers[:, 0], integers[:, 1], mask), missing


def nearest_product(query: np.ndarray, key: np.ndarray, noise: float, mask: np.ndarray) -> Product:
    """A product close to query @ key.T.

    query, key: float [query, n] and [key, n]
    noise: standard deviation of the error, in units of the score
    mask: bool [query, key], the visible cells
    """
    query_basis, query_rest = np.linalg.qr(query)
    key_basis, key_rest = np.linalg.qr(key)
    left, size, right = np.linalg.svd(query_rest @ key_rest.T)
    size = size[size > 0]
    queries = (query_basis @ left)[:, : len(size)] * size
    keys = (key_basis @ right.T)[:, : len(size)] * size
    # rounding a number is an error of unit / sqrt(12); both sides have a number a component
    unit = noise * np.sqrt(6 * len(query) / max(len(size), 1))
    queries, keys = (rounding.rounded(side.T, unit) for side in (queries, keys))
    kept = queries.any(1) & keys.any(1)
    weights = [float(f"{weight:.6g}") for weight in unit**2 / size[kept]]
    return Product(np.asarray(weights), queries[kept], keys[kept], mask)


def shortest(
    values: np.ndarray,
    pair: tuple[np.ndarray, np.ndarray] | None,
    step: float,
    multiple: np.ndarray,
    mask: np.ndarray,
) -> Product | None:
    """The product that makes a term's file shorter, or None if the cells alone are shorter.

    values: float [query, key]; pair: query and key whose product is near the values, or None
    step: unit of the cells' integers
    multiple: int [query, key], the multiples of the step that cells are rounded to
    mask: bool [query, key], the visible cells
    """
    if pair is None or not _plausible(*pair):
        return None
    product = nearest_product(*pair, NOISE * step * multiple[mask].max(), mask)
    alone = rounding.rounded(values[mask], step, multiple[mask])
    missing = rounding.rounded((values - product.matrix)[mask], step, multiple[mask])
    with_product = "".join([*product.texts(), *packing.pack_few(missing)])
    return product if _size(with_product) < _size(packing.pack(alone)) else None


def _plausible(query, key):
    """Whether no product is too large; those of invisible cells can have any size."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.abs(query @ key.T).max() <= rounding.LARGEST_SCORE


def _size(text):
    return len(zlib.compress(text.encode("ascii"), 6))
