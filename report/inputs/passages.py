"""The fixed texts fed to models: passages of articles, and the corpus of short texts.

A text is one `.md` file: front matter between two lines `---` (title, source, licence, language),
then the text, one paragraph a line as in the books that the embedded models were trained on. The
text is measured exactly as it is, without the white space around it. A new file is known by its
name; there is no list to edit.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

import yaml

from report.errors import ReportError
from report.files import opened
from report.inputs.yaml_lines import load
from report.text import quoted

FOLDER = Path(__file__).parent / "shipped" / "passages"
SUFFIXES = (".md", ".txt")
FENCE = "---"
LARGEST = 50_000_000
"""Most bytes of a file that is read at once; no model takes a text nearly as long."""


@dataclass(frozen=True)
class Passage:
    """A text and where it comes from; fields are "" where an author's own file does not say."""

    name: str
    """File name without its ending; names the text in articles and in the manifest."""
    title: str
    source: str
    licence: str
    language: str
    """Like the `lang` attribute of HTML, e.g. "en"."""
    text: str


def passage_names() -> tuple[str, ...]:
    """Names of the passages that ship with the project, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.md")))


def passage(name: str | Path) -> Passage:
    """The passage of that name, or the author's own text if `name` is the path of a file.

    name: one of `passage_names()`, or a path that ends in .md or .txt (front matter is optional)
    raises: ReportError if the name is unknown, or the file is missing, not UTF-8, empty or has
        front matter that cannot be read
    """
    name = str(name)
    if name.lower().endswith(SUFFIXES):
        return read_passage(Path(name))
    if name not in passage_names():
        raise ReportError(
            f"unknown passage {quoted(name)}; known: {', '.join(passage_names())}; "
            f"a path to a .md or .txt file is accepted too, a file of your own in passages/ by its "
            "name, and a text itself as {text: ...}"
        )
    return read_passage(FOLDER / f"{name}.md")


@functools.cache
def corpus() -> tuple[Passage, ...]:
    """The short texts that ship for statistics over many texts, in the order of their names."""
    return tuple(read_passage(path) for path in sorted((FOLDER.parent / "corpus").glob("*.md")))


def read_passage(path: Path) -> Passage:
    """The passage in a file; ReportError as `passage`."""
    fields, text = split_front_matter(read_text(path), path)
    if not text:
        raise ReportError(f"passage file {path} is empty; write the text to be measured into it")
    return Passage(
        name=path.stem,
        title=field(fields, "title", path) or path.stem,
        source=field(fields, "source", path),
        licence=field(fields, "licence", path),
        language=field(fields, "language", path),
        text=text,
    )


def names_file(path: Path) -> bool:
    """Whether there is a file of that name; False for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_text(path: Path, what: str = "passage file", advice: str = "") -> str:
    """The text of a file, with line ends `\\n` and without a byte-order mark.

    what: messages call the file; advice: what to do if it cannot be read, default: about passages
    raises: ReportError if it is missing, no file, larger than `LARGEST`, or not UTF-8
    """
    advice = advice or f"give the path of a text file or one of: {', '.join(passage_names())}"
    try:
        with opened(path) as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ReportError(
                f"{what} {path} is larger than {LARGEST // 10**6} MB; keep the part of it that "
                "is to be read"
            )
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReportError(
            f"{what} {path} is not UTF-8 (byte {error.start}); save it as UTF-8"
        ) from error
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise ReportError(
            f"{what} {quoted(str(path))[1:-1]} cannot be read ({reason}); {advice}"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def split_front_matter(text: str, path: Path) -> tuple[dict, str]:
    """The front matter (empty if there is none; unknown keys are allowed) and the stripped text
    after it.

    raises: ReportError if the front matter is not closed or not a YAML mapping
    """
    opening, *lines = text.split("\n")
    if opening.rstrip() != FENCE:
        return {}, text.strip()
    closing = next((i for i, line in enumerate(lines) if line.rstrip() == FENCE), None)
    if closing is None:
        raise ReportError(
            f"front matter of {path} is never closed; end it with a line {FENCE}, "
            f"or leave out the {FENCE} on its first line"
        )
    advice = "write lines like 'title: The Storm'"
    try:
        fields = load("\n".join(lines[:closing])) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: an impossible date
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = "" if line is None else f" at line {line + 2}"  # counts from 1, after the fence
        raise ReportError(f"front matter of {path} is not valid YAML{where}; {advice}") from error
    if not isinstance(fields, dict):
        raise ReportError(f"front matter of {path} is not a list of fields; {advice}")
    return fields, "\n".join(lines[closing + 1 :]).strip()


def field(fields: dict, key: str, path: Path) -> str:
    """A field as text, "" if it is missing; ReportError if it is a list or a mapping."""
    value = fields.get(key)
    if isinstance(value, (dict, list)):
        raise ReportError(f"{key} in the front matter of {path} must be one line of text")
    return "" if value is None else str(value).strip()
