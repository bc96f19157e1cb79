"""The prompts of studies that compare conditions: a system prompt and a set of questions.

A set is one `.md` file: front matter between two lines `---` (title, source, licence, language and
the system prompt), then one question a line. A new file is known by its name; there is no list to
edit. The embedded models were not trained on these questions.
"""

from dataclasses import dataclass
from pathlib import Path

from report.errors import ReportError
from report.inputs.passages import field, names_file, read_text, split_front_matter
from report.text import quoted

FOLDER = Path(__file__).parent / "shipped" / "prompts"


@dataclass(frozen=True)
class Prompts:
    """A system prompt, the questions asked after it, and where they come from."""

    name: str
    title: str
    """What pages call the set; default: the name of the file."""
    source: str
    """Where the questions come from."""
    licence: str
    """The licence that they are under."""
    language: str
    """The language that they are in, such as `en`."""
    system: str
    """The system prompt, which must be given."""
    questions: tuple[str, ...]


KEYS = ("title", "source", "licence", "language", "system")
"""What the front matter of a set says; each is a text in one line."""


def prompt_names() -> tuple[str, ...]:
    """Names of the sets that ship with the project, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.md")))


def prompts(name: str | Path) -> Prompts:
    """A set by its name.

    name: one of `prompt_names()`, or a path that ends in .md
    raises: ReportError if the name is unknown, or the file cannot be read, or lacks a system prompt
        or questions
    """
    is_file = str(name).endswith(".md")
    path = Path(name) if is_file else FOLDER / f"{name}.md"
    if not (names_file(path) if is_file else str(name) in prompt_names()):
        raise ReportError(
            f"unknown prompts {quoted(name)}; known: {', '.join(prompt_names())}; "
            "the path of an .md file is accepted too, and one of your own in prompts/ by its name"
        )
    fields, text = split_front_matter(read_text(path), path)
    questions = tuple(line.strip() for line in text.split("\n") if line.strip())
    system = field(fields, "system", path)
    if not system:
        raise ReportError(f"{path} names no system prompt; add a line 'system: …' on top")
    if not questions:
        raise ReportError(f"{path} has no question; write one a line after the front matter")
    origin = {key: field(fields, key, path) for key in ("source", "licence", "language")}
    title = field(fields, "title", path) or path.stem
    return Prompts(path.stem, title, system=system, questions=questions, **origin)
