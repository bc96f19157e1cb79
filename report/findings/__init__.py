"""What articles may say about their numbers: for each kind of article, the names its templates use.

A kind is a module (passage.py, conditions.py, table.py, sweep.py, prediction.py) with
`context(data)`, a dict of name to object, and `NAMES`, which says of each name what class its
object is of. predicted.py is a part of that of a passage. What a sentence quotes is computed here
from the datasets, never typed into a template.
"""

from importlib import import_module


def of(data) -> dict[str, object]:
    """What the template of an article may use, by name.

    data: what was measured, see `report.datasets.read.study`; its `kind` names the module
    """
    return import_module(f"report.findings.{data.kind}").context(data)


def names(kind: str) -> dict[str, type | None]:
    """What the template of an article of a kind may use: name -> class; None if it may be several.

    It is known before anything is measured.
    """
    return import_module(f"report.findings.{kind}").NAMES
