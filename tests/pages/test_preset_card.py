"""The page of models about a model that came in a package: where from, under which licence, how its
numbers are stored, and what was measured."""

import re

from report.models.find import known
from report.pages import lists, render
from report.study.study import read_study
from tests import rendered
from tests.figures import hand_made
from tests.small import write_publication

(NAME, *_) = known.packaged()
PRESET = known.packaged()[NAME]


def card(folder, monkeypatch, *layers, **about):
    """The part of the page of models about a model with these facts in its manifest.

    layers: numbers of layers of which it was measured besides
    """
    rendered.words_only(monkeypatch)
    project = write_publication(folder, cover="attending_to_itself")
    data = hand_made.study(folder / "datasets", "rotary")
    data.manifest["model"] |= {"name": NAME} | about
    study = read_study(project / "templates" / "articles" / "small.md.j2")
    page = render.render_article(study, data, project / "site_src")
    every = [data]
    for number in layers:
        every.append(hand_made.study(folder / f"datasets-{number}", "rotary"))
        own = {"weights_sha256": f"{number:064}", "layers_measured": number}  # of these layers
        every[-1].manifest["model"] |= {"name": NAME} | own | about
    lists.render_lists([page] * len(every), every, project / "site_src")
    text = (project / "site_src" / "models" / "index.md").read_text("utf-8")
    return text.partition(f"{{: #{about.get('name', NAME).lower()} }}")[2]


def test_the_card_says_source_licence_quantisation_and_what_was_measured(tmp_path, monkeypatch):
    said = card(tmp_path, monkeypatch, source="package", stored_as="Q4_1")
    assert said.strip().startswith(PRESET.made)
    for part in (PRESET.page, PRESET.package, PRESET.licence):
        assert part in said or re.sub(r"([-.])", lambda m: f"&#{ord(m[1])};", part) in said
    assert "*quantised* (Q4&#95;1)" in said
    assert "| Measured for | [Small](../articles/small/index.md) |" in said
    assert "Weights, SHA-256" in said


def test_a_label_hides_neither_where_it_is_from_nor_its_name(tmp_path, monkeypatch):
    said = card(tmp_path, monkeypatch, source="package", name="Small", own_name=NAME)
    assert PRESET.made in said
    assert NAME in said.replace("&#45;", "-").partition(PRESET.made)[0]


def test_a_model_of_that_name_from_elsewhere_is_not_called_the_preset(tmp_path, monkeypatch):
    said = card(tmp_path, monkeypatch, source="folder")
    assert "A checkpoint from a folder" in said
    assert PRESET.package not in said
    assert "quantised" not in said


def test_where_it_is_from_is_said_once_though_parts_of_it_were_measured_too(tmp_path, monkeypatch):
    said = card(tmp_path, monkeypatch, 1, source="package", stored_as="Q4_1")
    assert said.count(PRESET.made) == 1
    assert said.count("The same file, measured otherwise:") == 1
    assert "| Layers measured | the first 1 of " in said
