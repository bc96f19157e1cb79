"""Front matter: what is allowed is read, what is not is explained with file, line and key."""

import pytest

from report.errors import ReportError
from report.models.find.known import number_of_layers
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


def write(folder, text, name="a.md.j2"):
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_good_article_is_read_and_its_lines_agree(tmp_path):
    study = read_study(write(tmp_path, GOOD))
    assert study.name == "a"
    assert study.front_matter.title == "A: title"
    assert study.front_matter.model == "falcon-8x8"
    assert study.body.split("\n")[7] == GOOD.split("\n")[7] == "First line."
    assert not any(study.body.split("\n")[:7])


def test_the_command_line_replaces_keys(tmp_path):
    write(tmp_path, GOOD)
    (study,) = read_studies(tmp_path, model="other", passage=None)
    assert study.front_matter.model == "other"
    assert study.front_matter.passage == "the-lamp-on-the-hill"


def test_articles_come_newest_first_and_those_of_one_day_by_name(tmp_path):
    for name in ("old", "also-old"):
        write(tmp_path, GOOD, f"{name}.md.j2")
    write(tmp_path, GOOD.replace("2026-01-02", "2026-03-01"), "new.md.j2")
    assert [study.name for study in read_studies(tmp_path)] == ["new", "also-old", "old"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tags:", "tgas:", r"a\.md\.j2, line 6: unknown key 'tgas'; did you mean 'tags'\?"),
        ("tags:", "zzzzz:", r"line 6: unknown key 'zzzzz'; known keys: title, date"),
        ("author: Ann\n", "", r"line 1: the key 'author' is missing"),
        ("2026-01-02", "soon", r"line 3: 'date': .*\(got 'soon'\)"),
        ("tags: [one]", "tags: 3", r"line 6: 'tags': .*\(got 3\)"),
        ('title: "A: title"', "title: A: title", r"line 2: front matter is not YAML"),
        ("---\ntitle", "title", r"must start with front matter"),
        ("title:", "- title:", r"front matter"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path, old, new, said):
    with pytest.raises(ReportError, match=said):
        read_study(write(tmp_path, GOOD.replace(old, new, 1)))


def test_no_article_and_no_text(tmp_path):
    with pytest.raises(ReportError, match="no article"):
        read_studies(tmp_path)
    (tmp_path / "b.md.j2").write_bytes(b"\xff\xfe")
    with pytest.raises(ReportError, match="cannot be read as UTF-8"):
        read_studies(tmp_path)


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("0-3", 4),
        (4, 4),
        ("4", 4),
        ("0-0", 1),
        (1, 1),
        ("0 - 11", 12),
        ("all", "all"),
        (None, None),
    ],
)
def test_layers_are_a_number_a_range_from_0_or_all(said, number):
    assert number_of_layers(said) == number


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("2-3", "must begin at layer 0, since a layer works on what those before it computed; 0-3"),
        (0, "must be at least 1 layer; 1 takes the first"),
        ("1,2", "must be a number of layers such as 4, a range such as 0-3"),
        (-1, "must be a number of layers"),
        ("none", "must be a number of layers"),
        (2.5, "must be a number of layers"),
        ("", "must be a number of layers"),
    ],
)
def test_layers_that_are_none_are_refused_with_file_line_and_reason(tmp_path, said, reason):
    article = GOOD.replace("tags: [one]", f"layers: {said!r}")
    with pytest.raises(ReportError) as refused:
        read_study(write(tmp_path, article))
    assert f"a.md.j2, line 6: 'layers': {reason}" in str(refused.value)
    assert f"(got {said!r})" in str(refused.value)


def test_measuring_is_asked_for_in_front_matter(tmp_path):
    asked = "layers: 0-3\ndtype: bfloat16\ndevice: cuda:1\nalibi_factor: 2\nchat: true"
    found = read_study(write(tmp_path, GOOD.replace("tags: [one]", asked))).front_matter
    assert (found.layers, found.dtype, found.device) == (4, "bfloat16", "cuda:1")
    assert (found.alibi_factor, found.chat, found.trust_remote_code) == (2.0, True, None)
    usual = read_study(write(tmp_path, GOOD)).front_matter
    assert (usual.layers, usual.dtype, usual.device) == (None, "float32", "auto")
    assert (usual.alibi_factor, usual.chat, usual.layer_by_layer) == (1.0, False, None)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("dtype", "float16", "--dtype: Input should be 'float32' or 'bfloat16' (got 'float16')"),
        ("device", "gpu", "--device: must be auto, cpu, cuda, or one GPU such as cuda:1 (got"),
        ("layers", "1-2", "--layers: must begin at layer 0"),
        ("alibi_factor", -1.0, "--alibi-factor: "),
    ],
)
def test_what_the_command_line_got_wrong_is_not_blamed_on_the_article(tmp_path, key, value, said):
    with pytest.raises(ReportError) as refused:
        read_study(write(tmp_path, GOOD), **{key: value})
    assert str(refused.value).startswith(said)


CONDITIONS = """conditions:
  - {name: none, label: without}
  - {name: filler, before: question, text: "/", times: 9}
  - {name: words, before: question, kind: sentence, like: filler}
"""


def test_conditions_make_an_article_a_study_of_them(tmp_path):
    text = GOOD.replace("tags:", 'models: ["a/b or falcon-8x8", c]\ntags:')
    study = read_study(write(tmp_path, text.replace("tags:", CONDITIONS + "tags:")))
    front = study.front_matter
    assert front.kind == "conditions"
    assert front.all_models == ["a/b or falcon-8x8", "c"]
    assert [each.name for each in front.conditions] == ["none", "filler", "words"]
    assert (front.conditions[1].before, front.conditions[1].times) == ("question", 9)
    assert (front.conditions[2].kind, front.conditions[2].like) == ("sentence", "filler")
    assert front.prompts == "arithmetic"
    plain = read_study(write(tmp_path, GOOD)).front_matter
    assert (plain.kind, plain.all_models) == ("passage", ["falcon-8x8"])


def test_the_command_line_says_models_of_studies_and_a_model_of_others(tmp_path):
    write(tmp_path, GOOD.replace("tags:", CONDITIONS + "tags:"), "study.md.j2")
    write(tmp_path, GOOD)
    given = {"model": "m", "models": ["n", "o"], "passage": "p", "chat": True}
    found = {study.name: study.front_matter for study in read_studies(tmp_path, **given)}
    assert found["study"].all_models == ["n", "o"]
    assert (found["study"].chat, found["study"].passage) == (False, "the-lamp-on-the-hill")
    assert found["a"].all_models == ["m"]
    assert (found["a"].chat, found["a"].passage) == (True, "p")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "  - {name: x, before: intro}",
            "line 10: 'before' of a condition: Input should be 'system' or 'question' (got 'in",
        ),
        (
            "  - {name: x, before: question, remove: system}",
            "line 10: a condition: says `before` and `remove`; a condition changes one segment",
        ),
        (
            "  - {name: x, before: question, replace: system, remove: system}",
            "says `before` and `replace` and `remove`; a condition changes one segment",
        ),
        (
            "  - {name: filler, before: question}",
            "line 6: 'conditions': two conditions are called 'filler'; give each its own name.",
        ),
        (
            "  - {name: x, before: question, like: fill}",
            "condition 'x' is like 'fill', which is no condition with a new segment of its own "
            "length; there are: filler.",
        ),
        ("  - {name: x, before: question, like: none}", "condition 'x' is like 'none', which is"),
        ("  - {name: x, before: question, like: words}", "condition 'x' is like 'words', which is"),
        ("  - {name: x, before: question, like: x}", "condition 'x' is like 'x', which is no"),
        (
            "  - {name: x, times: 5}",
            "line 10: a condition: says `times` of a segment that it does not have; say `before`",
        ),
        ("  - {name: x, remove: system, text: a}", "says `text` of a segment that it does not"),
        (
            "  - {name: x, before: question, times: 5, like: filler}",
            "says `times` and `like`; say only one, the length of the segment",
        ),
        (
            "  - {name: x, before: question, kind: text}",
            "kind 'text' takes a `text`, which is used as it is, and no size",
        ),
        (
            "  - {name: x, before: question, kind: text, text: a, times: 3}",
            "kind 'text' takes a `text`, which is used as it is, and no size",
        ),
        (
            "  - {name: x, before: question, kind: sentence}",
            "kind 'sentence' is generated: say its length with `like` or `tokens`, and neither",
        ),
        (
            "  - {name: x, before: question, kind: random tokens, tokens: 9, text: a}",
            "kind 'random tokens' is generated: say its length with `like` or `tokens`",
        ),
        (
            "  - {name: x, before: question, kind: noise}",
            "'kind' of a condition: Input should be 'repeated', 'sentence', 'random tokens' or",
        ),
        (
            "  - {name: x, before: question, times: 0}",
            "'times' of a condition: Input should be greater than or equal to 1 (got 0)",
        ),
        (
            "  - {name: x, before: question, tokens: 9999}",
            "'tokens' of a condition: Input should be less than or equal to 4096 (got 9999)",
        ),
        (
            '  - {name: x, before: question, text: ""}',
            "'text' of a condition: String should have at least 1 character (got '')",
        ),
        ("  - {name: x, seed: -1}", "'seed' of a condition: Input should be greater than or"),
        (
            "  - {name: X y, before: question}",
            "'name' of a condition: must be a small letter, then small letters, digits, - or _",
        ),
        (
            "  - {before: question}",
            "line 10: the key 'name' is missing from the condition; add it.",
        ),
        (
            "  - {name: x, befor: question}",
            "line 10: unknown key 'befor' of a condition; did you mean 'before'?",
        ),
        (
            "  - {name: x, zzzzzz: question}",
            "line 10: unknown key 'zzzzzz' of a condition; known keys: name, label, before,",
        ),
        (
            '  - {name: x, before: question}\nframe: "Q:"',
            "line 11: 'frame': must be a text with {question} in it once, such as 'Question: {que",
        ),
        ("  - x", "line 10: a condition: Input should be a valid dictionary or instance of"),
    ],
)
def test_conditions_that_make_no_sense_are_one_sentence(tmp_path, line, said):
    text = GOOD.replace("tags:", f"{CONDITIONS}{line}\ntags:")
    with pytest.raises(ReportError) as refused:
        read_study(write(tmp_path, text))
    assert str(refused.value).startswith(f"{tmp_path / 'a.md.j2'}, line ")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_line_of_a_key_is_found_in_conditions_written_over_several_lines(tmp_path):
    wrong = "  - name: x\n    before: question\n    times: many\n"
    text = GOOD.replace("tags:", f"{CONDITIONS}{wrong}tags:")
    with pytest.raises(ReportError, match=r"line 12: 'times' of a condition: .*\(got 'many'\)"):
        read_study(write(tmp_path, text))
