"""Front matter: what is allowed is read, what is not is explained with file, line and key."""

import pytest

from report.errors import ReportError
from report.study import read_studies, read_study

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
