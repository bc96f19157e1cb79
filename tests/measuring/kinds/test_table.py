"""Articles about a table, from front matter to a verified folder, on a tiny model."""

import json
import re
import shutil

import numpy as np
import pytest

from report import files
from report.datasets import store
from report.datasets.read.study import open_study
from report.errors import ReportError
from report.kinds.table.data import verify as verify_table
from report.measuring import run
from report.models.load import identity
from report.pages.policy import NAME, policy
from report.pages.templates import environment
from report.project import project as project_in
from report.study.study import read_study
from tests.site.small_site import checked
from tests.small import write_publication
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

ARTICLE = """---
title: Small
date: 2026-01-02
author: Ann
summary: What it says.
table: {table}
columns: [{columns}]
rows: {rows}
cover: table_attention_map
---
{{{{ figure("table_attention_map") }}}}
"""


@pytest.fixture
def project(tmp_path):
    return project_in(write_publication(tmp_path / "project"))


@pytest.fixture
def measured(project, falcon_folder):
    """A function that measures an article about a table: (folder, whether the model was run)."""

    def measured(table="seattle-weather", columns="temp_max, weather", rows=4, **keys):
        article = project.articles / "small.md.j2"
        article.write_text(ARTICLE.format(table=table, columns=columns, rows=rows))
        study = read_study(article, **{"model": str(falcon_folder)} | keys)
        [found] = run.datasets(study, project, lambda *steps: None)
        return found.folder, found.ran

    return measured


def test_tokens_over_the_edge_of_a_cell_count_for_none_and_are_said_before_measuring(
    measured, tmp_path, capsys
):
    tokenizer = byte_level_tokenizer()
    tokenizer.add_tokens([",drizzle"])
    random_falcon(vocab_size=len(tokenizer)).save_pretrained(tmp_path / "merging")
    tokenizer.save_pretrained(tmp_path / "merging")
    folder, _ = measured(model=str(tmp_path / "merging"))
    said = capsys.readouterr().out
    assert said.index("CSV, 1 token (such as “,drizzle”)") < said.index("forward passes")
    data = open_study([folder])
    verify_table(data)
    [token] = data.first.crossings
    edge = data.first.tokens[token]
    assert (edge.text, edge.role, edge.row, edge.column) == (",drizzle", "edge", -1, -1)
    assert data.first.left_out
    assert not any(text.crossings for name, text in data.renderings.items() if name != "csv")


def test_a_table_is_measured_once_and_says_where_it_is_from(measured):
    folder, ran = measured()
    assert ran
    assert measured() == (folder, False)
    data = open_study([folder])
    verify_table(data)
    manifest = data.manifest
    assert (manifest["kind"], data.kind) == ("table", "table")
    about = manifest["table"]
    assert (about["name"], about["rows"]) == ("seattle-weather", 4)
    assert about["columns"] == ["temp_max", "weather"]
    assert about["tokens"] == {name: len(t.tokens) for name, t in data.renderings.items()}
    assert manifest["passage"]["tokens"] == about["tokens"]["csv"] == data.length
    assert manifest["command"].startswith("python -m report measure --study small --model path/to/")
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*.json")}
    assert set(manifest["files"]) == written - {"manifest.json"}
    assert len(written) == 4 + 2 * data.layers * data.heads  # a head and its keys
    whole = "".join(t.text for t in data.tokens if not t.special)
    assert whole.split("\n")[:2] == ["temp_max,weather", "12.8,drizzle"]


def test_a_file_of_ones_own_is_a_table_like_a_data_set(measured, project):
    (project.root / "cities.csv").write_text("city,people\nOslo,717710\nRome,2.75e6\n")
    folder, ran = measured(table="cities.csv", columns="people, city", rows=2)
    assert ran
    data = open_study([folder])
    verify_table(data)
    assert data.manifest["table"]["name"] == "cities.csv"
    assert data.passage["source"] == "cities.csv"
    whole = "".join(t.text for t in data.tokens if not t.special)
    assert whole == "people,city\n717710,Oslo\n2.75e6,Rome"


def test_a_built_site_with_a_table_is_checked_as_a_whole(measured, tmp_path):
    folder, _ = measured()
    site = tmp_path / "site"
    copy = shutil.copytree(folder, site / "datasets" / "small" / folder.name)
    head = f'<meta charset="utf-8"><meta http-equiv="{NAME}" content="{policy()}">'
    (site / "index.html").write_text(f"<!doctype html>{head}<title>Home</title>")
    counts = checked(site)
    assert counts["datasets"] == len(list(folder.rglob("*.json"))) - 1
    path = copy / "renderings.json"
    content = json.loads(path.read_text("utf-8"))
    content["renderings"][0]["tokens"][9]["id"] += 1
    store.write(path, content)
    manifest = json.loads((copy / "manifest.json").read_text("utf-8"))
    manifest["files"]["renderings.json"]["sha256"] = files.sha256(path)
    store.write(copy / "manifest.json", store.sealed(manifest))
    said = f"datasets/small/{folder.name}: rendering 'csv' has other tokens"
    with pytest.raises(ReportError, match=re.escape(said)):
        checked(site)


def test_shares_do_not_depend_on_what_else_is_measured(measured):
    first = open_study([measured(rows=3)[0]])
    shares = {t: first.shares(t, "csv") for t in first.targets}
    probability = first.attention(1, 2).probability
    for number, target in enumerate(first.targets):
        member = first.classes[first.current] == number
        found = (probability[first.current] * member).sum(1).mean()
        np.testing.assert_allclose(shares[target][1, 2], found, atol=1e-3)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"table": "wether"}, "data set 'wether' is unknown; inside it are: airports"),
        ({"table": "movies"}, "data set 'movies' is not inside vega_datasets and would have to be"),
        (
            {"columns": "rain"},
            "data set 'seattle-weather' has no column 'rain'; it has: date, prec",
        ),
        (
            {"rows": 1462},
            "got 1462 rows; of data set 'seattle-weather', 2 to 1461 rows can be read",
        ),
        ({"rows": 30}, "written as JSON, the table has "),
        ({"rows": 1}, "small.md.j2, line 8: 'rows': "),
    ],
)
def test_what_is_wrong_is_one_sentence_that_says_what_is_allowed(
    measured, project, asked, said, monkeypatch
):
    monkeypatch.setattr(identity, "context", lambda model: 512)
    with pytest.raises(ReportError, match=re.escape(said)) as caught:
        measured(**asked)
    if asked.get("rows") == 30:
        assert str(caught.value).endswith(
            "tokens, the model takes at most 512; ask for fewer rows or columns"
        )
    assert "\n" not in str(caught.value)
    assert not list((project.site_src / "datasets" / "small").glob("*/manifest.json"))


def test_how_rows_were_told_apart_is_on_the_page(measured, project):
    (project.root / "cities.csv").write_text("city;people\nOslo;717710\nRome;2748109\n")
    data = open_study([measured("cities.csv", "city, people", 2)[0]])
    assert data.manifest["table"]["form"] == "cells between semicolons"
    page = environment().get_template("kinds/table/page.md.j2")
    about = page.new_context({"data": data, "model": data.manifest["model"]})
    assert "cells between semicolons" in "".join(page.blocks["measured"](about))
