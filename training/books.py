"""The training text: a folder of `.txt` files, one book a file, one of them held out.

Titles come from file names of the form `author_title[_translator-or-illustrator].txt`, as Standard
Ebooks names its editions; any other name is used as the title.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from report.errors import ReportError

AS_PRINTED = {
    "Alices Adventures in Wonderland": "Alice's Adventures in Wonderland",
    "George Macdonald": "George MacDonald",
    "Through the Looking Glass": "Through the Looking-Glass",
    "Winnie the Pooh": "Winnie-the-Pooh",
}
"""Names and titles that file names cannot spell."""

SMALL_WORDS = {"a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to"}


@dataclass(frozen=True)
class Book:
    """One text file: where it came from, and what it says."""

    file: str
    """File name without its folder."""
    author: str
    """Empty when the file name does not tell."""
    title: str
    text: str
    sha256: str
    """Of the file's bytes, 64 hexadecimal digits: names the edition that was trained on."""


def read_books(folder: str | Path) -> list[Book]:
    """Every `.txt` file of `folder` as a `Book`, in order of file name.

    folder: path of a folder; its subfolders are not searched
    raises: ReportError if it is not a folder, has fewer than two such files (one is held out), or
        one of them is not UTF-8
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ReportError(f"no folder '{folder}'; name a folder that holds the books as .txt files")
    paths = sorted(path for path in folder.glob("*.txt") if path.is_file())
    if len(paths) < 2:
        raise ReportError(
            f"'{folder}' holds {len(paths)} .txt file(s); at least 2 are needed, because one whole "
            "book is held out of the training; add books to the folder"
        )
    return [read_book(path) for path in paths]


def read_book(path: Path) -> Book:
    """One text file as a `Book`; raises ReportError if it is not UTF-8."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ReportError(
            f"'{path.name}' is not UTF-8 (byte {error.start}); convert it, or take "
            "it out of the folder"
        ) from None
    author, title = author_and_title(path.stem)
    # Line ends as Python reads a text file, whatever system wrote it.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Book(path.name, author, title, text, hashlib.sha256(content).hexdigest())


def author_and_title(stem: str) -> tuple[str, str]:
    """Author(s) and title told by a file name without its ending, both str, the author may be "".

    Parts are separated by `_`. Parts after the first that end in the same family name are authors
    too: `jacob-grimm_wilhelm-grimm_household-tales` is by two brothers.
    """
    parts = [part for part in stem.split("_") if part]
    if len(parts) < 2:
        return "", title_words(stem)
    family = parts[0].split("-")[-1]
    count = 1
    while count < len(parts) - 1 and parts[count].split("-")[-1] == family:
        count += 1
    return " and ".join(map(person, parts[:count])), title_words(parts[count])


def person(slug: str) -> str:
    """`j-m-barrie` -> "J. M. Barrie"."""
    told = " ".join(f"{w.upper()}." if len(w) == 1 else w.capitalize() for w in words(slug))
    return AS_PRINTED.get(told, told)


def title_words(slug: str) -> str:
    """`the-wind-in-the-willows` -> "The Wind in the Willows" (other apostrophes are lost)."""
    told = " ".join(
        word if index and word in SMALL_WORDS else word.capitalize()
        for index, word in enumerate(words(slug))
    )
    return AS_PRINTED.get(told, told)


def words(slug: str) -> list[str]:
    """The words of a file name part, at its hyphens."""
    return [word for word in slug.split("-") if word]


def held_out_book(books: list[Book], name: str | None = None) -> int:
    """The index of the book that is never trained on.

    name: part of one file name, "the-railway-children"; None takes the book of middle length, the
        shorter of the two middle ones, so that the choice hangs on the texts alone
    raises: ReportError if no file name, or more than one, contains `name`
    """
    if name is None:
        by_length = sorted(range(len(books)), key=lambda i: (len(books[i].text), books[i].file))
        return by_length[(len(books) - 1) // 2]
    matching = [index for index, book in enumerate(books) if name in book.file]
    if len(matching) != 1:
        named = ", ".join(books[index].file for index in matching) or "none"
        known = ", ".join(book.file for book in books)
        raise ReportError(
            f"the held-out book '{name}' must be part of exactly one file name, it is part of: "
            f"{named}; files: {known}"
        )
    return matching[0]
