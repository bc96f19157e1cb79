"""An article about a table: how heads read it as CSV, as JSON and as sentences."""

from pydantic import BaseModel, Field

from report.inputs.specs import Delimiter, require_lines
from report.kinds.question import Question


class Keys(BaseModel):
    """What an article about a table may say."""

    table: str | None = None
    """A data set inside vega_datasets, or the path of a file of rows, that is read as a table,
    instead of a passage."""
    columns: list[str] = []
    """Columns of the table to read, in order; default: all."""
    delimiter: Delimiter | None = None
    """What stands between the cells of a table in a .csv or .tsv file: one sign, or `tab`; default:
    what splits all lines alike."""
    rows: int | None = Field(None, ge=2)
    """How many of the table's first rows are read; default: 8, or all if there are fewer."""


QUESTION = Question(
    place=1,
    called="a table",
    keys=Keys,
    blamed="table",
    borrowed=("heads",),
    implied=True,
    beside=True,
    several=False,
    not_for=("models", "passage", "chat"),
    require=lambda front: require_lines(front.delimiter, front.table),
    changes={
        "table": "the table changed",
        "renderings": "the texts that the table is written as changed",
    },
)
