"""Front matter of anything: read as it is meant, or refused with file and line."""

import csv
import io
import re
from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from report.inputs import records
from report.inputs.passages import read_passage
from report.measuring.run import read
from report.models.find import names
from report.study.front_matter import FrontMatter
from report.study.study import read_study
from report.text import isolated, xml_text
from tests.fuzz.profile import examples
from tests.fuzz.refusals import tried

KEYS = [*FrontMatter.model_fields, "titel", "Title", "passgae", "<<", "? a", "x" * 2000, "é", "1"]

LONG = "x" * 1500

VALUES = [
    *("", "~", "null", "true", "no", "0", "-1", "1e999", ".inf", "-.inf", ".nan", "0x10", "1_000"),
    *("9" * 30, "9" * 5000, "1:30", "2026-01-02", "2026-13-40", "20260102", "86400", "0-3", "3-1"),
    *("2026-01-02T03:04:05Z", "!!timestamp 2026-01-02", "!!binary aGk=", "!!set {a, b}", "!!int x"),
    *("!!python/object/apply:os.system [id]", "!!python/name:os.system", "!!python/tuple [1]"),
    *("!own thing", "!!omap [a: 1]", "&a [*a]", "*a", "&a x", "{<<: *a}", "{<<: {a: 1}}"),
    *("[&b b, *b]", "[a, b]", "[a, a]", "[[]]", "[{}]", "[1, 2]", "['']", "{}", "{a: 1}"),
    *("{a: 1, a: 2}", "[", "{", "]", "@x", "`x`", "%x", "- a", "a: b", "|", ">", "'", '"', "'a"),
    *('"\\x"', "# x", "? x", "\t", "---", '"\\ud800"', '"\\ud83d\\ude00"', '"\\0"', '"\\u2028"'),
    *('"\\U00110000"', '"\\n"', "a\u202eb", LONG, f'"{LONG}"', f"[{LONG}]", f"{LONG}.txt"),
    *(f"{LONG}/{LONG}", "/", "//", ".", "..", "~", "~nobody/x", "../..", "/proc", "/dev/null.txt"),
    *("/dev/zero", "a/b@c", "a/b@", "@", " or ", "a or b", "falcon-8x8", "the-lamp-on-the-hill"),
    *("arithmetic", "cars", "{text: a b}", "{text: ' '}", "{dataset: cars, row: 3}"),
    *("{dataset: cars, row: 1000000}", "{dataset: cars, columns: [Name]}"),
    *("{file: /dev/null.json}", "{file: ../x.csv}", '{file: "\\0.csv"}', "{dataset: movies}"),
    *("{row: 1}", "[{name: a}, {name: b, before: question}]", "[{name: a, like: a}]"),
    *("[{name: a}, {name: a}]", "[{name: a, before: question, times: 100000}]", "[{name: A}]"),
    *("[{name: a, kind: text}]", "[{name: a, before: question, kind: text, text: x}]"),
    *("[{name: a, remove: system, seed: 9}]", "[" * 500 + "]" * 500),
    *("{a: " * 300 + "1" + "}" * 300, "[" * 30_000, "[&b b, *b]", "{", " or ", "---"),
    "{dataset: movies}",
]

GOOD = {"title": "A", "date": "2026-01-02", "author": "Ann", "summary": "What it says."}


A_KEY = st.sampled_from(KEYS) | st.text(max_size=8)
A_VALUE = st.sampled_from(VALUES) | st.text(max_size=20)
"""Made once: each anew takes longer than what is drawn of it."""


@st.composite
def headers(draw):
    """The lines of front matter, mostly with what it needs."""
    lines = [f"{key}: {value}" for key, value in GOOD.items() if draw(st.integers(0, 30))]
    for _ in range(draw(st.integers(1, 3))):
        key, value = draw(A_KEY), draw(A_VALUE)
        lines = [
            line for line in lines if not line.startswith(f"{key}:") or not draw(st.booleans())
        ]
        lines.insert(draw(st.integers(0, len(lines))), f"{key}: {value}")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project") / "templates" / "articles"
    folder.mkdir(parents=True)
    return folder / "a.md.j2"


BOMB = "\n".join(
    f"{'abcdefghij'[n]}: &{'abcdefghij'[n]} [{', '.join(['*' + 'abcdefghij'[n - 1]] * 9)}]"
    if n
    else "a: &a [x, x, x, x, x, x, x, x, x]"
    for n in range(10)
)
MERGES = (
    BOMB.replace("[", "{<<: [")
    .replace("]", "]}")
    .replace(
        "{<<: [x, x, x, x, x, x, x, x, x]}", "{" + ", ".join(f"k{n}: 1" for n in range(9)) + "}"
    )
)
FIELDS = ("title", "source", "x", "y")
WHOLE = "\n".join(f"{key}: {value}" for key, value in GOOD.items())


@pytest.mark.promise("front-matter")
@examples(300)
@given(headers())
@example(BOMB)
@example(MERGES)
@example(f"{WHOLE}\n{BOMB}\nmodels: *j".replace("a: &a", "tags: &a"))
@example(f"{WHOLE}\nmodels: [&a x, *a]")
@example(f"{WHOLE}\nmodel: /")
@example(f"{WHOLE}\nmodel: ~nobody/x")
@example(f"{WHOLE}\nmodel: {LONG}")
@example(f"{WHOLE}\nmodel: {LONG}\nrevisions: [{LONG}]")
@example(f"{WHOLE}\npassage: {LONG}")
@example(f"{WHOLE}\npassage: {{file: {LONG}.csv}}")
@example(f"{WHOLE}\nprompts: {LONG}.md\nconditions: [{{name: a}}]")
@example(f"{WHOLE}\n{LONG}: 1")
@example(f"{WHOLE}\ntable: {LONG}")
@example(f"{WHOLE}\nalibi_factor: .inf")
@example(WHOLE.replace("2026-01-02", "86400"))
@example(WHOLE.replace("2026-01-02", "'86400'"))
@example(WHOLE.replace("Ann", '"\\ud800"'))
@example(f'{WHOLE}\npassage: {{text: "a \\ud800 b"}}')
@example(f"{WHOLE}\nseed: {'9' * 5000}")
def test_front_matter_of_anything(path, header):
    path.write_bytes(f"---\n{header}\n---\n{{{{ 1 }}}}\n".encode("utf-8", "surrogatepass"))
    study, said = tried(read_study, path)
    if said is not None:
        assert said.startswith(str(path))
        assert re.search(r", line \d+: |must start with front matter|UTF-8", said), said
        return
    front = study.front_matter
    for text in (front.title, front.author, front.summary, *front.tags):
        text.encode()
    assert re.search(r"\d{4}-\d\d-\d\d", header), "a day that nobody wrote"
    assert front.date.year >= 1
    assert front.alibi_factor < float("inf")
    _, _ = tried(read, study)
    all_models, said = tried(lambda: front.all_models)
    for name in all_models or []:
        for alternative in names.alternatives(name):
            tried(names.find, alternative, ask=False)


def shown(text):
    """What pages can hold of a text, which turns nothing around it."""
    return isolated(xml_text(text))


@pytest.mark.promise("front-matter")
@examples(60)
@given(
    st.fixed_dictionaries(
        {
            **{key: st.text(min_size=1) for key in ("title", "author", "summary")},
            "date": st.dates(min_value=date(1, 1, 1)),
            "tags": st.lists(st.text(), max_size=3),
            "passage": st.fixed_dictionaries({"text": st.text("abc \n'\":{}é", min_size=1)}),
            "layers": st.integers(1, 10**6) | st.just("all"),
            "alibi_factor": st.floats(0, 1e6, allow_nan=False),
            "chat": st.booleans(),
        }
    )
)
def test_what_is_written_is_what_is_read(path, values):
    text = yaml.safe_dump(values, allow_unicode=False, width=10**6)
    path.write_text(f"---\n{text}---\n", "utf-8")
    front = read_study(path).front_matter
    for key in ("title", "author", "summary"):
        values[key] = shown(values[key])
    values["tags"] = [shown(tag) for tag in values["tags"]]
    for key, value in values.items():
        found = getattr(front, key)
        assert (found.text if key == "passage" else getattr(found, "text", found)) == (
            value["text"] if key == "passage" else value
        )


@pytest.mark.promise("any-unicode")
@examples(150)
@given(st.lists(st.sampled_from(VALUES) | st.text(max_size=30), max_size=4), st.binary(max_size=20))
@example([BOMB], b"")
@example([MERGES], b"")
@example(['"\\ud800"'], b"")
def test_files_of_passages(path, values, tail):
    file = path.with_name("passage.md")
    lines = [f"{key}: {value}" for key, value in zip(FIELDS, values, strict=False)]
    text = "---\n" + "\n".join(lines) + "\n---\nThe lamp.\n"
    file.write_bytes(text.encode("utf-8", "surrogatepass") + tail)
    passage, said = tried(read_passage, file)
    if said is None:
        assert passage.text
        for each in (passage.title, passage.source, passage.text):
            each.encode()


@pytest.mark.promise("any-unicode")
@examples(100)
@given(
    st.sampled_from([".csv", ".tsv", ".json", ".jsonl"]), st.text() | st.binary(), st.integers(0, 3)
)
@example(".json", '[{"a": "\\ud800"}]', 0)
@example(".json", "[" * 100_000, 0)
@example(".json", '[{"a": 1e999}]', 0)
@example(".json", '[{"a": NaN}]', 0)
@example(".json", '[{"a": ' + "9" * 5000 + "}]", 0)
@example(".json", '[{"a": 1, "a": 2}]', 0)
@example(".csv", "a,a\n1,2\n", 0)
@example(".csv", "a,b\n1,2,3\n", 0)
@example(".csv", "a\n" + "x" * 200_000, 0)
@example(".csv", "a\n\0\n", 0)
def test_files_of_rows(path, ending, content, row):
    file = path.with_name(f"rows{ending}")
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    file.write_bytes(content)
    path.write_text(f"---\n{WHOLE}\npassage: {{file: {file}, row: {row}}}\n---\n")
    inputs, said = tried(lambda: read(read_study(path)))
    if said is None:
        text = inputs.passage.text
        assert text.strip()
        text.encode()


def test_files_that_never_end_are_not_read(path):
    assert Path("/dev/zero").exists()
    for name in ("/dev/zero", "/dev/stdin"):
        link = path.with_name("endless.txt")
        link.unlink(missing_ok=True)
        link.symlink_to(name)
        _, said = tried(read_passage, link)
        assert "cannot be read" in said


CELL = st.text(st.sampled_from("ab1 ,;|\t\n\"'ü."), max_size=4)


@examples(200)
@given(
    rows=st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(CELL, min_size=width, max_size=width), min_size=2, max_size=5
        )
    ),
    delimiter=st.sampled_from(sorted(records.DELIMITERS)),
    ending=st.sampled_from([".csv", ".tsv"]),
)
def test_rows_in_any_form_are_read_as_they_were_written_or_refused(rows, delimiter, ending):
    """A header of plain names; a row of one empty cell is a blank line, which no reader sees."""
    names = [f"name {number}" for number in range(len(rows[0]))]
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows([names, *rows])
    try:
        sign, text = records.delimiter_of(out.getvalue(), ending)
        columns, *read = records.cells_of(io.StringIO(text, newline=""), sign)
    except ValueError:
        return
    assert columns == names
    assert read == rows
