"""A rendered table as tokens: which cell, name or delimiter each of them is.

The whole text is tokenised, and every token is looked up in it by where it lies, as for segments.
A token counts for the cell or name that it has a character of; a delimiter has none, so the white
space that many vocabularies put before a word is no reason to call the word a delimiter. One with
characters of several parts lies over an edge, and counts for none of them.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from report.errors import ReportError
from report.inputs.conditions import ADDED, Segment
from report.inputs.tables import Rendering
from report.models.text.segments import segmented

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

DELIMITER, EDGE = "delimiter", "edge"


@dataclass(frozen=True)
class TokenPlace:
    """What a token of a table is; roles, rows and columns as of `report.inputs.tables.Part`."""

    role: str
    """"header", "value", "delimiter", "edge" for a token of several of them, or "added" for what
    the tokenizer puts around the text."""
    row: int = -1
    column: int = -1


@dataclass(frozen=True)
class TableText:
    """A rendering as the model reads it (T tokens).

    name, label: of the rendering
    token_ids, tokens: as of `TokenizedText`
    places: [T], `TokenPlace`
    crossings: tokens, indices from 0, that hold visible characters of more than one part, one of
        them a cell or a name: the tokenizer merged across its edge
    """

    name: str
    label: str
    token_ids: list[int]
    tokens: list[dict]
    places: list[TokenPlace]
    crossings: list[int]


def table_text(loaded: "LoadedModel", rendering: Rendering) -> TableText:
    """The tokens of a rendering, and what each of them is.

    loaded: LoadedModel; rendering: `report.inputs.tables.Rendering`
    returns: TableText
    raises: ReportError as `report.models.text.tokens.tokenize` does, or if there are more
        tokens than the model takes
    """
    context = loaded.identity["context"]
    unlimited = replace(loaded, identity=loaded.identity | {"context": None})
    parts = rendering.parts
    names = [Segment(str(number), part.text) for number, part in enumerate(parts)]
    text = segmented(unlimited, names)
    if context is not None and len(text.token_ids) > context:
        raise ReportError(
            f"written as {rendering.label}, the table has {len(text.token_ids)} tokens, the model "
            f"takes at most {context}; ask for fewer rows or columns"
        )
    ends = np.cumsum([len(part.text.encode()) for part in parts])
    starts = ends - [len(part.text.encode()) for part in parts]
    places, crossings = [], []
    for token, (name, (start, end)) in enumerate(zip(text.segment, text.place, strict=True)):
        if name == ADDED:
            places.append(TokenPlace(ADDED))
            continue
        first = int(name)
        span = starts[first] + start, starts[first] + end
        touched = [first]
        while ends[touched[-1]] < span[1]:
            touched.append(touched[-1] + 1)
        cells = [number for number in touched if parts[number].role != DELIMITER]
        part = parts[cells[0] if cells else first]
        place = TokenPlace(part.role, part.row, part.column)
        if cells and sum(_visible(parts[number], starts[number], span) for number in touched) > 1:
            crossings.append(token)
            place = TokenPlace(EDGE)
        places.append(place)
    return TableText(
        rendering.name, rendering.label, text.token_ids, text.tokens, places, crossings
    )


def _visible(part, start, span):
    """Whether a token, bytes `span`, has a character of a part that is not white space."""
    begin, end = (max(0, int(place - start)) for place in span)
    return bool(part.text.encode()[begin:end].strip())
