"""What front matter may not do by itself, because it may be somebody else's."""

import pytest

from report.errors import ReportError
from report.measuring.run import read, say_read
from report.study.options import Options
from report.study.study import read_study

pytestmark = pytest.mark.promise("outside-files")

ARTICLE = """---
title: Small
date: 2026-01-02
author: Ann
summary: What it says.
{line}
---
"""

FILES = {
    "passage: {}": "diary.txt",
    "passage: {{file: {}, row: 0}}": "cities.csv",
    "passage: {{file: {}, row: 1}}": "cities.json",
    "table: {}": "cities.tsv",
    "conditions: [{{name: a}}, {{name: b, remove: system}}]\nprompts: {}": "asked.md",
}


@pytest.fixture
def write(tmp_path):
    """A function that writes an article with one more line, and returns its path."""
    folder = tmp_path / "project" / "templates" / "articles"
    folder.mkdir(parents=True)
    path = folder / "small.md.j2"

    def write(line):
        path.write_text(ARTICLE.format(line=line))
        return path

    return write


@pytest.mark.parametrize(("line", "name"), FILES.items())
def test_a_file_outside_the_project_is_published_only_after_the_command_line_named_it(
    write, tmp_path, line, name
):
    file = tmp_path / "home" / name
    file.parent.mkdir()
    file.write_text("private")
    article = write(line.format(file))
    said = rf"small\.md\.j2, line \d: the file {file} lies outside the project, .*--allow-file"
    with pytest.raises(ReportError, match=said):
        read_study(article)
    for allowed in (file, file.parent):
        assert read_study(article, allow_file=[str(allowed)]).front_matter
    with pytest.raises(ReportError, match=said):
        read_study(article, allow_file=[f"{file}.txt"])


@pytest.mark.parametrize(("line", "name"), FILES.items())
def test_no_link_or_dots_lead_out_of_the_project(write, tmp_path, line, name, monkeypatch):
    (tmp_path / name).write_text("private")
    (tmp_path / "project" / name).symlink_to(tmp_path / name)
    monkeypatch.chdir(tmp_path / "project")
    for way in (name, f"../{name}", tmp_path / "project" / name):
        with pytest.raises(ReportError, match=f"{tmp_path / name} lies outside the project"):
            read_study(write(line.format(way)))


def test_a_passage_that_the_command_line_names_is_read(write, tmp_path):
    (tmp_path / "own.txt").write_text("My own text.")
    article = write(f"passage: {tmp_path / 'own.txt'}")
    study = read_study(article, passage=str(tmp_path / "own.txt"))
    assert read(study).passage.text == "My own text."


def test_files_of_the_project_are_read_by_any_of_their_names(write, tmp_path, monkeypatch):
    (tmp_path / "project" / "own.txt").write_text("My own text.")
    monkeypatch.chdir(tmp_path)
    for way in ("own.txt", "project/own.txt", tmp_path / "project" / "own.txt"):
        assert read(read_study(write(f"passage: {way}"))).passage.text == "My own text."


@pytest.mark.promise("local-corpora")
def test_front_matter_cannot_allow_anything(write):
    for key in ("allow_local", "allow_file"):
        with pytest.raises(ReportError, match=f"unknown key '{key}'"):
            read_study(write(f"{key}: true"))
        with pytest.raises(ReportError, match=f"unknown key '{key}' of the corpus"):
            read_study(write(f"corpus: {{file: a.txt, {key}: true}}"))


@pytest.mark.promise("corpus-host")
def test_where_a_corpus_is_fetched_from_is_said(write):
    said = []
    for line in ("corpus: https://host.example/t.txt", "corpus: t.txt", "table: cars"):
        study = read_study(write(line))
        say_read(study, read(study), said.append)
    assert said == ["small: its corpus is fetched from https://host.example/t.txt"]


@pytest.mark.promise("local-corpora")
def test_only_the_command_line_lets_a_corpus_be_local(write):
    article = write("corpus: http://127.0.0.1/t.txt")
    assert not read(read_study(article)).corpus.allow_local
    said = Options(allow_local=True, allow_file=["a.txt"]).given
    assert said == {"allow_local": True, "allow_file": ["a.txt"]}
    assert read(read_study(article, **said)).corpus.allow_local
    assert Options().given == {}
