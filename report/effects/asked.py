"""Which number of a prediction is asked about: a logit, or the difference of two."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from report.errors import ReportError

MEAN = "mean"
"""In the place of a second token: the mean over the vocabulary."""


@dataclass(frozen=True)
class Asked:
    """The logit of a next token, or by how much it is above another.

    position: the token that predicts, from 0; negative counts from the end
    token: id of the next token that is asked about
    against: id of another token, whose logit is subtracted; "mean" subtracts the mean over the
        vocabulary; None subtracts nothing. Softmax ignores what all logits share, so only a
        difference says anything of probabilities.
    """

    position: int
    token: int
    against: int | str | None = None


def rows_of(asked: Sequence[Asked], length: int, vocabulary: int) -> list[int]:
    """The positions that are asked about, counted from 0.

    raises: ReportError for no question at all, or for a position or token that there is not
    """
    if not asked:
        raise ReportError("no logit is asked about; ask for at least one")
    for one in asked:
        if not -length <= one.position < length:
            raise ReportError(
                f"position {one.position} is asked about, the text has {length} tokens; ask for "
                f"one from 0 to {length - 1}"
            )
        tokens = [one.token] if one.against in (None, MEAN) else [one.token, one.against]
        for token in tokens:
            if not (isinstance(token, int) and 0 <= token < vocabulary):
                raise ReportError(
                    f"token {token!r} is asked about, the model's output has the tokens 0 to "
                    f"{vocabulary - 1}; ask for one of them"
                )
    return [one.position % length for one in asked]


def chosen(values: torch.Tensor, asked: Sequence[Asked]) -> torch.Tensor:
    """Of values along the vocabulary what is asked, row by row: [rows, ...].

    values: float [vocabulary, ...], the same for every row, such as the output's weight
    """
    found = values[[one.token for one in asked]]
    if all(one.against is None for one in asked):
        return found
    mean = values.mean(0) if any(one.against == MEAN for one in asked) else None
    others = [_other(values, one.against, mean) for one in asked]
    return found - torch.stack(others)


def of_rows(
    logits: torch.Tensor, asked: Sequence[Asked], rows: Sequence[int] | None = None
) -> torch.Tensor:
    """Of logits, float [rows, vocabulary], what is asked of each row: float64 [rows].

    rows: of `logits`, one for each that is asked; None: the first, the second, ...
    """
    rows = range(len(asked)) if rows is None else rows
    return torch.stack([_of_row(logits[row], one) for row, one in zip(rows, asked, strict=True)])


def _of_row(row, one):
    if one.against == MEAN:
        return row[one.token].double() - row.double().mean()
    if one.against is None:
        return row[one.token].double()
    return row[one.token].double() - row[one.against].double()


def _other(values, against, mean):
    if against is None:
        return torch.zeros_like(values[0])
    return mean if against == MEAN else values[against]
