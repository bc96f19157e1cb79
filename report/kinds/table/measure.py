"""Articles about a table: how heads read it as CSV, as JSON and as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from report.datasets.formats import class_shares
from report.datasets.formats import passage as of_tokens
from report.datasets.formats import renderings as of_renderings
from report.datasets.formats.passage import token_label
from report.datasets.formats.token_classes import CLASSES, current_tokens, token_classes
from report.datasets.write.attention import attention_datasets, to_send, write_attention
from report.datasets.write.folder import Folder, Step
from report.datasets.write.processes import processors
from report.errors import ReportError
from report.inputs import tables
from report.inputs.passages import Passage
from report.measuring import kept_heads
from report.measuring.forecast import (
    MEASURING,
    WRITING,
    Part,
    beyond,
    needs,
    reads,
    size,
    will_take,
    writes,
)
from report.measuring.key import hashed
from report.measuring.kind import Announce, Progress
from report.text import count

if TYPE_CHECKING:
    from report.inputs.records import Records
    from report.measurements.passage import PassageMeasurement
    from report.models.load.load import LoadedModel
    from report.models.measure.table import ShareRecorder
    from report.models.text.cells import TableText
    from report.study.front_matter import FrontMatter


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    table: tables.Table
    renderings: list[tables.Rendering]
    """The first is also measured as a passage."""
    heads: int | None = None
    """How many heads of each layer are kept, from the first; None: all."""


@dataclass(frozen=True)
class Measured:
    """What `write` turns into files."""

    table: tables.Table
    passage: Passage
    """The first rendering."""
    texts: Sequence[TableText]
    """One a rendering."""
    measurement: PassageMeasurement
    """Of the first rendering."""
    shares: Sequence[ShareRecorder]
    """One a rendering."""


def inputs(wanted: FrontMatter) -> Inputs:
    """The table and its renderings; ReportError as `tables.table`."""
    table = tables.table(wanted.table, wanted.columns, wanted.rows, wanted.delimiter)
    return Inputs(table, tables.renderings(table), wanted.heads)


def given(records: Records, wanted: FrontMatter) -> Inputs:
    """The same of rows that are in no file."""
    table = tables.first_rows(records, wanted.columns, wanted.rows)
    return Inputs(table, tables.renderings(table), wanted.heads)


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on."""
    return {
        "table": hashed(asdict(replace(inputs.table, form=""))),
        "renderings": hashed([asdict(rendering) for rendering in inputs.renderings]),
        **kept_heads.parts(inputs.heads),
    }


def words(inputs: Inputs) -> list[str]:
    """Options of a command; the article names its table itself."""
    return kept_heads.words(inputs.heads)


def tokenized(loaded: LoadedModel, inputs: Inputs) -> list[TableText]:
    """The renderings as a model reads them, whose weights are not needed."""
    from report.models.text.cells import table_text

    return [table_text(loaded, rendering) for rendering in inputs.renderings]


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """Run a model over every rendering.

    returns: what was measured, and the manifest's table
    raises: ReportError if a rendering is too long for the model, or no token can be measured
    """
    from report.models.load.memory import enough_memory
    from report.models.measure.table import measure_table

    texts = tokenized(loaded, inputs)
    current = [current_tokens(text.places) for text in texts]
    if not all(current):
        raise ReportError(
            f"table '{inputs.table.name}' has no cell with text below its first row; ask for more "
            "rows or other columns"
        )
    classes = [token_classes(text.places) for text in texts]
    loaded.announce_bytes([*chain.from_iterable(t.token_ids for t in texts)], announce)
    name, passes = loaded.identity["name"], 1 + len(texts)  # the first is a passage, too
    _say_over_edges(name, texts, announce)
    _say_read(loaded, texts, announce)
    progress(MEASURING, 0, passes)

    kept_heads.require(loaded, inputs.heads)

    def say_size(first):
        first = kept_heads.of(first, inputs.heads)
        shape = first.largest_targets.shape[:2]
        written = size(partial(attention_datasets, first), *shape, processors())
        announce(writes(name, written))
        will_take(progress, name, partial(_parts, texts, written))

    with enough_memory(f"measuring {max(len(text.token_ids) for text in texts)} tokens"):
        measurement, shares = measure_table(
            loaded,
            texts,
            current,
            classes,
            len(CLASSES),
            lambda *n: progress(MEASURING, *n),
            say_size,
        )
    table, first = inputs.table, inputs.renderings[0]
    title = f"The first {len(table.rows)} rows of {table.name}, as {first.label}"
    passage = Passage(table.name, title, tables.origin(table), "", "", first.text)
    measurement = kept_heads.of(measurement, inputs.heads)
    shares = [kept_heads.of(each, inputs.heads) for each in shares]
    return Measured(table, passage, texts, measurement, shares), {
        **kept_heads.told(inputs.heads),
        "token_ids_sha256": hashed([list(text.token_ids) for text in texts]),
        "table": {
            "name": table.name,
            "rows": len(table.rows),
            "columns": list(table.columns),
            **({"form": table.form} if table.form else {}),
            "tokens": {text.name: len(text.token_ids) for text in texts},
        },
    }


def _parts(texts, written):
    """What is left once the first text was measured as a passage; written: size of its datasets."""
    lengths = [len(text.token_ids) for text in texts]
    yield Part(MEASURING, steps=[lengths[0], *lengths])
    yield Part(WRITING, written.seconds)


def _say_read(loaded, texts, announce):
    """Say what will be read, and whether a rendering is longer than what the model was made for."""
    lengths = [len(text.token_ids) for text in texts]
    total = lengths[0] + sum(lengths)
    what = f"a table in {len(texts)} renderings"
    said = reads(loaded.identity["name"], what, total, 1 + len(texts))
    announce(said + needs(loaded, total, lengths[0]))
    if said := beyond(loaded.identity, max(lengths)):
        announce(said)


def _say_over_edges(model, texts, announce):
    """Say which tokens lie over the edge of a cell or a name, so that they count for neither."""
    for text in texts:
        if text.crossings:
            token = text.tokens[text.crossings[0]]
            shown = token_label(token["text"], token.get("bytes"), token.get("part"))
            announce(
                f"{model}: written as {text.label}, {count(len(text.crossings), 'token')} (such as "
                f"“{shown}”) over the edge of a cell or a name, which counts for neither. Other "
                "words in the cells, or other columns, avoid that."
            )


def sent(own: tuple[Measured, dict], most: int) -> tuple[Measured, dict]:
    """The per-model part as it is sent: `attention.to_send` in place of factors."""
    measured, facts = own
    factors = to_send(measured.measurement, most)
    return replace(measured, measurement=replace(measured.measurement, factors=factors)), facts


def write(files: Folder, measured: Measured, progress: Step) -> dict:
    """Write every dataset of an article about a table.

    progress: called after each layer
    returns: the manifest's passage
    raises: ReportError if a number is not finite
    """
    first, measurement = measured.texts[0], measured.measurement
    files.write("passage.json", of_tokens.encode(measured.passage, first.tokens))
    files.write("renderings.json", of_renderings.encode(measured.table, measured.texts))
    names = [text.name for text in measured.texts]
    shares = dict(zip(names, measured.shares, strict=True))
    files.write("class_shares.json", class_shares.encode(shares))
    write_attention(files, measurement, progress)
    return {"passage": {"name": measured.passage.name, "tokens": len(first.tokens)}}
