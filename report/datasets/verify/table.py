"""What must hold of the datasets of a table beyond their schemas: the parts fit together."""

import numpy as np

from report.datasets.formats import class_shares
from report.datasets.formats.token_classes import CLASSES
from report.datasets.read.table import TableData
from report.errors import ReportError

SUM_ERROR = len(CLASSES) * class_shares.STEP
"""How far the sum over the classes of a head may be off: each share is rounded."""
SHARE_ERROR = 0.002
"""How far a share may be from the one computed from the attention files, which are rounded."""


def verify_table(data: TableData) -> None:
    """Verify the datasets of one article about a table.

    raises: ReportError if tokens lie outside the table, if the classes of a head do not add up to
        1, or if the shares of the first rendering do not follow from its attention files
    """
    rows, columns = data.about["rows"], len(data.about["columns"])
    for text in data.renderings.values():
        for token in text.tokens:
            needed = {"value": token.row >= 0 <= token.column, "header": token.column >= 0}
            inside = token.row < rows and token.column < columns
            if not (inside and needed.get(token.role, token.row == token.column == -1)):
                raise ReportError(
                    f"rendering {text.name!r}: token {token.index} is a {token.role} of row "
                    f"{token.row}, column {token.column}, in a table of {rows} rows and {columns} "
                    "columns"
                )
    first = data.first
    if [token.id for token in first.tokens] != [token.id for token in data.tokens]:
        raise ReportError(f"rendering {first.name!r} has other tokens than the passage")
    for name in data.renderings:
        total = sum(data.shares(target, name) for target in data.targets)
        if (np.abs(total - 1) > SUM_ERROR).any():
            layer, head = np.unravel_index(np.abs(total - 1).argmax(), total.shape)
            raise ReportError(
                f"rendering {name!r}: the classes of layer {layer} head {head} do not add up"
            )
    _verify_shares(data, first.name)


def _verify_shares(data, name):
    targets = data.targets[: -1 if "other" in data.targets else None]
    given = {target: data.shares(target, name) for target in targets}
    classes = data.classes[data.current]
    for layer, head in np.ndindex(data.layers, data.heads):
        probability = data.attention(layer, head).probability[data.current]
        for target in targets:
            member = classes == list(CLASSES).index(target)
            computed = (probability * member).sum(1).mean()
            if abs(computed - given[target][layer, head]) > SHARE_ERROR:
                raise ReportError(
                    f"rendering {name!r}: layer {layer} head {head} gives {computed:.4f} to "
                    f"{target}, but the dataset says {given[target][layer, head]:.4f}"
                )
