"""The renderings of a table, token by token: what each token is (schema renderings/1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from report.datasets.formats.passage import encoded_token, part_name

if TYPE_CHECKING:
    from report.inputs.tables import Table
    from report.models.text.cells import TableText

SCHEMA = "renderings/1"

ROLES = {
    "header": "the name of a column",
    "value": "a cell",
    "delimiter": "what stands between names and cells",
    "edge": "of several of them, so it counts for none",
    "added": "put around the text by the tokenizer",
}


@dataclass(frozen=True)
class TableToken:
    """One token of a rendering."""

    index: int
    id: int
    text: str
    label: str
    """What to show for it: never empty, nothing invisible."""
    special: bool
    role: str
    """A key of `ROLES`."""
    row: int
    """Of a cell, index from 0; else -1."""
    column: int
    """Of a cell or a name, index from 0; else -1."""
    part: dict | None = None
    bytes: str | None = None
    """This and `part`: as of `report.kinds.passage.data.Token`."""

    @property
    def name(self) -> str:
        """What axes and prose call it, as of `report.kinds.passage.data.Token`."""
        return part_name(self.part) if self.part else self.label


@dataclass(frozen=True)
class RenderedTable:
    """A table in one of its renderings."""

    name: str
    label: str
    tokens: list[TableToken]
    crossings: list[int]
    """Tokens that the tokenizer merged across the edge of a cell or a name."""

    @property
    def left_out(self) -> bool:
        """Whether these count for no cell; in datasets of before, they count for the first."""
        return all(self.tokens[token].role == "edge" for token in self.crossings)


def encode(table: Table, texts: Sequence[TableText]) -> dict:
    """The renderings/1 dataset; texts: one a rendering."""
    return {
        "schema": SCHEMA,
        "table": table.name,
        "columns": list(table.columns),
        "rows": len(table.rows),
        "roles": ROLES,
        "renderings": [
            {
                "name": text.name,
                "label": text.label,
                "tokens": [
                    encoded_token(token) | _place(place)
                    for token, place in zip(text.tokens, text.places, strict=True)
                ],
                "crossings": list(text.crossings),
            }
            for text in texts
        ],
    }


def _place(place):
    indices = {"row": place.row, "column": place.column}
    return {"role": place.role} | {name: at for name, at in indices.items() if at >= 0}


def decode(dataset: dict) -> list[RenderedTable]:
    """The renderings of a renderings/1 dataset."""
    return [
        RenderedTable(
            content["name"],
            content["label"],
            [_token(index, token) for index, token in enumerate(content["tokens"])],
            content["crossings"],
        )
        for content in dataset["renderings"]
    ]


def _token(index, token):
    return TableToken(
        index,
        token["id"],
        token["text"],
        token.get("label", token["text"]),
        token.get("special", False),
        token["role"],
        token.get("row", -1),
        token.get("column", -1),
        token.get("part"),
        token.get("bytes"),
    )
