"""What must hold of a shard beyond its schema: its numbers fit together only if none is lost."""

import numpy as np

from report.datasets.formats import attention
from report.errors import ReportError

SUM_ERROR = 1e-4
"""How far the sum of a row's probabilities may be off: the normalizers are rounded."""


def verify_attention(shard: dict) -> None:
    """Verify one attention/3 dataset, or one attention/4 dataset with its keys.

    raises: ReportError if values are missing or too many, if the probabilities of a row do not add
        up to 1 less what the sink takes, or if targets or markers do not fit what is visible
    """
    where, ranks = f"layer {shard['layer']} head {shard['head']}", attention.RANKS
    decoded = attention.decode(shard)
    left = 1.0
    if decoded.sink is not None:
        with np.errstate(over="ignore"):
            left -= np.exp(decoded.sink - decoded.log_normalizer)
    wrong = ~(np.abs(decoded.probability.sum(1) - left) <= SUM_ERROR)
    if wrong.any():
        raise ReportError(f"{where}: probabilities of token {wrong.argmax()} do not add up")
    visible = decoded.visible
    ends = zip(visible.first.tolist(), visible.last.tolist(), strict=True)
    for current, (first, last) in enumerate(ends):
        targets = decoded.largest_targets[current].tolist()
        number = min(ranks, last - first + 1)
        listed = targets[:number]
        inside = all(first <= target <= last for target in listed)
        padded = all(target == -1 for target in targets[number:])
        if not (inside and padded and len(set(listed)) == number):
            raise ReportError(
                f"{where}: the largest targets of token {current} are not {number} that it sees"
            )
        if decoded.marker_count[current] > number:
            raise ReportError(f"{where}: token {current} has more markers than targets")
