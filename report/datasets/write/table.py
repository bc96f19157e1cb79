"""Turns what was measured of a table into its folder of datasets."""

from collections.abc import Sequence
from typing import Protocol

from report.datasets.formats import class_shares, fields, passage, renderings
from report.datasets.formats.measured import PassageMeasurement
from report.datasets.write.attention import write_attention
from report.datasets.write.folder import Folder, Step


class Measured(Protocol):
    """What was measured, see `report.measuring.kinds.table`."""

    table: renderings.Table
    passage: passage.Passage
    texts: Sequence[renderings.TableText]
    measurement: PassageMeasurement
    shares: Sequence[class_shares.Shares]


def write_table(files: Folder, measured: Measured, progress: Step) -> dict:
    """Write every dataset of an article about a table.

    progress: called after each layer
    returns: the manifest's passage and fields
    raises: ReportError if a number is not finite
    """
    first, measurement = measured.texts[0], measured.measurement
    files.write("passage.json", passage.encode(measured.passage, first.tokens))
    files.write("renderings.json", renderings.encode(measured.table, measured.texts))
    names = [text.name for text in measured.texts]
    shares = dict(zip(names, measured.shares, strict=True))
    files.write("class_shares.json", class_shares.encode(shares))
    shards = write_attention(files, measurement, progress)
    read = {"name": measured.passage.name, "tokens": len(first.tokens)}
    return {"passage": read, "fields": fields.described(shards)}
