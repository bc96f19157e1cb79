"""A term of all cells as a sum of products of one number a query and one number a key.

A content term is the product of T queries and T keys of a few dozen numbers each, and T * T / 2
cells are many more numbers than that. So a file may tell a term as

    value_ij = sum over c of weight_c * query_ci * key_cj

with integers query_ci and key_cj, and the cells only what is still missing. The components c are
those of the singular value decomposition. All have integers of the same unit where both sides are
scaled by the singular value: then every component adds about as much to the error, which is what
takes the fewest bits (reverse water-filling, Cover & Thomas, Elements of Information Theory,
section 10.3.3), and small ones round to nothing.
"""

import zlib
from dataclasses import dataclass

import numpy as np

from report.datasets.formats import packing, rounding

NOISE = 0.06
"""How far off the products are (standard deviation), in units of the coarsest rounding of a cell:
few of the cells that hardly count then have anything missing."""


@dataclass(frozen=True)
class Product:
    """Components of a term: of each a weight, and an integer a query and a key."""

    weights: np.ndarray
    """float64 [component]."""
    queries: np.ndarray
    """int64 [component, query]."""
    keys: np.ndarray
    """int64 [component, key]."""

    def matrix(self):
        """float64 [query, key], visible or not; summed as the browser does, to the last bit."""
        total = np.zeros((self.queries.shape[1], self.keys.shape[1]))
        for weight, query, key in zip(self.weights, self.queries, self.keys, strict=True):
            total += (weight * query)[:, None] * key
        return total

    def texts(self):
        """The integers of queries and keys as two texts, component by component."""
        return packing.pack_wide(np.stack([self.queries, self.keys], 1).ravel())


def as_json(told, missing):
    """The dict of a file; missing: int [cell], what each visible cell has besides."""
    names = ("coarse", "fine", "skipped", "missing")
    texts = (*told.texts(), *packing.pack_few(missing))
    return {"weights": told.weights.tolist(), **dict(zip(names, texts, strict=True))}


def from_json(given, length, cells):
    """The `Product` of a dict that `as_json` wrote, and what is missing, int [cell].

    length, cells: how many tokens and visible cells there are
    raises: ValueError if it has more or fewer integers than these need
    """
    weights = np.asarray(given["weights"], float)
    integers = packing.unpack_wide(given["coarse"], given["fine"])
    integers = integers.reshape(len(weights), 2, length)
    missing = packing.unpack_few(given["skipped"], given["missing"], cells)
    return Product(weights, integers[:, 0], integers[:, 1]), missing


def product(query, key, noise):
    """The `Product` nearest to query @ key.T, float [query, n] and [key, n], but for an error of
    standard deviation `noise`, in units of the score."""
    query_basis, query_rest = np.linalg.qr(query)
    key_basis, key_rest = np.linalg.qr(key)
    left, size, right = np.linalg.svd(query_rest @ key_rest.T)
    size = size[size > 0]
    queries = (query_basis @ left)[:, : len(size)] * size
    keys = (key_basis @ right.T)[:, : len(size)] * size
    # an error of unit / sqrt(12) a number, as many on both sides as there are components
    unit = noise * np.sqrt(6 * len(query) / max(len(size), 1))
    queries, keys = (rounding.rounded(side.T, unit) for side in (queries, keys))
    told = queries.any(1) & keys.any(1)
    weights = [float(f"{weight:.6g}") for weight in unit**2 / size[told]]
    return Product(np.asarray(weights), queries[told], keys[told])


def shortest(values, pair, step, multiple, mask):
    """The `Product` with which a term's cells take the least space, or None: cells alone do.

    values: float [query, key]; pair: query and key whose product is near the values, or None
    step: unit of the cells' integers; multiple, mask: int and bool [query, key], the multiples they
        are rounded to, and which cells there are
    """
    if pair is None or not _plausible(*pair):
        return None
    found = product(*pair, NOISE * step * multiple[mask].max())
    alone, rest = (
        rounding.rounded(each[mask], step, multiple[mask])
        for each in (values, values - found.matrix())
    )
    told = "".join([*found.texts(), *packing.pack_few(rest)])
    return found if _size(told) < _size(packing.pack(alone)) else None


def _plausible(query, key):
    """Whether all products may be told: those of cells that nobody sees may be anything."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.abs(query @ key.T).max() <= rounding.LARGEST_SCORE


def _size(text):
    return len(zlib.compress(text.encode("ascii"), 6))
