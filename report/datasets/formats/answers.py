"""Answers to questions under conditions: one table, a row a question (schema table/1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from report.datasets.damaged import require_number
from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column

if TYPE_CHECKING:
    from report.inputs.questions import Question
    from report.models.measure.answers import AnswerScores

FILE = "answers.json"

LOG_STEP, SHARE_STEP = 0.001, 0.0001
"""Units of the stored log probabilities and shares; a value is off by at most half of it."""


class Cell(Protocol):
    """All questions under a condition, see `report.kinds.conditions.measure_answers`."""

    name: str
    tokens: int
    scores: AnswerScores
    shares: Sequence[float] | None


def column(measure: str, condition: str, tokens: int) -> str:
    """The name of a column: of "log_probability", "right" or "share"."""
    return f"{measure}.{condition}.{tokens}"


def encode(questions: Sequence[Question], cells: Sequence[Cell]) -> dict:
    """The table/1 dataset: "questions", a row a question, with columns for every cell."""
    columns = {
        "kind": Column("kind of question", "name", [question.kind for question in questions]),
        "question": Column("the question", "text", [question.text for question in questions]),
        "answer": Column("the right answer", "number", [question.answer for question in questions]),
    }
    for cell in cells:
        of, where = (cell.name, cell.tokens), f"{cell.name}, filler of {cell.tokens} tokens"
        columns[column("log_probability", *of)] = Column(
            f"log probability of the right answer, summed over its tokens: {where}",
            "nats",
            cell.scores.log_probability,
            LOG_STEP,
        )
        columns[column("right", *of)] = Column(
            f"whether each token of the right answer is the most probable one: {where}",
            "1 or 0",
            np.asarray(cell.scores.right, int),
        )
        if cell.shares is not None:
            columns[column("share", *of)] = Column(
                "attention that the filler gets from the tokens before those of the answer, mean "
                f"over these and all heads: {where}",
                "0 to 1",
                cell.shares,
                SHARE_STEP,
            )
    return columnar.encode({"questions": columns})


def decode(table: dict, about: dict) -> dict[str, np.ndarray]:
    """The columns of the table/1 dataset of answers.

    about: the manifest's "answers"
    returns: name -> array [questions]
    raises: ReportError if a column is missing or too many, or there are other questions
    """
    wanted = {"kind", "question", "answer"}
    for cell in about["cells"]:
        measures = ("log_probability", "right", *(["share"] if cell["shares"] else []))
        wanted |= {column(name, cell["name"], cell["tokens"]) for name in measures}
    columns = columnar.decode_known(table, {"questions": wanted}, {})["questions"]
    require_number("table 'questions'", columns["kind"], about["questions"])
    return columns
