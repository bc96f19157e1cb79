"""Writes the reference, for a publication that has a documentation."""

from pathlib import Path

from report import files
from report.pages.reference import command_line, datasets, drawing, front_matter, in_prose
from report.pages.templates import environment
from report.project import documentation


def write_reference(site_src: Path) -> None:
    """Write `site_src/docs/reference` beside the documentation, if this publication has it."""
    docs = documentation(site_src)
    if docs is None:
        return
    template = environment().get_template("reference.md.j2")
    references = [
        front_matter.page(),
        command_line.page(),
        in_prose.page(),
        drawing.page(),
        datasets.page(),
    ]
    for reference in references:
        path = docs / "reference" / f"{reference.name}.md"
        files.write_text(path, template.render(reference=reference))
    written = {f"{reference.name}.md" for reference in references}
    files.remove_others((docs / "reference").glob("*.md"), written)
