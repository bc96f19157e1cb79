"""The fields of a figure, and the figures that ship."""

from dataclasses import MISSING, fields

from report.figures.build.find import figure_named, figure_names
from report.figures.parts.figure import Figure
from report.pages.filters import markdown_text
from report.pages.page import Page
from report.pages.reference.documented import Entry, Reference, Section, attributes, code, prose


def page(pages: list[Page]) -> Reference:
    """pages: of the articles, which are linked from the figures that they show."""
    said = attributes(Figure)
    needed = {
        field.name
        for field in fields(Figure)
        if field.default is MISSING and field.default_factory is MISSING
    }
    return Reference(
        "figures",
        "Figures",
        "The figures that articles may place, and the fields of a figure of your own.",
        [
            Section("Figures that ship", [_figure(name, pages) for name in figure_names()]),
            Section(
                "Fields of a figure",
                [
                    Entry(name, prose(text), "Must be given." if name in needed else "")
                    for name, text in said.items()
                ],
                "The file of a figure sets them by functions and constants of these names, the "
                "constants in capitals. [Your own figure](../how-to/figures.md) shows such a file.",
            ),
        ],
    )


def _figure(name, pages):
    figure = figure_named(name)
    shown = [
        f"[{markdown_text(page.title)}](../../articles/{page.name}/index.md)"
        for page in pages
        if name in page.figures
    ]
    text = prose(figure.shows)
    if figure.of:
        text += f"\n\nIt is drawn of {' or '.join(code(one.__name__) for one in figure.of)}."
    if shown:
        text += f"\n\nShown in {', '.join(shown)}."
    return Entry(name, text, code(f'{{{{ figure("{name}") }}}}'))
