"""Front matter: what is allowed is read, what is not is told with file, line and key, before any
model runs."""

from dataclasses import replace

import pytest

from report.errors import ReportError
from report.kinds.folders import kind
from report.measuring.run import read
from report.models.find import known, names
from report.models.find.known import number_of_layers
from report.study.front_matter import QUESTIONS, kind_of_article
from report.study.study import read_studies, read_study

GOOD = """---
title: "A: title"
date: 2026-01-02
author: Ann
summary: What it says.
tags: [one]
---
First line.
"""
CONDITIONS = """conditions:
  - {name: none, label: without}
  - {name: filler, before: question, text: "/", times: 9}
  - {name: words, before: question, kind: sentence, like: filler}
"""
PROMPT = "prompts: [{text: a, target: b}]"
(PACKAGED, *_) = known.packaged()


def write(folder, lines="", name="a.md.j2", changes=()):
    """An article with these lines in place of its tags, and other changes (old, new)."""
    text = GOOD.replace("tags: [one]", lines.rstrip() or "tags: [one]")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / name).write_text(text, "utf-8")
    return folder / name


@pytest.fixture
def files(tmp_path):
    """The folder of articles of a publication, and files beside it."""
    articles = tmp_path / "templates" / "articles"
    articles.mkdir(parents=True)
    for name, text in {
        "rows.csv": 'text,stars\n"A lamp, lit.",5\n,1\n',
        "rows.tsv": "text\tstars\nA lamp, lit.\t5\n",
        "rows.jsonl": '{"text": "A lamp.", "by": {"name": "Ann"}}\n',
        "bad.jsonl": "{\n",
        "own.txt": "A text of my own.",
    }.items():
        (tmp_path / name).write_text(text)
    return articles


def refusal(path, **replaced):
    """The one sentence that refuses an article."""
    with pytest.raises(ReportError) as error:
        read(read_study(path, **replaced))
    assert "\n" not in str(error.value)
    return str(error.value)


HEADS = {
    ("author: Ann", "author: Ann\nauthor: Bob"): (5, "the key 'author' comes twice"),
    ("tags: [one]", "tags:\n\t- one"): (7, "a tab, where YAML wants spaces"),
    ("tags: [one]", "tags: [one"): (6, "front matter is not YAML"),
    ("2026-01-02", "2026-02-30"): (3, "(got '2026-02-30')"),
    ("2026-01-02", "soon"): (3, "'date': must be a day such as 2026-01-31 (got 'soon')"),
    ("2026-01-02", ""): (3, "'date'"),
    ('"A: title"', "[a]"): (2, "'title'"),
    ("author: Ann", 'author: ""'): (4, "'author'"),
    ("author: Ann\n", ""): (1, "the key 'author' is missing from the front matter; add it"),
    ("author:", "Author:"): (4, "unknown key 'Author'; did you mean 'author'?"),
    ("tags:", "zzzzz:"): (6, "unknown key 'zzzzz'; known keys: title, date"),
    ("tags: [one]", "tags: 3"): (6, "'tags': must be a list, such as [one, two] (got 3)"),
    ('"A: title"', "A: title"): (2, "front matter is not YAML"),
    ("title:", "- title:"): (3, "front matter is not YAML"),
}
"""Change of the lines that every article has -> line and reason."""

KEYS = {
    "models: ['']": "'models'",
    "model: falcon-8x8\nmodels: [a, b]": "says `model` and `models`",
    "models: [a, a]": "names one of its `models` twice",
    "revisions: [a]": "are those of one `model`",
    "models: [a, b]\nlabel: A": "says `label`, which is what one `model` is called",
    "models: [a, b]\nbeside: [c]": "says `beside` and `models`; say one of them",
    "model: a\nrevisions: [x]\nbeside: [c]": "says `beside` and `revisions`; say one of them",
    f"{CONDITIONS}beside: [c]": "is for articles about a passage or a table",
    "model: a\nbeside: [b, b]": "names one of its `beside` twice",
    "table: cars\npassage: a": "says `passage`, which an",
    "rows: 5": "says `rows`, which an article about a pass",
    "table: cars\nrows: many": "'rows'",
    "table: t\nmodels: [a, b]": "`table` and `models`; name one `model`, and others `beside` it",
    "kind: prediction": "takes a list of `prompts`",
    f"kind: prediction\npassage: the-lamp-on-the-hill\n{PROMPT}": "or a `passage` of which every",
    "kind: prediction\nprompts: arithmetic": "`kind: prediction`, which takes a list of `prompts`",
    "kind: prediction\nprompts: [{text: a}]": "the key 'target' is missing from the prompt; add it",
    "kind: prediction\nprompts: [{text: a, target: b, oter: c}]": "'oter' of a prompt; did you mean"
    " 'other'?",
    PROMPT: "says a list of `prompts`, which is for `kind: prediction`",
    f"kind: prediction\n{PROMPT}\nmodels: [a, b]": "`kind: prediction` and `models`; name one",
    f"kind: prediction\n{PROMPT}\nlayers: 3": "says `layers`; an article about predictions",
    "kind: prediction\ntable: cars": "says `kind: prediction` and `table`; leave `kind` out",
    "kind: table": "says `kind: table` and no `table`",
    "kind: passage\nregions: {by: lines, answer: 2}": "says `answer` of `regions`, which",
    "kind: passage\nregions: lines\nchat: true": "says `chat` and `regions`, which cut a text",
    "kind: atlas\nregions: lines": "says `kind: atlas` and `regions`; leave `kind` out",
    "kind: predicton": "'kind': Input should be",
    "generated: givers": "says `generated`, which an",
    f"kind: prediction\n{PROMPT}\ngenerated: {{set: givers, number: 3}}": "'number' of the "
    "generated sentences: Input should be greater than or equal to 20",
    "layers: 2-3": "'layers': must begin at layer 0, since a layer works on what those before it",
    "layers: 0": "'layers': must be at least 1 layer; 1 takes the first, \"all\" takes all (got 0)",
    **{
        f"layers: {value!r}": "must be a number of layers" for value in ("1,2", -1, "none", 2.5, "")
    },
    "passage: {txt: a}": "unknown key 'txt' of the passage; did you mean 'text'?",
    "passage: {text: a, row: 3}": "'passage': says `row` of a text",
    "passage: {row: 3}": "says none of them; say one of `text`, `dataset` and `file`",
    "passage: {text: a, file: b.csv}": "says `text` and `file`; say one of",
    "passage: {dataset: cars, row: -1}": "'row' of the passage: Input should be greater than or",
    "passage: {dataset: cars, row: two}": "'row' of the passage: Input should be a valid integer",
    "passage: {dataset: cars, column: a, columns: [b]}": "says `column` and `columns`; say one of",
    "passage: {dataset: cars, columns: a}": "'columns' of the passage: must be a list, such as",
    "passage: {file: a.txt}": "must end in one of .csv, .tsv, .json, .jsonl",
    'passage: {text: ""}': "'text' of the passage: String should have at least 1 character",
    "passage: [a]": "'passage': Input should be a valid string",
    'passage: ""': "'passage': String should have at least 1 character",
    "passage: no-such": "unknown passage 'no-such'; known: the-lamp-on-the-hill",
    "passage: gone.txt": "passage file gone.txt cannot be read",
    "passage: {file: gone.csv}": "file of rows gone.csv cannot be read",
    "passage: {file: rows.csv, row: 2}": "got row 2 of rows.csv, which has 2; rows count from 0",
    "passage: {file: rows.csv, column: txt}": "has no column 'txt'; it has: text, stars",
    "passage: {file: rows.csv, row: 1, column: text}": "row 1 of rows.csv has nothing in text",
    "passage: {file: bad.jsonl}": "bad.jsonl: is not a JSONL file of rows",
    "passage: {dataset: no-such}": "data set 'no-such' is unknown; inside it are: ",
    'passage: {text: " "}': "the passage is empty",
    "table: no-such": "data set 'no-such' is unknown",
}
"""Lines of an article -> what is wrong with the last of them."""

ALIKE = "which is no condition with a new segment of its own length; there are: filler."
ADDS = "{name: x, before: question"
SEGMENTS = {
    "{name: x, before: intro}": "'before' of a condition: Input should be 'system' or 'question'",
    f"{ADDS}, remove: system}}": "a condition: says `before` and `remove`; a condition changes one",
    f"{ADDS}, replace: system, remove: system}}": "says `before` and `replace` and `remove`; a",
    "{name: filler, before: question}": "two conditions are called 'filler'; give each its own",
    **{f"{ADDS}, like: {of}}}": f"'x' is like '{of}', {ALIKE}" for of in ("fill", "none", "words")},
    f"{ADDS}, like: x}}": f"'x' is like 'x', {ALIKE}",
    "{name: x, times: 5}": "says `times` of a segment that it does not have; say `before`",
    "{name: x, remove: system, text: a}": "says `text` of a segment that it does not",
    f"{ADDS}, times: 5, like: filler}}": "says `times` and `like`; say only one, the length of the",
    f"{ADDS}, kind: text}}": "kind 'text' takes a `text`, which is used as it is, and no size",
    f"{ADDS}, kind: text, text: a, times: 3}}": "kind 'text' takes a `text`, which is used as it",
    f"{ADDS}, kind: sentence}}": "kind 'sentence' is generated: say its length with `like` or",
    f"{ADDS}, kind: random tokens, tokens: 9, text: a}}": "kind 'random tokens' is generated: say",
    f"{ADDS}, kind: noise}}": "'kind' of a condition: Input should be 'repeated', 'sentence',",
    f"{ADDS}, times: 0}}": "'times' of a condition: Input should be greater than or equal to 1",
    f"{ADDS}, tokens: 9999}}": "'tokens' of a condition: Input should be less than or equal",
    f'{ADDS}, text: ""}}': "'text' of a condition: String should have at least 1 character",
    "{name: x, seed: -1}": "'seed' of a condition: Input should be greater than or",
    "{name: X y, before: question}": "'name' of a condition: must be a small letter, then small",
    "{before: question}": "the key 'name' is missing from the condition; add it.",
    "{name: x, befor: question}": "unknown key 'befor' of a condition; did you mean 'before'?",
    "{name: x, zzzzzz: 1}": "unknown key 'zzzzzz' of a condition; known keys: name, label, before,",
    "x": "a condition: Input should be a valid dictionary or instance of",
    "name: x\n    before: question\n    times: many": "'times' of a condition: Input should be a",
    f'{ADDS}}}\nframe: "Q:"': "'frame': must be a text with {question} in it once, such as",
    f"{ADDS}}}\nprompts: no-such": "no-such",
}
"""A condition after those of `CONDITIONS`, and more -> what is wrong with the last line."""

REFUSALS = [
    *(("", line, reason, [change]) for change, (line, reason) in HEADS.items()),
    *((lines, 0, reason, ()) for lines, reason in KEYS.items()),
    *((f"{CONDITIONS}  - {more}", 0, reason, ()) for more, reason in SEGMENTS.items()),
]


@pytest.mark.parametrize(("lines", "line", "reason", "changes"), REFUSALS)
def test_what_is_wrong_is_told_with_its_line(files, lines, line, reason, changes):
    """That of the last key, unless what is wrong is all conditions."""
    of_all = "two conditions" in reason or ALIKE in reason
    line = 6 if of_all else line or 6 + lines.count("\n")
    sentence = refusal(write(files, lines, changes=changes))
    assert sentence.startswith(f"{files / 'a.md.j2'}, line {line}: "), sentence
    assert reason in sentence
    assert sentence.count(", line ") == 1


OPTIONS = {
    ("dtype", "float16"): "--dtype: Input should be 'float32' or 'bfloat16' (got 'float16')",
    ("device", "gpu"): "--device: must be auto, cpu, cuda, or one GPU such as cuda:1 (got",
    ("layers", "1-2"): "--layers: must begin at layer 0",
    ("alibi_factor", -1.0): "--alibi-factor: ",
    ("passage", "gone.txt"): "--passage: passage file gone.txt cannot be read",
}


@pytest.mark.parametrize(("option", "value"), OPTIONS)
def test_what_the_command_line_got_wrong_is_not_blamed_on_the_article(tmp_path, option, value):
    sentence = refusal(write(tmp_path), **{option: value})
    assert sentence.startswith(OPTIONS[option, value])


def test_no_article_no_text_and_no_front_matter_are_refused(tmp_path):
    with pytest.raises(ReportError, match="no article"):
        read_studies(tmp_path)
    (tmp_path / "b.md.j2").write_bytes(b"\xff\xfe")
    with pytest.raises(ReportError, match="cannot be read as UTF-8"):
        read_studies(tmp_path)
    with pytest.raises(ReportError, match="must start with front matter"):
        read_study(write(tmp_path, changes=[("---\ntitle", "title")]))


def test_a_good_article_is_read_and_its_lines_agree(tmp_path):
    study = read_study(write(tmp_path))
    assert (study.name, study.front_matter.title) == ("a", "A: title")
    assert study.body.split("\n")[7] == GOOD.split("\n")[7] == "First line."
    assert not any(study.body.split("\n")[:7])
    usual = study.front_matter
    assert (usual.kind, usual.all_models) == ("passage", ["falcon-8x8"])
    assert (usual.layers, usual.dtype, usual.device) == (None, "float32", "auto")
    assert (usual.alibi_factor, usual.chat, usual.layer_by_layer) == (1.0, False, None)


def test_measuring_is_asked_for_in_front_matter(tmp_path):
    lines = "layers: 0-3\ndtype: bfloat16\ndevice: cuda:1\nalibi_factor: 2\nchat: true"
    front = read_study(write(tmp_path, lines)).front_matter
    assert (front.layers, front.dtype, front.device) == (4, "bfloat16", "cuda:1")
    assert (front.alibi_factor, front.chat, front.trust_remote_code) == (2.0, True, None)


@pytest.mark.parametrize(
    ("value", "number"),
    [("0-3", 4), (4, 4), ("4", 4), ("0-0", 1), ("0 - 11", 12), ("all", "all"), (None, None)],
)
def test_layers_are_a_number_a_range_from_0_or_all(value, number):
    assert number_of_layers(value) == number


def test_articles_come_newest_first_and_those_of_one_day_by_name(tmp_path):
    for name in ("old", "also-old"):
        write(tmp_path, name=f"{name}.md.j2")
    write(tmp_path, name="new.md.j2", changes=[("2026-01-02", "2026-03-01")])
    assert [study.name for study in read_studies(tmp_path)] == ["new", "also-old", "old"]


def test_conditions_make_an_article_a_study_of_them(tmp_path):
    front = read_study(write(tmp_path, f'models: ["a/b or falcon-8x8", c]\n{CONDITIONS}'))
    front = front.front_matter
    assert front.kind == "conditions"
    assert front.all_models == ["a/b or falcon-8x8", "c"]
    assert [each.name for each in front.conditions] == ["none", "filler", "words"]
    assert (front.conditions[1].before, front.conditions[1].times) == ("question", 9)
    assert (front.conditions[2].kind, front.conditions[2].like) == ("sentence", "filler")
    assert front.prompts == "arithmetic"


def test_the_command_line_says_models_of_studies_and_a_model_of_others(tmp_path):
    write(tmp_path, CONDITIONS, "study.md.j2")
    write(tmp_path)
    options = {"model": "m", "models": ["n", "o"], "passage": "p", "chat": True, "dtype": None}
    front = {study.name: study.front_matter for study in read_studies(tmp_path, **options)}
    assert front["study"].all_models == ["n", "o"]
    assert (front["study"].chat, front["study"].passage) == (False, "the-lamp-on-the-hill")
    assert front["a"].all_models == ["m"]
    assert (front["a"].chat, front["a"].passage) == (True, "p")


REVISIONS = "model: o/m\nrevisions: [r1, r2]"
BESIDE = f"model: {PACKAGED} or falcon-8x8\nbeside: [falcon-8x8]"
SEVERAL = f"models: [{PACKAGED} or qwen2-5x28, {PACKAGED}]"


@pytest.mark.parametrize(
    ("lines", "options", "models", "labels"),
    [
        (BESIDE, {}, [f"{PACKAGED} or falcon-8x8", "falcon-8x8"], [None]),
        (BESIDE, {"model": "mine"}, ["mine"], [None]),
        (BESIDE, {"real": False}, ["falcon-8x8"], [None]),
        (SEVERAL, {"real": False}, ["qwen2-5x28", PACKAGED], [None, None]),
        (REVISIONS, {}, ["o/m@r1", "o/m@r2"], ["r1", "r2"]),
        (
            f"models: [a, b]\n{REVISIONS}",
            {},
            ["a", "b", "o/m@r1", "o/m@r2"],
            [None, None, "r1", "r2"],
        ),
        (REVISIONS, {"models": ["a", "b"], "model": "c"}, ["a", "b"], [None, None]),
        (REVISIONS, {"model": "c"}, ["o/m@r1", "o/m@r2"], ["r1", "r2"]),
    ],
)
def test_models_are_those_of_the_article_or_of_the_command_line(
    tmp_path, lines, options, models, labels
):
    front = read_study(write(tmp_path, lines), **options).front_matter
    assert (front.all_models, front.labels) == (models, labels)


def test_revisions_may_be_folders_of_a_model(files, tmp_path):
    for step in (1, 20):
        (tmp_path / "runs" / f"step-{step}").mkdir(parents=True)
        (tmp_path / "runs" / f"step-{step}" / "config.json").write_text("{}")
    front = read_study(write(files, "model: runs\nrevisions: [step-1, step-20]")).front_matter
    sources = [names.find(name) for name in front.all_models]
    assert [source.folder for source in sources] == [
        tmp_path / "runs" / f"step-{n}" for n in (1, 20)
    ]
    assert [source.name for source in sources] == ["runs@step-1", "runs@step-20"]
    front = read_study(write(files, "model: runs\nrevisions: [step-1, step-2]")).front_matter
    with pytest.raises(ReportError, match=r"no revision 'step-2'.*it has: step-1, step-20\."):
        names.find(front.all_models[1])


LITERAL = "A text of the author’s"
BLOCKS = [f"{style}{chomping}" for style in "|>" for chomping in ("", "-", "2-", "+2")]
"""What a text may stand below in YAML: with or without the last line break, indented by so much."""


@pytest.mark.parametrize(
    ("value", "text", "title"),
    [
        ("own.txt", "A text of my own.", "own"),
        ("'own.txt'", "A text of my own.", "own"),
        ("\n  own.txt", "A text of my own.", "own"),
        ('{text: "Its own text."}', "Its own text.", LITERAL),
        ('"Two lines.\\nOf text."', "Two lines.\nOf text.", LITERAL),
        *((f"{mark}\n  own.txt", "own.txt", LITERAL) for mark in BLOCKS),
        *((f"|{mark[1:]}\n  A lamp,\n  lit.", "A lamp,\nlit.", LITERAL) for mark in BLOCKS[:4]),
        *((f"{mark}\n  A lamp,\n  lit.", "A lamp, lit.", LITERAL) for mark in BLOCKS[4:]),
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
    """Below a block mark stands a text, even one that could be a name."""
    inputs = read(read_study(write(files, f"passage: {value}")))
    assert inputs.passage.text == text
    assert title is None or inputs.passage.title == title
    named = ["--passage", "path/to/own.txt"] if title == "own" else []
    assert kind("passage").words(inputs) == named


@pytest.mark.parametrize("mark", BLOCKS)
def test_nothing_below_a_block_mark_is_told_with_its_line(tmp_path, mark):
    sentence = refusal(write(tmp_path, f"passage: {mark}\nmodel: a"))
    assert sentence.startswith(f"{tmp_path / 'a.md.j2'}, line 6: 'text' of the passage: ")


def test_a_passage_of_the_command_line_is_a_name_unless_it_has_several_lines(files):
    path = write(files, "passage: |\n  own.txt")
    passage = read(read_study(path, passage="the-lamp-on-the-hill")).passage
    assert passage.name == "the-lamp-on-the-hill"
    assert read(read_study(path, passage="A lamp,\nlit.")).passage.text == "A lamp,\nlit."
    assert "unknown passage 'A lamp, lit.'" in refusal(path, passage="A lamp, lit.")


@pytest.mark.parametrize(
    ("lines", "text", "place", "reason"),
    [
        ("measures: [wrod]", "", "a.md.j2, line 6", "no measure 'wrod'; did you mean 'word'?"),
        ("measures: [entropy]", "", "a.md.j2, line 6", "it has: word. Those that ship are always"),
        ("measures: [/word]", "", "a.md.j2, line 6", "no measure 'word'"),
        ("measures: [word]", "def rows(a): pass", "", "no docstring"),
        ("passage: the-lamp-on-the-hill", '"""W."""\nrows = 1 / 0', "", "word.py, line 2"),
        ("sweep: true", '"""W."""\nAXES = "x"\ndef rows(a): pass', "", "did you mean `AXIS`"),
    ],
)
def test_a_measure_is_blamed_for_itself_and_its_key_for_a_name(files, lines, text, place, reason):
    measure = files.parents[1] / "measures" / "word.py"
    measure.parent.mkdir()
    measure.write_text(text or '"""What."""\ndef rows(attention): return attention.given')
    sentence = refusal(write(files, lines))
    assert sentence.startswith(str(files / place) if place else str(measure))
    assert reason in sentence


def test_an_added_kind_that_front_matter_states_is_the_kind(monkeypatch):
    """Without a key of its own name; a key that makes another kind does not hide it."""
    monkeypatch.setitem(QUESTIONS, "turned", replace(QUESTIONS["prediction"], called="a turn"))
    assert kind_of_article({"kind": "turned"}) == "turned"
    assert kind_of_article({"kind": "turned", "table": "seattle-weather"}) == "turned"
    assert kind_of_article({"kind": ["turned"], "sweep": True}) == "sweep"


def test_no_two_kinds_have_one_place():
    """Lists of kinds would have them in another order each time."""
    places = [each.place for each in QUESTIONS.values()]
    assert places == sorted({*places})
