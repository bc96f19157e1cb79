"""Articles about a table: how heads read it as CSV, as JSON and as sentences."""

from dataclasses import asdict, dataclass
from itertools import chain

from report.datasets.formats.token_classes import CLASSES, current_tokens, token_classes
from report.datasets.write.table import write_table as write  # noqa: F401 (a kind has it)
from report.errors import ReportError
from report.inputs import tables
from report.inputs.passages import Passage
from report.measuring import key as keys


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    table: object
    """`Table`, see report.inputs.tables."""
    renderings: list
    """Of `Rendering`; the first is measured like a passage too."""


@dataclass(frozen=True)
class Measured:
    """What `write_table` turns into files."""

    table: object
    """`Table`, see report.inputs.tables."""
    passage: object
    """`Passage`, the first rendering."""
    texts: list
    """Of `TableText`, one a rendering, see report.models.text.cells."""
    measurement: object
    """`PassageMeasurement` of the first rendering."""
    shares: list
    """One a rendering: objects with probability [layer, head, class] and even [layer, class]."""


def inputs(wanted):
    """The table and its renderings; ReportError if it cannot be had without a download."""
    table = tables.table(wanted.table, wanted.columns, wanted.rows)
    return Inputs(table, tables.renderings(table))


def parts(inputs, before=None):
    """What the datasets depend on."""
    return {
        "table": keys.hashed(asdict(inputs.table)),
        "renderings": keys.hashed([asdict(each) for each in inputs.renderings]),
    }


def words(inputs):
    """Options of a command: none, the article names its table itself."""
    return []


def measure(loaded, inputs, progress, announce):
    """Run a model over every rendering.

    returns: (`Measured`, dict of the manifest's table)
    raises: ReportError if a rendering is too long for the model, or no token can be measured
    """
    from report.models.load.memory import enough_memory
    from report.models.measure.table import measure_table
    from report.models.partial.model import announce_bytes
    from report.models.text.cells import table_text

    texts = [table_text(loaded, each) for each in inputs.renderings]
    current = [current_tokens(text.places) for text in texts]
    if not all(current):
        raise ReportError(
            f"table '{inputs.table.name}' has no cell with text below its first row; ask for more "
            "rows or other columns"
        )
    classes = [token_classes(text.places) for text in texts]
    announce_bytes(loaded, [*chain.from_iterable(t.token_ids for t in texts)], announce)
    with enough_memory(f"measuring {max(len(text.token_ids) for text in texts)} tokens"):
        measurement, shares = measure_table(
            loaded, texts, current, classes, len(CLASSES), lambda *n: progress("Measuring", *n)
        )
    table, first = inputs.table, inputs.renderings[0]
    title = f"The first {len(table.rows)} rows of {table.name}, as {first.label}"
    passage = Passage(table.name, title, "vega_datasets", "", "", first.text)
    return Measured(table, passage, texts, measurement, shares), {
        "token_ids_sha256": keys.hashed([list(text.token_ids) for text in texts]),
        "table": {
            "name": table.name,
            "rows": len(table.rows),
            "columns": list(table.columns),
            "tokens": {text.name: len(text.token_ids) for text in texts},
        },
    }
