"""Front matter: what is allowed is read, what is not is explained with file, line and key."""

import pytest

from report.errors import ReportError
from report.study import number_of_layers, read_studies, read_study

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


def test_articles_come_newest_first(tmp_path):
    write(tmp_path, GOOD, "old.md.j2")
    write(tmp_path, GOOD.replace("2026-01-02", "2026-03-01"), "new.md.j2")
    assert [study.name for study in read_studies(tmp_path)] == ["new", "old"]


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
        (0, "must begin at layer 0"),
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
