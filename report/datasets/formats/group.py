"""What was measured of the heads that are to be written, and their scores, some rows at a time.

Most heads are products of queries and keys (`Group`); of some only the terms are known, cell by
cell (`head_of_cells`). Either becomes a `Head`, of which `fitting.py` finds the integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import rounding
from report.datasets.formats.attention import (
    PARTS,
    Cells,
    DecodedTerm,
    Products,
    Softmax,
    cap,
    of_token,
    of_tokens,
    rest_of,
)
from report.datasets.formats.rotation import Rotation
from report.datasets.formats.visible import Visible
from report.errors import ReportError

if TYPE_CHECKING:
    from report.measurements.decomposition import Term


@dataclass(frozen=True)
class Group:
    """The heads that share one key head, as they were measured (no torch)."""

    layer: int
    key_head: int
    heads: Sequence[int]
    rotation: Rotation
    queries: np.ndarray
    """float [head, token, component]: times the scale of scores, not rotated, without bias."""
    keys: np.ndarray
    """float [token, component], not rotated, without bias."""
    rotated_queries: np.ndarray
    """As `queries`, but rotated and with bias."""
    rotated_keys: np.ndarray
    query_bias: np.ndarray | None
    """float [head, component], times the scale, not rotated; or None."""
    key_bias: np.ndarray | None
    """float [component], not rotated; or None."""
    with_row_constant: bool
    """Whether what the current token adds for all targets alike is a term."""
    largest_targets: np.ndarray
    """int [head, token, 11]."""
    marker_count: np.ndarray
    """int [head, token]."""
    softmaxes: Sequence[Softmax]
    alibi: np.ndarray | None = None
    """float [head, token], what ALiBi adds to the scores of a target; or None."""
    plain: str = "content"
    """The name of the term of queries and keys: "mixed" where both hold positions."""
    query_place: np.ndarray | None = None
    """As `queries`, what positions in the embeddings put into them; None where it is not known."""
    key_place: np.ndarray | None = None


@dataclass(frozen=True)
class Measured:
    """What the scores of one head are made of."""

    pairs: dict[str, tuple[np.ndarray, np.ndarray]]
    """Queries and keys, float64 [token, component], of each term of cells that is not the rest."""
    rotated: tuple[np.ndarray, np.ndarray] | None
    """Queries and keys whose products the scores are, but for what follows."""
    cells: dict[str, np.ndarray]
    """In place of these, the terms of cells, float64 [query, key], the rest too."""
    of_target: np.ndarray
    """float64 [token], what the target token alone adds to a score."""
    of_current: np.ndarray
    """The same of the current token."""

    def score(self, rows: slice, columns: slice) -> np.ndarray:
        """float64 [query, key]."""
        if self.rotated is None:
            score = sum(values[rows, columns] for values in self.cells.values())
        else:
            score = self.rotated[0][rows] @ self.rotated[1][columns].T
        return score + self.of_target[columns] + self.of_current[rows, None]

    def off(self, near: Products | Cells, name: str, rows: slice, columns: slice) -> np.ndarray:
        """By how much a term is larger in a file, float [query, key]."""
        if self.rotated is None:
            return near.term(name, rows, columns) - self.cells[name][rows, columns]
        queries, keys = near.sides(name)
        return difference((queries[rows], keys[columns]), self.some(name, rows, columns))

    def some(self, name: str, rows: slice, columns: slice) -> tuple[np.ndarray, np.ndarray]:
        """Queries of some tokens and keys of others, float64 [token, component]."""
        return self.pairs[name][0][rows], self.pairs[name][1][columns]


@dataclass(frozen=True)
class Head:
    """One head, with its terms of single tokens as a file has them."""

    layer: int
    number: int
    """From 0 in its layer."""
    measured: Measured
    tokens: dict[str, dict]
    """The terms of single tokens, as a file has them."""
    written: list[DecodedTerm]
    """The same, as they are read again."""
    terms: tuple[str, ...]
    """The terms of cells but for the rest."""
    rest: str
    softmax: Softmax
    ranges: Visible
    largest_targets: np.ndarray
    """int [token, 11]."""
    marker_count: np.ndarray
    """int [token]."""

    @property
    def bound(self) -> float:
        """How far scores may be off where they are no largest targets'."""
        turns = self.rest == "position"
        return rounding.ROTARY_CELL_ERROR if turns else rounding.CELL_ERROR


def head_of(group: Group, place: int) -> Head:
    """One head of a group, the place-th; ReportError if a term is beyond LARGEST_SCORE."""
    queries, keys = group.queries[place].astype(float), group.keys.astype(float)
    constant, of_target, whole = np.zeros(len(keys)), np.zeros(len(keys)), queries
    tokens = []
    if group.query_bias is not None:
        bias = group.query_bias[place].astype(float)
        tokens.append(DecodedTerm("bias", "target", keys @ bias))
        whole = queries + bias
    if group.key_bias is not None:
        constant = whole @ group.key_bias.astype(float)
    if group.alibi is not None:
        of_target = group.alibi[place].astype(float)
        constant = constant + of_target
        tokens.append(DecodedTerm("position", "target_difference", of_target))
    if group.with_row_constant and not (group.key_bias is None and group.alibi is None):
        tokens.append(DecodedTerm("row_constant", "current", constant))
        constant = np.zeros(len(keys))
    names, pairs = [group.plain], {}
    if len(group.rotation.pairs):
        names, pairs = [group.plain, "position"], {group.plain: (queries, keys)}
    elif group.query_place is not None:
        parts = (
            {False: place, True: side - place}
            for side, place in (
                (queries, group.query_place[place].astype(float)),
                (keys, group.key_place.astype(float)),
            )
        )
        of_queries, of_keys = parts
        names = list(PARTS)
        pairs = {n: (of_queries[one], of_keys[other]) for n, (one, other) in PARTS.items()}
    both = group.rotated_queries[place].astype(float), group.rotated_keys.astype(float)
    return _head(
        (group.layer, group.heads[place]),
        Measured(pairs, both, {}, of_target, -constant),
        tokens,
        names,
        group.softmaxes[place],
        (group.largest_targets[place], group.marker_count[place]),
    )


def head_of_cells(
    layer: int,
    head: int,
    terms: Sequence[Term],
    probability: np.ndarray,
    marker_count: np.ndarray,
    largest_targets: np.ndarray,
    softmax: Softmax = Softmax(),  # noqa: B008 (it never changes)
) -> Head:
    """A head whose terms are known, and no queries and keys that they are products of.

    probability: float [query, key], the measured ones
    marker_count, largest_targets: as of `DecodedAttention`
    raises: ReportError if a term is beyond LARGEST_SCORE, or if they do not sum up to scores that
        give the probabilities
    """
    tokens = [DecodedTerm(t.name, t.per, np.asarray(t.values, float)) for t in terms]
    cells = {term.name: term.values for term in tokens if term.per == "cell"}
    tokens = [term for term in tokens if term.per != "cell"]
    for name, values in cells.items():
        _require_plausible(layer, head, name, values)
    measured = Measured({}, None, cells, *of_tokens(tokens, len(marker_count)))
    ranks = np.asarray(largest_targets), np.asarray(marker_count)
    made = _head((layer, head), measured, tokens, list(cells), softmax, ranks)
    (whole,) = exact(made, [slice(0, len(probability))])
    wrong = np.abs(whole.probability - probability[:, whole.columns]).max()
    if not wrong <= rounding.PROBABILITY_ERROR / 10:
        raise ReportError(
            f"layer {layer} head {head}: the terms of its scores give a probability that is off by "
            f"{wrong:.2g}; measure another model."
        )
    return made


def _head(where, measured, tokens, names, softmax, ranks):
    """names: of the terms of cells; ranks: the largest targets and the number of markers."""
    ranges = Visible.of(softmax.visible, len(ranks[1]))
    encoded = {}
    for term in tokens:
        _require_plausible(*where, term.name, term.values)
        step = rounding.STEPS[term.name]
        integers = rounding.rounded(term.values, step).tolist()
        encoded[term.name] = {"per": term.per, "step": step, "values": integers}
    rest = rest_of(dict.fromkeys(names, "cell"))
    return Head(
        *where,
        measured=measured,
        tokens=encoded,
        written=[of_token(name, term, ranges) for name, term in encoded.items()],
        terms=tuple(name for name in names if name != rest),
        rest=rest,
        softmax=softmax,
        ranges=ranges,
        largest_targets=ranks[0],
        marker_count=ranks[1],
    )


def _require_plausible(layer, head, name, values):
    """Stop for scores that the integers of a file cannot hold."""
    largest = np.abs(values).max(initial=0)
    if not largest <= rounding.LARGEST_SCORE:
        what = "a score" if name == "score" else f"the {name} term of a score"
        raise ReportError(
            f"layer {layer} head {head}: {what} is {largest:.3g}, the integers of a dataset hold "
            f"{rounding.LARGEST_SCORE:,.0f} at most; measure the layers before it alone "
            "(--layers), or another model"
        )


@dataclass(frozen=True)
class Exact:
    """What was measured of some rows of a head."""

    rows: slice
    columns: slice
    """The targets that these rows see."""
    hidden: np.ndarray
    """bool [query, key], the cells that are not visible."""
    score: np.ndarray
    """float64 [query, key], the sum of the terms; -inf where a cell is hidden."""
    probability: np.ndarray
    """float32 [query, key]: beside what a file may be off, float64 would change nothing, and it
    takes four times as long."""
    top: np.ndarray
    """bool [query, key], the largest targets."""
    top_cells: tuple[np.ndarray, np.ndarray]
    """The same, row by row by falling probability: their rows and columns here."""


def exact(head: Head, blocks: Sequence[slice]) -> Iterator[Exact]:
    """What was measured, some rows after the other; ReportError as `head_of`."""
    for rows in blocks:
        first, last = head.ranges.first[rows], head.ranges.last[rows]
        columns = slice(int(first.min()), int(last.max()) + 1)
        seen = np.arange(columns.start, columns.stop)
        hidden = (seen < first[:, None]) | (seen > last[:, None])
        with np.errstate(invalid="ignore", over="ignore"):  # of no working model
            score = head.measured.score(rows, columns)
        score[hidden] = 0
        _require_plausible(head.layer, head.number, "score", score)
        score[hidden] = -np.inf
        listed = head.largest_targets[rows]
        at, ranks = np.nonzero(listed >= 0)
        cells = at, listed[at, ranks] - columns.start
        top = np.zeros(hidden.shape, bool)
        top[cells] = True
        yield Exact(rows, columns, hidden, score, _probability(head.softmax, score), top, cells)


def _probability(softmax, score):
    """float32 [query, key]."""
    capped = cap(score, softmax.softcap)
    largest = capped.max(1) if softmax.sink is None else np.maximum(capped.max(1), softmax.sink)
    grown = np.empty(capped.shape, np.float32)
    np.subtract(capped, largest[:, None], out=grown, casting="same_kind")  # before digits are lost
    np.exp(grown, out=grown)
    total = grown.sum(1)
    if softmax.sink is not None:
        total += np.exp(softmax.sink - largest)
    grown /= total[:, None]
    return grown


def difference(written: tuple, measured: tuple) -> np.ndarray:
    """By how much the products of one pair of queries and keys are larger than those of another.

    returns: float32 [query, key], or float64 where they are so large that float32 would round them
        by more than a tenth of the bound; told by how much the queries and keys are, it keeps its
        digits
    """
    number = measured[1].shape[1]
    largest = number * math.prod(float(np.abs(side).max(initial=0)) for side in measured)
    fine = largest * np.finfo(np.float32).eps > rounding.TOP_ERROR / 10
    dtype = np.float64 if fine else np.float32
    queries, keys = (np.empty((len(side), 2 * number), dtype) for side in measured)
    np.subtract(written[0], measured[0], out=queries[:, :number], casting="same_kind")
    queries[:, number:], keys[:, :number] = measured[0], written[1]
    np.subtract(written[1], measured[1], out=keys[:, number:], casting="same_kind")
    return queries @ keys.T
