"""Books are found, named by their files, and refused where they cannot be used."""

import hashlib

import pytest

from report.errors import ReportError
from training.books import author_and_title, held_out_book, read_books


def write(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.txt").write_bytes(text)
    return folder


def test_books_come_in_order_of_file_name_with_the_bytes_named(tmp_path):
    write(tmp_path, b_two=b"second\r\nline", a_one="caf\u00e9".encode())
    (tmp_path / "README.md").write_text("not a book")
    first, second = read_books(tmp_path)
    assert (first.file, first.author, first.title, first.text) == (
        "a_one.txt",
        "A.",
        "One",
        "caf\u00e9",
    )
    assert second.text == "second\nline"
    assert second.sha256 == hashlib.sha256(b"second\r\nline").hexdigest()


@pytest.mark.parametrize(
    ("stem", "author", "title"),
    [
        ("kenneth-grahame_the-wind-in-the-willows", "Kenneth Grahame", "The Wind in the Willows"),
        ("j-m-barrie_peter-and-wendy", "J. M. Barrie", "Peter and Wendy"),
        ("aesop_fables_v-s-vernon-jones", "Aesop", "Fables"),
        (
            "jacob-grimm_wilhelm-grimm_household-tales_margaret-hunt",
            "Jacob Grimm and Wilhelm Grimm",
            "Household Tales",
        ),
        ("notes-of-a-day", "", "Notes of a Day"),
        (
            "george-macdonald_alices-adventures-in-wonderland",
            "George MacDonald",
            "Alice's Adventures in Wonderland",
        ),
        ("ann-lee_bob-lee", "Ann Lee", "Bob Lee"),
    ],
)
def test_author_and_title_from_the_file_name(stem, author, title):
    assert author_and_title(stem) == (author, title)


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (None, r"no folder '.*books'; name a folder"),
        ({"a": b"text"}, r"1 \.txt file\(s\); at least 2 are needed"),
        ({"a": b"text", "b": b"caf\xe9"}, r"'b\.txt' is not UTF-8 \(byte 3\)"),
    ],
)
def test_what_are_no_books_is_named(tmp_path, texts, reason):
    if texts:
        (tmp_path / "books").mkdir()
        write(tmp_path / "books", **texts)
    with pytest.raises(ReportError, match=reason):
        read_books(tmp_path / "books")


def test_the_held_out_book_is_found_by_part_of_its_name_or_is_that_of_middle_length(tmp_path):
    books = read_books(write(tmp_path, a=b"333", b=b"1", c_three=b"4444", d=b"22"))
    assert held_out_book(books, "three") == 2
    assert books[held_out_book(books)].file == "d.txt"


@pytest.mark.parametrize("name", ["nothing", "book"])
def test_a_name_of_no_book_or_of_two_is_refused(tmp_path, name):
    books = read_books(write(tmp_path, book_one=b"1", book_two=b"2"))
    with pytest.raises(ReportError, match=r"exactly one file name.*files: book_one\.txt"):
        held_out_book(books, name)
