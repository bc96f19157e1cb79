"""The fields of a figure, and what it can ask its data for."""

from dataclasses import MISSING, fields

from report.datasets.formats.attention import DecodedAttention
from report.figures.build.find import figure_named, figure_names
from report.figures.parts.figure import Figure
from report.pages.reference.documented import Entry, Reference, Section, attributes, prose
from report.pages.reference.in_prose import members


def page() -> Reference:
    """The fields, and a section a class of data; the gallery has the figures themselves."""
    said = attributes(Figure)
    needed = {
        field.name
        for field in fields(Figure)
        if field.default is MISSING and field.default_factory is MISSING
    }
    return Reference(
        "figures",
        "Figures",
        "What the file of a figure of your own may say, and what it can ask its data for.",
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
            *(_data(of) for of in _classes()),
        ],
    )


def _classes():
    """What figures are drawn of, as their files say; and the head that a passage gives."""
    found = [of for name in figure_names() for of in figure_named(name).of]
    return [*sorted(dict.fromkeys(found), key=lambda of: of.__name__), DecodedAttention]


def _data(of):
    bases = [base for base in reversed(of.__mro__) if base.__module__.startswith("report.")]
    entries = {entry.name: entry for base in bases for entry in members(base)}
    return Section(f"Data: {of.__name__}", [*entries.values()], prose(of.__doc__))
