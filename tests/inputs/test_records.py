"""Rows of own files and of data sets: the same cells, limits and messages everywhere."""

import json

import pytest
from pydantic import ValidationError

from report.errors import ReportError
from report.inputs import corpora, passages, records, rows, tables
from report.inputs.specs import CorpusSpec, PassageSpec
from report.inputs.tables import Cell, renderings, table

ENDINGS = (".csv", ".tsv", ".json", ".jsonl")
COLUMNS = ("city", "people", "capital")
ROWS = (("Oslo", "717710", "true"), ('"Aix, en"', "2.40", ""), ("Wien\n1", "1e5", "false"))


def written(ending, columns=COLUMNS, rows=ROWS):
    """The rows as a file of that ending has them, all cells as text in .csv and .tsv files."""
    if ending in (".csv", ".tsv"):
        between = "," if ending == ".csv" else "\t"
        lines = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row] for row in rows]
        return "".join(between.join(line) + "\r\n" for line in [columns, *lines])
    objects = []
    for row in rows:
        cells = [json.dumps(row[0]), row[1], row[2] or "null"]
        pairs = (f"{json.dumps(n)}: {cell}" for n, cell in zip(columns, cells, strict=False))
        objects.append(f"{{{', '.join(pairs)}}}")
    return f"[{', '.join(objects)}]" if ending == ".json" else "\n".join(objects)


@pytest.fixture
def write(tmp_path):
    """A function that writes a file of an ending and returns its path."""

    def write(ending, content=None):
        path = tmp_path / f"cities{ending}"
        content = written(ending) if content is None else content
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def as_passage(path, **row):
    return rows.specified(PassageSpec(file=path, **row))


READERS = {"table": table, "passage": as_passage}
each_reader = pytest.mark.parametrize("read", READERS.values(), ids=READERS)
each_ending = pytest.mark.parametrize("ending", ENDINGS)


@each_ending
def test_a_file_of_any_kind_makes_the_same_table(write, ending):
    found = table(write(ending))
    assert (found.name, found.columns) == (f"cities{ending}", COLUMNS)
    assert [[cell.text for cell in row] for row in found.rows] == [list(row) for row in ROWS]
    assert [row[1] for row in found.rows] == [Cell(text, bare=True) for _, text, _ in ROWS]
    assert tables.origin(found) == f"cities{ending}"
    assert renderings(found)[0].text == renderings(table(write(".csv")))[0].text


@each_ending
def test_a_row_of_the_same_file_is_a_passage_with_the_same_cells(write, ending):
    for number, row in enumerate(ROWS):
        text = as_passage(write(ending), row=number).text
        assert text == "\n".join(f"{n}: {c}" for n, c in zip(COLUMNS, row, strict=True)).strip()


def test_a_data_set_is_read_by_the_same_code():
    source = records.of_data_set("cars")
    row = rows.specified(PassageSpec(dataset="cars", row=1, columns=["Name", "Year"]))
    assert row.text == "\n".join(f"{n}: {source.rows[1][n]}" for n in ("Name", "Year"))
    assert tables.origin(table("cars")) == row.source == "vega_datasets"


def test_what_an_object_lacks_is_missing_and_what_it_nests_is_json(write):
    path = write(".jsonl", '{"a": 1}\n{"b": {"c": [2.50, "d", null]}, "a": "x"}\n')
    found = table(path)
    assert found.columns == ("a", "b")
    assert found.rows[0][1] == Cell("")
    assert found.rows[1][1] == Cell('{"c": [2.50, "d", null]}', bare=True)
    assert json.loads(renderings(found)[1].text)[1] == {"a": "x", "b": {"c": [2.5, "d", None]}}


@pytest.mark.parametrize("number", [2, 8, 9])
def test_without_a_number_the_first_8_rows_are_read_or_all_if_there_are_fewer(write, number):
    assert len(table(write(".csv", "a,b\n" + "1,2\n" * number)).rows) == min(number, 8)


WRONG = {
    "empty": (".csv", "", r"cities\.csv: is empty; it must hold rows, below a line of names"),
    "empty JSON": (".json", " \n", r"cities\.json: is empty; it must hold rows, each an object"),
    "names alone": (".tsv", "a\tb\n", r"cities\.tsv: has no rows; it must hold rows, below a line"),
    "no rows": (".json", "[]", r"cities\.json: has no rows; it must hold rows, each an object"),
    "no objects": (".jsonl", "1\n2\n", r"has no rows; it must hold rows, each an object"),
    "not UTF-8": (".csv", b"a\ncaf\xe9\nb\n", r"cities\.csv is not UTF-8 \(byte 5\); save it as"),
    "a name twice": (".csv", "a,b,a\n1,2,3\n4,5,6\n", r"rows: two columns are called 'a'"),
    "a key twice": (".json", '[{"a": 1, "a": 2}]', r"rows: the name 'a' comes twice in an object"),
    "a longer row": (".csv", "a,b\n1,2\n1,2,3\n", r"row 1 has more cells \(3\) than .*\(2\)$"),
    "a shorter row": (".tsv", "a\tb\n1\n1\t2\n", r"row 0 has fewer cells \(1\) than .*\(2\)$"),
    "no JSON": (".json", "{", r"cities\.json: is not a JSON file of rows: "),
    "infinite": (".jsonl", '{"a": 1e999}\n' * 2, r"is not a JSONL file of rows: 1e999 is too"),
    "a whole number that no float holds": (".json", f'[{{"a": {"9" * 5000}}}]', r"is too large"),
    "two ways": (".csv", "a;b,c\n1;2,3\n", r"commas \(2 columns\) or semicolons \(2 columns\)"),
    "a line of another width": (".csv", "a;b\n1;2\n3\n", r"2 names between semicolons.* 1 cells"),
    "decimal commas between commas": (".csv", "a,b\nx,1,5\n", r"row 0 has more cells \(3\)"),
    "no names": (".csv", "Oslo,717710\nRome,2748109\n", r"has the number 717710 where"),
    "Latin-1 between semicolons": (".csv", "a;b\nü;1\n".encode("latin-1"), r"is not UTF-8"),
    "an open quote": (".csv", 'a,b\n"1,2\n', r"cities\.csv: is not a CSV file of rows: unexpected"),
}


@each_reader
@pytest.mark.parametrize(("ending", "content", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_file_is_the_same_sentence_everywhere(
    write, read, ending, content, said
):
    with pytest.raises(ReportError, match=said) as refused:
        read(write(ending, content))
    assert "\n" not in str(refused.value)


@each_reader
def test_what_is_no_file_or_too_large_is_told(write, read, monkeypatch):
    for path in ("gone.csv", "/dev/null.csv"):
        with pytest.raises(ReportError, match=f"^file of rows {path} cannot be read .No"):
            read(path)
    monkeypatch.setattr(passages, "LARGEST", 11)
    with pytest.raises(ReportError, match=r"cities\.csv is larger than 0 MB; keep the part"):
        read(write(".csv", "a,b\n1,2\n3,4\n"))


@each_ending
def test_a_column_that_is_missing_is_the_same_sentence_everywhere(write, ending):
    said = r"cities\.\w+ has no column 'mayor'; it has: city, people, capital$"
    with pytest.raises(ReportError, match=said):
        table(write(ending), ["city", "mayor"])
    with pytest.raises(ReportError, match=said):
        as_passage(write(ending), column="mayor")


def test_a_table_has_a_size(write):
    wide = write(".csv", "".join(f"{','.join(row)}\n" for row in WIDE))
    assert len(table(wide, ["c1", "c5999"]).rows) == 2
    nameless = write(".tsv", "\ta\n0\tx\n1\ty\n")
    assert table(nameless, ["a"]).rows[1] == (Cell("y"),)
    for arguments, reason in (
        ([wide], r"2 rows of 6000 columns of .* too many cells.*10,000"),
        ([wide, ["c1"], 3], r"got 3 rows; of \S+cities\.csv, 2 to 2 rows can be read"),
        ([write(".jsonl", '{"a": 1}')], "has only 1 row; a table needs 2 at least"),
        ([nameless], "a column of .* has no name; give it one, or name others"),
        (["wheat", (), 1], "got 1 rows; of data set 'wheat', 2 to 52 rows can be read"),
        (
            ["wheat", ["wage"]],
            "data set 'wheat' has no column 'wage'; it has: year, wheat, wages$",
        ),
    ):
        with pytest.raises(ReportError, match=reason):
            table(*arguments)


WIDE = [[f"c{n}" for n in range(6000)], *[["1"] * 6000] * 2]


def test_halves_of_characters_are_not_passed_on(write):
    found = table(write(".json", '[{"\\ud800": "\\udc00"}, {"\\ud800": {"\\ud800": 1}}]'))
    for text in (*found.columns, *(cell.text for row in found.rows for cell in row)):
        text.encode()


def test_a_data_set_is_never_a_file(write):
    with pytest.raises(ReportError, match="is unknown; inside it are"):
        rows.specified(PassageSpec(dataset=write(".csv")))


DELIMITED = {
    "semicolons": (".csv", "city;people\nOslo;717710\nRome;2748109\n", "semicolons"),
    "a mark and sep": (
        ".csv",
        "\ufeffsep=;\r\ncity;n\r\nOslo;1\r\nRome;2\r\n",
        "semicolons",
    ),
    "tabs in .csv": (".csv", "city\tpeople\nOslo, N\t1\nRome\t2\n", "tabs"),
    "commas in .tsv": (".tsv", "city,people\nOslo,1\nRome,2\n", "commas"),
    "vertical bars": (".csv", "city|people\nOslo|1\nRome|2\n", "vertical bars"),
    "quotes": (".csv", 'city;people\n"Oslo;N";1\n"Ro\nme";2\n', "semicolons"),
    "decimal commas": (".csv", "city;share\nOslo;1,5\nRome;12,25\n", "semicolons"),
}


@pytest.mark.parametrize(("ending", "content", "between"), DELIMITED.values(), ids=DELIMITED)
def test_what_stands_between_cells_is_found_and_said(write, ending, content, between):
    path = write(ending, content)
    found = table(path)
    assert found.columns[0] == "city"
    assert {len(row) for row in found.rows} == {2}
    assert found.form.startswith(f"cells between {between}")
    assert as_passage(path).source == f"cities{ending} ({found.form})"
    spec = CorpusSpec(file=path, column="city")
    read = corpora.specified(spec)
    assert [text for _, text in read] == [row[0].text for row in found.rows]
    assert read.form == f"cells between {between}"


def test_a_number_with_a_decimal_comma_is_text_and_so_is_one_with_points_beside_it(write):
    found = table(write(".csv", "a;b;c\n1,5;717.710;3\n2,5;1.0;4\n"))
    assert "decimal comma" in found.form
    assert [[cell.bare for cell in row] for row in found.rows] == [[False, False, True]] * 2
    assert not table(write(".csv", 'a,b\n1.5,x\n"2,x",y\n')).form


@pytest.mark.parametrize("cell", ["1٣", "٣.5", "1.٣", "1e٣", "1e999", "9" * 5000])
def test_what_is_no_number_in_json_is_a_text(write, cell):
    found = records.of_file(write(".csv", f"a,b\n{cell},2\n"))
    assert found.plain == [{"a": cell, "b": 2}]


def test_a_single_column_is_a_table_whatever_its_texts_hold(write):
    path = write(".csv", "text\nfirst; second\nthird | fourth\n")
    assert [row[0].text for row in table(path).rows] == ["first; second", "third | fourth"]
    assert table(path).form == ""


def test_what_an_author_says_counts(write):
    path = write(".csv", "a;b,c\n1;2,3\n4;5,6\n")
    assert table(path, delimiter=";").columns == ("a", "b,c")
    assert as_passage(path, delimiter=",").text == "a;b: 1;2\nc: 3"
    spec = CorpusSpec(file=path, column="c", delimiter=",")
    assert [text for _, text in corpora.specified(spec)] == ["3", "6"]
    years = write(".csv", "city,1990\nOslo,1\nRome,2\n")
    assert table(years, ["city", "1990"]).columns == ("city", "1990")
    with pytest.raises(ValidationError, match="delimiter"):
        PassageSpec(file="rows.json", delimiter=";")
    for sign in ("", "ab", "a", '"', " "):
        with pytest.raises(ValidationError, match="delimiter"):
            CorpusSpec(file="texts.csv", delimiter=sign)


def test_a_row_of_a_corpus_that_is_split_elsewhere_is_refused(write):
    spec = CorpusSpec(file=write(".csv", "id,text\n1,one\n2,two, three\n"))
    with pytest.raises(ReportError, match="row 1 has more cells"):
        list(corpora.specified(spec))
