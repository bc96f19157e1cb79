"""The fixed texts fed to models: passages of articles, and the corpus of short texts.

A text is one `.md` file: front matter between two lines `---` (title, source, licence, language),
then the text, one paragraph a line as in the books that the embedded models were trained on. The
text is measured exactly as it stands, but for white space around it. A new file is found by its
name; there is no list to edit.
"""

from dataclasses import dataclass
from pathlib import Path

import yaml

from report.errors import ReportError
from report.inputs.yaml_lines import load
from report.text import quoted

FOLDER = Path(__file__).parent / "shipped" / "passages"
SUFFIXES = (".md", ".txt")
FENCE = "---"


@dataclass(frozen=True)
class Passage:
    """A text and where it comes from; an empty string where a reader's own file does not say."""

    name: str
    """File name without its ending; names the text in articles and in the manifest."""
    title: str
    source: str
    licence: str
    language: str
    """Like the `lang` attribute of HTML, e.g. "en"."""
    text: str


def passage_names():
    """Names of the passages that ship with the project, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.md")))


def passage(name):
    """The passage of that name, or the reader's own text where `name` is a path to a file.

    name: one of `passage_names()`, or a path that ends in .md or .txt (front matter is optional)
    returns: Passage
    raises: ReportError if the name is unknown, or the file is missing, not UTF-8, empty or has
        front matter that cannot be read
    """
    name = str(name)
    if name.lower().endswith(SUFFIXES):
        return read_passage(Path(name))
    if name not in passage_names():
        raise ReportError(
            f"unknown passage {quoted(name)}; known: {', '.join(passage_names())}; "
            "a path to a .md or .txt file is accepted too, and a text itself as {text: ...}"
        )
    return read_passage(FOLDER / f"{name}.md")


def corpus():
    """The short texts that statistics over many texts are made from, a tuple in order of name."""
    return tuple(read_passage(path) for path in sorted((FOLDER.parent / "corpus").glob("*.md")))


def read_passage(path):
    """The Passage in the file at `path`; raises ReportError as `passage` does."""
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


def names_file(path):
    """Whether there is a file of that name; no file has a name that is too long, for instance."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_text(path):
    """What the file says, its line ends made `\\n` and a byte-order mark dropped."""
    try:
        if path.exists() and not path.is_file():  # a device may never end
            raise ValueError("it is no file")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReportError(
            f"passage file {path} is not UTF-8 (byte {error.start}); save it as UTF-8"
        ) from error
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise ReportError(
            f"passage file {quoted(str(path))[1:-1]} cannot be read ({reason}); "
            f"give the path of a text file or one of: {', '.join(passage_names())}"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def split_front_matter(text, path):
    """The front matter as a dict (empty if there is none) and the stripped text after it."""
    opening, *lines = text.split("\n")
    if opening.rstrip() != FENCE:
        return {}, text.strip()
    closing = next((i for i, line in enumerate(lines) if line.rstrip() == FENCE), None)
    if closing is None:
        raise ReportError(
            f"front matter of {path} is never closed; end it with a line {FENCE}, "
            f"or leave out the {FENCE} on its first line"
        )
    fields = parse_front_matter("\n".join(lines[:closing]), path)
    return fields, "\n".join(lines[closing + 1 :]).strip()


def parse_front_matter(block, path):
    """The YAML mapping in `block` as a dict; keys that are not ours are the reader's business."""
    try:
        fields = load(block)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: an impossible date
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = "" if line is None else f" at line {line + 2}"  # counts from 1, after the fence
        raise ReportError(
            f"front matter of {path} is not valid YAML{where}; write lines like 'title: The Storm'"
        ) from error
    if not isinstance(fields or {}, dict):
        raise ReportError(
            f"front matter of {path} is not a list of fields; write lines like 'title: The Storm'"
        )
    return fields or {}


def field(fields, key, path):
    """The field as text, empty where it is missing."""
    value = fields.get(key)
    if isinstance(value, (dict, list)):
        raise ReportError(f"{key} in the front matter of {path} must be one line of text")
    return "" if value is None else str(value).strip()
