"""The fields of a figure."""

from dataclasses import MISSING, fields

from report.figures.parts.figure import Figure
from report.pages.reference.documented import Entry, Reference, Section, attributes, prose


def page() -> Reference:
    """One section; the gallery has the figures themselves."""
    said = attributes(Figure)
    needed = {
        field.name
        for field in fields(Figure)
        if field.default is MISSING and field.default_factory is MISSING
    }
    return Reference(
        "figures",
        "Figures",
        "The fields of a figure: what the file of a figure of your own may say.",
        [
            Section(
                "Fields of a figure",
                [
                    Entry(name, prose(text), "Must be given." if name in needed else "")
                    for name, text in said.items()
                ],
                "The file of a figure sets them by functions and constants of these names, the "
                "constants in capitals. [Your own figure](../how-to/figures.md) shows such a file, "
                "and the [gallery](../gallery/index.md) has the figures that ship.",
            ),
        ],
    )
