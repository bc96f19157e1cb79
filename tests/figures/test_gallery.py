"""The gallery has a page for every figure; its line places the figure, and its columns are those of
the figure's rows."""

import re
import shutil
from types import SimpleNamespace

import pytest

from report.figures.build.find import FIGURES, figure_names
from report.kinds import folders
from report.pages.article import ArticleFigures
from report.pages.gallery import ROOT, entries, places, write_gallery
from report.pages.templates import environment
from tests.figures.live_page import GRIDS, OF, ORDER, PROJECT

BY_NAME = {entry.name: entry for entry in entries([])}


def shown(data, names, context):
    """A page with figures, each placed by its line in the gallery, drawn of data."""
    article = ArticleFigures("hand", PROJECT, data)
    article.announced = names
    for name in names:
        environment().from_string(BY_NAME[name].line).render(context | {"figure": article.figure})
    return SimpleNamespace(article=article, places=places(article, "Made <by> hand"))


@pytest.fixture(scope="module")
def pages(request, conditions, answers):
    """Pages of every kind, on which the lines of the gallery place all figures."""
    named = {"panels": folders.findings(conditions)}
    named["answers"] = {"find": SimpleNamespace(answers=[answers])}
    return [
        shown(conditions if of in named else request.getfixturevalue(of), names, named.get(of, {}))
        for of, names in OF.items()
    ]


def test_no_figure_is_without_an_entry_and_its_line_places_it(pages):
    found = entries(pages)
    placed = [each for page in pages for each in page.article.placed]
    panels = {each.figure.name: len(each.panels) for each in placed}
    assert sorted(entry.name for entry in found) == figure_names()
    assert [entry.name for entry in found if not entry.places] == []
    for entry in found:
        (place,) = entry.places
        assert place.models
        assert place.html.count(f'data-spec="{ROOT}figures/hand/') == panels[entry.name]
        assert not re.search(r'="\.\./\.\./(?!\.\./)', place.html), entry.name


def test_columns_are_those_of_the_rows_and_are_called_as_in_the_chart(pages):
    found = {entry.name: entry.places[0] for entry in entries(pages)}
    for placed in (each for page in pages for each in page.article.placed):
        name, tables = placed.figure.name, found[placed.figure.name].tables
        rows = placed.figure.rows(placed.data, **placed.panels[0].state)
        assert tables.keys() == rows.keys(), name
        for table, records in rows.items():
            assert [column.name for column in tables[table]] == list(
                dict.fromkeys(key for row in records for key in row)
            )
        called = [column.called for columns in tables.values() for column in columns]
        # a reader chooses what axes, colours and sizes of heads_by_two are, so no column is one
        assert any(called) or name == "heads_by_two", name
    (columns,) = found["alignment_vs_magnitude"].tables.values()
    called = {column.name: column.called for column in columns}
    assert called["magnitude"].startswith("update magnitude")


def test_pages_are_written_where_there_is_a_documentation(tmp_path, pages):
    write_gallery([], tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "docs" / "gallery" / "departed").mkdir(parents=True)
    write_gallery([], tmp_path)  # a folder that somebody called docs
    assert [path.name for path in (tmp_path / "docs" / "gallery").iterdir()] == ["departed"]
    (tmp_path / "docs" / "how-to").mkdir()
    (tmp_path / "docs" / "how-to" / "figures.md").touch()
    write_gallery(pages[:1], tmp_path)
    folder = tmp_path / "docs" / "gallery"
    assert sorted(path.name for path in folder.iterdir()) == sorted([*figure_names(), "index.md"])
    live, absent = ((folder / name / "index.md").read_text() for name in (ORDER[0], GRIDS[0]))
    assert '<figure class="live-figure' in live
    assert f'href="{ROOT}articles/hand/#fig-1">Figure 1 of Made &#60;by&#62; hand</a>' in live
    assert "No article of this site has it." in absent
    assert "<figure" not in absent + (folder / "index.md").read_text()
    for text in (live, absent):
        assert '{{ figure("' in text
        assert "\n    from report.figures" in text  # its source


def test_figures_of_ones_own_are_not_those_that_ship(pages, tmp_path, monkeypatch):
    (page, *_), (name, *others) = pages, ORDER
    shutil.copy(FIGURES / f"{name}.py", tmp_path)
    monkeypatch.setattr(page.article, "figures_folder", tmp_path)
    assert [place.figure for place in places(page.article, "Made <by> hand")] == others
