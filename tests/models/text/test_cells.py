"""Every token of a table finds its cell, name or delimiter, wherever the tokenizer merges."""

import pytest

from report.errors import ReportError
from report.inputs.tables import Cell, Table, rendering, renderings
from report.models.text.cells import TokenPlace, table_text
from tests.models import tiny_tokenizers as kinds
from tests.models.text.test_tokens import with_tokenizer

TABLE = Table(
    "lamps",
    ("name", "lit"),
    ((Cell("the lamp"), Cell("12", True)), (Cell("fin"), Cell("7", True))),
)
HOSTILE = Table(
    "hostile",
    ("<b>{{x}}|", "naïve 😀"),
    ((Cell('say "no",\nthen'), Cell("كم")), (Cell("<i>x</i>"), Cell("ab"))),
)


def merging(*merges):
    """Characters are tokens, but for some pairs, which are one."""
    letters = "\n ,:.[]{}\"'/abcdefghijklmnopqrstuvwxyzT0123456789_"
    return with_tokenizer(kinds.characters(letters, *merges))


def together(text):
    """What the tokens of each cell, name and delimiter say together, in order."""
    found = []
    for token, place in zip(text.tokens, text.places, strict=True):
        raw = kinds.raw(token)
        if found and found[-1][0] == place:
            found[-1][1] += raw
        else:
            found.append([place, bytearray(raw)])
    return [(place, bytes(raw).decode()) for place, raw in found]


def test_without_merges_every_token_is_exactly_what_its_character_is():
    text = table_text(merging(), rendering(TABLE, "csv"))
    comma, line = (TokenPlace("delimiter"), ","), (TokenPlace("delimiter"), "\n")
    assert together(text) == [
        (TokenPlace("header", -1, 0), "name"),
        comma,
        (TokenPlace("header", -1, 1), "lit"),
        line,
        (TokenPlace("value", 0, 0), "the lamp"),
        comma,
        (TokenPlace("value", 0, 1), "12"),
        line,
        (TokenPlace("value", 1, 0), "fin"),
        comma,
        (TokenPlace("value", 1, 1), "7"),
    ]
    assert text.crossings == []


def test_a_merge_across_an_edge_counts_for_no_cell_and_is_listed():
    merges = ",1", "n,", "n,7", "t\n"
    text = table_text(merging(*merges), rendering(TABLE, "csv"))
    shown = {token["text"]: place for token, place in zip(text.tokens, text.places, strict=True)}
    assert shown[",1"] == TokenPlace("edge")  # a comma and the 1 of 12
    assert shown["n,7"] == TokenPlace("edge")  # the end of fin, a comma and 7
    assert shown["t\n"] == TokenPlace("header", -1, 1)
    names = [text.tokens[token]["text"] for token in text.crossings]
    assert names == [",1", "n,7"]  # a line end says nothing that could be taken for another cell


def test_delimiters_merged_among_themselves_are_delimiters():
    merges = '":', '": ', '": "'
    text = table_text(merging(*merges), rendering(TABLE, "json"))
    shown = {token["text"]: place for token, place in zip(text.tokens, text.places, strict=True)}
    assert shown['": "'] == TokenPlace("delimiter")
    assert text.crossings == []


def test_a_space_that_begins_a_word_does_not_make_it_a_delimiter():
    merges = " t", " th", " i", " is", " 1"
    text = table_text(merging(*merges), rendering(TABLE, "sentences"))
    shown = [(token["text"], place) for token, place in zip(text.tokens, text.places, strict=True)]
    assert (" 1", TokenPlace("value", 0, 1)) in shown
    assert (" th", TokenPlace("value", 0, 0)) in shown  # of "the lamp"
    assert (" th", TokenPlace("delimiter")) in shown  # of "and the lit"
    assert (" is", TokenPlace("delimiter")) in shown
    assert text.crossings == []


@pytest.mark.parametrize("kind", kinds.KINDS)
@pytest.mark.parametrize("made", [TABLE, HOSTILE], ids=["plain", "hostile"])
def test_any_tokenizer_finds_all_cells_in_order(kind, made):
    for each in renderings(made):
        text = table_text(with_tokenizer(kind(), 4096), each)
        assert len(text.places) == len(text.token_ids) == len(text.tokens)
        added = [token["special"] for token in text.tokens]
        assert [place.role == "added" for place in text.places] == added
        cells = [(p.row, p.column) for p in text.places if p.role == "value"]
        lost = {(0, 0), (0, 1), (1, 0), (1, 1)} - set(cells)
        assert not lost or text.crossings, "a cell has a token, or it lies over an edge"
        assert cells == sorted(cells)


@pytest.mark.parametrize("kind", [kinds.byte_level, kinds.llama3, kinds.gemma])
def test_cells_say_what_they_say_but_for_the_space_before_them(kind):
    for each in renderings(HOSTILE):
        text = table_text(with_tokenizer(kind(), 4096), each)
        assert text.crossings == []
        found = {}
        for place, whole in together(text):
            if place.role == "value":
                found[place.row, place.column] = found.get((place.row, place.column), "") + whole
        expected = {(p.row, p.column): p.text for p in each.parts if p.role == "value"}
        assert {place: whole.strip() for place, whole in found.items()} == expected


def test_a_table_that_is_too_long_says_which_rendering_and_what_to_do():
    said = r"^written as JSON, the table has \d+ tokens, the model takes at most 40; ask for fewer"
    narrow = merging()
    narrow.identity["context"] = 40
    table_text(narrow, rendering(TABLE, "csv"))
    with pytest.raises(ReportError, match=said):
        table_text(narrow, rendering(TABLE, "json"))
