"""The heads that share one key head, as they were measured, and rows of their scores (no torch)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from report.datasets.formats.attention_terms import DecodedTerm, encode_term, require_plausible
from report.datasets.formats.decoded import Softmax, cap
from report.datasets.formats.rotation import Rotation
from report.datasets.formats.visible import Visible


@dataclass(frozen=True)
class Group:
    """The heads that share one key head."""

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


@dataclass(frozen=True)
class Head:
    """One head of a group; arrays as of `Group`, but float64."""

    group: Group
    place: int
    """Among the heads of its group."""
    queries: np.ndarray
    rotated: np.ndarray
    keys: np.ndarray
    rotated_keys: np.ndarray
    ranges: Visible
    of_current: np.ndarray
    """float64 [token], the part of a score that its current token alone determines, if no term."""
    encoded: dict[str, dict]
    """The terms of single tokens, as a file has them."""
    written: dict[str, DecodedTerm]
    """The same, as they are read again."""
    of_target: np.ndarray
    """float64 [token], what ALiBi adds to the scores of a target."""

    @property
    def number(self) -> int:
        """The head, from 0 in its layer."""
        return self.group.heads[self.place]

    @property
    def turned(self) -> bool:
        """Whether queries and keys are rotated, so that there is a position term of cells."""
        return len(self.group.rotation.pairs) > 0

    @property
    def softmax(self) -> Softmax:
        """How its scores become probabilities."""
        return self.group.softmaxes[self.place]


def head_of(group: Group, place: int) -> Head:
    """One head, with its terms of single tokens; ReportError if one is beyond LARGEST_SCORE."""
    ranges = Visible.of(group.softmaxes[place].visible, len(group.keys))
    queries, keys = group.queries[place].astype(float), group.keys.astype(float)
    terms, constant, of_target, whole = [], np.zeros(len(keys)), np.zeros(len(keys)), queries
    if group.query_bias is not None:
        bias = group.query_bias[place].astype(float)
        terms.append(DecodedTerm("bias", "target", keys @ bias, ranges))
        whole = queries + bias
    if group.key_bias is not None:
        constant = whole @ group.key_bias.astype(float)
    if group.alibi is not None:
        of_target = group.alibi[place].astype(float)
        constant = constant + of_target
        terms.append(DecodedTerm("position", "target_difference", of_target, ranges))
    if group.with_row_constant and not (group.key_bias is None and group.alibi is None):
        terms.append(DecodedTerm("row_constant", "current", constant, ranges))
        constant = np.zeros(len(keys))
    require_plausible(group.layer, group.heads[place], terms)
    encoded = {term.name: encode_term(term, None, None) for term in terms}
    written = {
        term.name: replace(
            term, values=np.asarray(encoded[term.name]["values"]) * encoded[term.name]["step"]
        )
        for term in terms
    }
    rotated = group.rotated_queries[place].astype(float), group.rotated_keys.astype(float)
    return Head(
        group=group,
        place=place,
        queries=queries,
        rotated=rotated[0],
        keys=keys,
        rotated_keys=rotated[1],
        ranges=ranges,
        of_current=constant,
        encoded=encoded,
        written=written,
        of_target=of_target,
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
    """What was measured, some rows after the other."""
    for rows in blocks:
        first, last = head.ranges.first[rows], head.ranges.last[rows]
        columns = slice(int(first.min()), int(last.max()) + 1)
        seen = np.arange(columns.start, columns.stop)
        hidden = (seen < first[:, None]) | (seen > last[:, None])
        score = head.rotated[rows] @ head.rotated_keys[columns].T
        score += head.of_target[columns]
        score -= head.of_current[rows, None]
        score[hidden] = -np.inf
        listed = head.group.largest_targets[head.place, rows]
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
