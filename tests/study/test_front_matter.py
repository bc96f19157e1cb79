"""What can be wrong in front matter: told with file, line and key, before any model runs."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from report.errors import ReportError
from report.kinds.folders import kind
from report.measuring.run import read
from report.models.find import names
from report.study.front_matter import QUESTIONS, FrontMatter, kind_of_article
from report.study.study import read_study
from tests.study.test_study import CONDITIONS, GOOD, write

WRONG = {
    "a key twice": ("author: Ann", "author: Ann\nauthor: Bob", 5, "the key 'author' comes twice"),
    "a tab": ("tags: [one]", "tags:\n\t- one", 7, "a tab, where YAML wants spaces"),
    "an open bracket": ("tags: [one]", "tags: [one", 6, "front matter is not YAML"),
    "a month too many": ("2026-01-02", "2026-13-02", 3, "(got '2026-13-02')"),
    "a day too many": ("2026-01-02", "2026-02-30", 3, "(got '2026-02-30')"),
    "no date": ("2026-01-02", "", 3, "'date'"),
    "a title that is a list": ('"A: title"', "[a]", 2, "'title'"),
    "an empty author": ("author: Ann", 'author: ""', 4, "'author'"),
    "a case": ("author:", "Author:", 4, "unknown key 'Author'; did you mean 'author'?"),
    "an unknown key": ("tags:", "passgae:", 6, "unknown key 'passgae'; did you mean 'passage'?"),
    "a model of nothing": ("tags: [one]", "models: ['']", 6, "'models'"),
    "two ways to say models": (
        "tags: [one]",
        "model: falcon-8x8\nmodels: [a, b]",
        7,
        "says `model` and `models`",
    ),
    "a model twice": ("tags: [one]", "models: [a, a]", 6, "names one of its `models` twice"),
    "revisions of nothing": ("tags: [one]", "revisions: [a]", 6, "are those of one `model`"),
    "what is not read": ("tags: [one]", "table: cars\npassage: a", 7, "says `passage`, which an"),
    "rows of no table": ("tags: [one]", "rows: 5", 6, "says `rows`, which an article about a pass"),
    "rows of no number": ("tags: [one]", "table: cars\nrows: many", 7, "'rows'"),
    "a table of two models": (
        "tags: [one]",
        "table: cars\nmodels: [a, b]",
        7,
        "front matter says `table` and `models`; name one `model`, and others `beside` it",
    ),
    "a prediction of nothing": ("tags: [one]", "kind: prediction", 6, "takes a list of `prompts`"),
    "prompts and a passage": (
        "tags: [one]",
        "kind: prediction\npassage: the-lamp-on-the-hill\nprompts: [{text: a, target: b}]",
        8,
        "or a `passage` of which every next token is predicted; say one of them",
    ),
    "prompts by name": (
        "tags: [one]",
        "kind: prediction\nprompts: arithmetic",
        7,
        "says `kind: prediction`, which takes a list of `prompts`",
    ),
    "a prompt without an answer": (
        "tags: [one]",
        "kind: prediction\nprompts: [{text: a}]",
        7,
        "the key 'target' is missing from the prompt; add it",
    ),
    "a prompt that says too much": (
        "tags: [one]",
        "kind: prediction\nprompts: [{text: a, target: b, oter: c}]",
        7,
        "unknown key 'oter' of a prompt; did you mean 'other'?",
    ),
    "a list of prompts of no prediction": (
        "tags: [one]",
        "prompts: [{text: a, target: b}]",
        6,
        "says a list of `prompts`, which is for `kind: prediction`",
    ),
    "a prediction of two models": (
        "tags: [one]",
        "kind: prediction\nmodels: [a, b]\nprompts: [{text: a, target: b}]",
        7,
        "says `kind: prediction` and `models`; name one `model`",
    ),
    "a prediction of some layers": (
        "tags: [one]",
        "kind: prediction\nlayers: 3\nprompts: [{text: a, target: b}]",
        7,
        "says `layers`; a prediction needs all of them",
    ),
    "a prediction of a table": (
        "tags: [one]",
        "kind: prediction\ntable: cars",
        7,
        "says `kind: prediction` and `table`; leave `kind` out",
    ),
    "a table of no rows": ("tags: [one]", "kind: table", 6, "says `kind: table` and no `table`"),
    "a kind that there is not": ("tags: [one]", "kind: predicton", 6, "'kind': Input should be"),
    "sentences of a passage": ("tags: [one]", "generated: givers", 6, "says `generated`, which an"),
    "too few sentences": (
        "tags: [one]",
        "kind: prediction\nprompts: [{text: a, target: b}]\ngenerated: {set: givers, number: 3}",
        8,
        "'number' of the generated sentences: Input should be greater than or equal to 20",
    ),
}

PASSAGES = {
    "{txt: a}": "unknown key 'txt' of the passage; did you mean 'text'?",
    "{text: a, row: 3}": "'passage': says `row` of a text",
    "{row: 3}": "says none of them; say one of `text`, `dataset` and `file`",
    "{text: a, file: b.csv}": "says `text` and `file`; say one of",
    "{dataset: cars, row: -1}": "'row' of the passage: Input should be greater than or equal to 0",
    "{dataset: cars, row: two}": "'row' of the passage: Input should be a valid integer",
    "{dataset: cars, column: a, columns: [b]}": "says `column` and `columns`; say one of them",
    "{dataset: cars, columns: a}": "'columns' of the passage: must be a list, such as [one, two]",
    "{dataset: cars, columns: [1]}": "'columns' of the passage: Input should be a valid string",
    "{file: a.txt}": "must end in one of .csv, .tsv, .json, .jsonl",
    '{text: ""}': "'text' of the passage: String should have at least 1 character",
    "3": "'passage': Input should be a valid string",
    "[a]": "'passage': Input should be a valid string",
    '""': "'passage': String should have at least 1 character",
}

UNREADABLE = {
    "passage: no-such": "unknown passage 'no-such'; known: the-lamp-on-the-hill",
    "passage: gone.txt": "passage file gone.txt cannot be read",
    "passage: {file: gone.csv}": "file of rows gone.csv cannot be read",
    "passage: {file: rows.csv, row: 2}": "got row 2 of rows.csv, which has 2; rows count from 0",
    "passage: {file: rows.csv, column: txt}": "has no column 'txt'; it has: text, stars",
    "passage: {file: rows.csv, row: 1, column: text}": "row 1 of rows.csv has nothing in text",
    "passage: {file: bad.jsonl}": "bad.jsonl: is not a JSONL file of rows",
    "passage: {file: list.json}": "has no rows; it must hold rows, each an object",
    "passage: {dataset: no-such}": "data set 'no-such' is unknown; inside it are: ",
    "passage: {dataset: cars, row: 9999}": "got row 9999 of cars, which has 406",
    'passage: {text: " "}': "the passage is empty",
    "table: no-such": "data set 'no-such' is unknown",
    f"prompts: no-such\n{CONDITIONS}": "no-such",
}


def refused(path, **replaced):
    with pytest.raises(ReportError) as error:
        read(read_study(path, **replaced))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_line(tmp_path, name):
    old, new, line, said = WRONG[name]
    found = refused(write(tmp_path, GOOD.replace(old, new, 1)))
    assert found.startswith(f"{tmp_path / 'a.md.j2'}, line {line}: "), found
    assert said in found


@pytest.mark.parametrize("value", PASSAGES)
def test_a_passage_that_makes_no_sense_is_told_with_its_line(tmp_path, value):
    found = refused(write(tmp_path, GOOD.replace("tags: [one]", f"passage: {value}")))
    assert found.startswith(f"{tmp_path / 'a.md.j2'}, line 6: "), found
    assert PASSAGES[value] in found


@pytest.fixture
def files(tmp_path):
    """A publication's article, and files beside its folders."""
    articles = tmp_path / "templates" / "articles"
    articles.mkdir(parents=True)
    (tmp_path / "rows.csv").write_text('text,stars\n"A lamp, lit.",5\n,1\n')
    (tmp_path / "rows.tsv").write_text("text\tstars\nA lamp, lit.\t5\n")
    (tmp_path / "rows.jsonl").write_text('{"text": "A lamp.", "by": {"name": "Ann"}}\n')
    (tmp_path / "bad.jsonl").write_text("{\n")
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "own.txt").write_text("A text of my own.")
    return articles


@pytest.mark.parametrize("lines", UNREADABLE)
def test_what_cannot_be_read_is_told_with_the_line_that_names_it(files, lines):
    found = refused(write(files, GOOD.replace("tags: [one]", lines.rstrip())))
    assert found.startswith(f"{files / 'a.md.j2'}, line 6: "), found
    assert UNREADABLE[lines] in found


def test_what_the_command_line_names_is_blamed_on_it(files):
    found = refused(write(files, GOOD), passage="gone.txt")
    assert found.startswith("--passage: passage file gone.txt cannot be read")


@pytest.mark.parametrize(
    ("value", "text", "title"),
    [
        ("own.txt", "A text of my own.", "own"),
        ('{text: "Its own text."}', "Its own text.", "A text of the author’s"),
        ("|\n  Two lines.\n  Of text.", "Two lines.\nOf text.", "A text of the author’s"),
        ('"Two lines.\\nOf text."', "Two lines.\nOf text.", "A text of the author’s"),
        ("{file: rows.csv, column: text}", "A lamp, lit.", "Row 0 of rows.csv"),
        ("{file: rows.csv}", "text: A lamp, lit.\nstars: 5", "Row 0 of rows.csv"),
        ("{file: rows.tsv, columns: [stars, text]}", "stars: 5\ntext: A lamp, lit.", None),
        ("{file: rows.jsonl, column: by}", '{"name": "Ann"}', None),
        ("{file: rows.jsonl, column: text, title: Mine}", "A lamp.", "Mine"),
        (
            "{dataset: seattle-weather, row: 3, columns: [date, weather]}",
            "date: 2012/01/04\nweather: rain",
            "Row 3 of seattle-weather",
        ),
    ],
)
def test_a_passage_is_a_file_a_text_or_a_row(files, value, text, title):
    study = read_study(write(files, GOOD.replace("tags: [one]", f"passage: {value}")))
    found = read(study).passage
    assert found.text == text
    assert title is None or found.title == title
    named = value == "own.txt"
    words = kind("passage").words(read(study))
    assert words == (["--passage", "path/to/own.txt"] if named else [])


BLOCKS = [f"{style}{chomping}" for style in "|>" for chomping in ("", "-", "+", "2", "2-", "+2")]
"""What a text may stand below in YAML: with or without the last line break, indented by so much."""


@pytest.mark.parametrize("mark", BLOCKS)
@pytest.mark.parametrize("line", ["A lamp, lit.", "the-lamp-on-the-hill", "own.txt", "3"])
def test_one_line_below_a_block_mark_is_a_text_even_if_it_could_be_a_name(files, mark, line):
    study = read_study(write(files, GOOD.replace("tags: [one]", f"passage: {mark}\n  {line}")))
    found = read(study).passage
    assert (found.text, found.title) == (line, "A text of the author’s")
    assert kind("passage").words(read(study)) == []


@pytest.mark.parametrize("mark", BLOCKS)
def test_several_lines_below_a_block_mark_are_a_text_as_yaml_reads_it(files, mark):
    lines = f"passage: {mark}\n  A lamp,\n  lit.\n"
    found = read(read_study(write(files, GOOD.replace("tags: [one]", lines)))).passage
    assert found.text == ("A lamp,\nlit." if mark.startswith("|") else "A lamp, lit.")


@pytest.mark.parametrize("written", ["{}", '"{}"', "'{}'", "\n  {}", "\n  '{}'"])
@pytest.mark.parametrize(
    ("name", "text"), [("the-lamp-on-the-hill", None), ("own.txt", "A text of my own.")]
)
def test_a_plain_or_quoted_passage_is_a_name(files, written, name, text):
    lines = f"passage: {written.format(name)}"
    found = read(read_study(write(files, GOOD.replace("tags: [one]", lines)))).passage
    assert found.name == Path(name).stem
    assert text is None or found.text == text


@pytest.mark.parametrize("mark", BLOCKS)
def test_nothing_below_a_block_mark_is_told_with_its_line(tmp_path, mark):
    found = refused(write(tmp_path, GOOD.replace("tags: [one]", f"passage: {mark}\nmodel: a")))
    assert found.startswith(f"{tmp_path / 'a.md.j2'}, line 6: 'text' of the passage: "), found


def test_a_passage_of_the_command_line_is_a_name_unless_it_has_several_lines(files):
    path = write(files, GOOD.replace("tags: [one]", "passage: |\n  own.txt"))
    assert read(read_study(path, passage="the-lamp-on-the-hill")).passage.title != "own"
    assert read(read_study(path, passage="A lamp,\nlit.")).passage.text == "A lamp,\nlit."
    assert "unknown passage 'A lamp, lit.'" in refused(path, passage="A lamp, lit.")


def test_revisions_are_folders_of_a_model_or_named_on_the_hub(files, tmp_path):
    for step in (1, 20):
        (tmp_path / "runs" / f"step-{step}").mkdir(parents=True)
        (tmp_path / "runs" / f"step-{step}" / "config.json").write_text("{}")
    text = GOOD.replace("tags: [one]", "model: runs\nrevisions: [step-1, step-20]")
    front = read_study(write(files, text)).front_matter
    found = [names.find(name) for name in front.all_models]
    assert [source.folder for source in found] == [tmp_path / "runs" / f"step-{n}" for n in (1, 20)]
    assert [source.name for source in found] == ["runs@step-1", "runs@step-20"]
    text = text.replace("step-20", "step-2")
    front = read_study(write(files, text)).front_matter
    with pytest.raises(ReportError, match=r"no revision 'step-2'.*it has: step-1, step-20\."):
        names.find(front.all_models[1])
    hub = FrontMatter(
        title="a", date="2026-01-02", author="a", summary="a", model="o/m", revisions=["r1", "r2"]
    )
    assert hub.all_models == ["o/m@r1", "o/m@r2"]
    assert hub.labels == ["r1", "r2"]


def test_several_models_stand_before_the_revisions_of_one(files):
    text = GOOD.replace("tags: [one]", "models: [a, b]\nmodel: o/m\nrevisions: [r1, r2]")
    front = read_study(write(files, text)).front_matter
    assert front.all_models == ["a", "b", "o/m@r1", "o/m@r2"]
    assert front.labels == [None, None, "r1", "r2"]


def test_models_on_the_command_line_stand_instead_of_revisions(files):
    text = GOOD.replace("tags: [one]", "model: o/m\nrevisions: [r1, r2]")
    front = read_study(write(files, text), models=["a", "b"], model="c").front_matter
    assert front.all_models == ["a", "b"]
    assert read_study(write(files, text), model="c").front_matter.all_models == ["o/m@r1", "o/m@r2"]


@pytest.mark.parametrize(
    ("keys", "text", "place", "said"),
    [
        (
            "measures: [wrod]",
            "",
            "a.md.j2, line 6",
            "no measure 'wrod'; did you mean 'word'?",
        ),
        ("measures: [entropy]", "", "a.md.j2, line 6", "it has: word. Those that ship are always"),
        ("measures: [/word]", "", "a.md.j2, line 6", "no measure 'word'"),
        ("measures: [word]", "def rows(a): pass", "", "no docstring"),
        ("passage: the-lamp-on-the-hill", '"""W."""\nrows = 1 / 0', "", "word.py, line 2"),
        ("sweep: true", '"""W."""\nAXES = "x"\ndef rows(a): pass', "", "did you mean `AXIS`"),
    ],
)
def test_a_measure_is_blamed_for_itself_and_its_key_for_a_name(tmp_path, keys, text, place, said):
    articles = tmp_path / "templates" / "articles"
    articles.mkdir(parents=True)
    (tmp_path / "measures").mkdir()
    own = tmp_path / "measures" / "word.py"
    own.write_text(text or '"""What."""\ndef rows(attention): return attention.given')
    message = refused(write(articles, GOOD.replace("tags: [one]", keys)))
    assert message.startswith(str(articles / place) if place else str(own))
    assert said in message


def test_an_added_kind_that_front_matter_states_is_the_kind(monkeypatch):
    """Without a key of its own name; a key that makes another kind does not hide it."""
    monkeypatch.setitem(QUESTIONS, "turned", replace(QUESTIONS["prediction"], called="a turn"))
    assert kind_of_article({"kind": "turned"}) == "turned"
    assert kind_of_article({"kind": "turned", "table": "seattle-weather"}) == "turned"
    assert kind_of_article({"kind": ["turned"], "sweep": True}) == "sweep"


def test_every_message_names_no_more_than_one_line(files):
    found = refused(write(files, GOOD.replace("tags:", "tgas:")))
    assert len(re.findall(r"line \d+", found)) == 1
