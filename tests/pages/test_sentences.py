"""The sentences of a figure, one for every state that a reader can choose."""

import json

from report.figures.build.find import figure_named
from report.pages import placed
from report.pages import render as pages
from report.pages.placed import PlacedFigure
from report.study.study import read_study
from tests import rendered
from tests.figures import hand_made

FRONT = "---\ntitle: T\ndate: 2026-01-02\nauthor: A\nsummary: S\ncover: update_magnitude\n---\n"


def at_opening(name, data, figure=None):
    figure = figure or figure_named(name)
    state = {control.param: control.value for control in figure.controls(data)}
    return PlacedFigure(name, 1, figure, state, data, [])


def test_there_is_one_of_every_state_with_its_words(tmp_path):
    data = hand_made.study(tmp_path / "0123456789ab")
    one = at_opening("attention_map", data)
    assert len(one.sentences) == data.layers * data.heads
    said = one.figure.seen(data, layer=2, head=1)
    assert one.sentences["layer=2,head=1"] == ["layer 2, head 1", said]
    assert len({sentence for _, sentence in one.sentences.values()}) > 1


def test_where_models_differ_each_has_its_own_states(tmp_path):
    from report.pages.article import figure_for

    data = hand_made.several(tmp_path)
    one = at_opening("update_magnitude", data, figure_for("update_magnitude", data))
    name = data.names[1]
    said = one.figure.seen(data, model=name, layer=1)
    assert one.sentences[f"model={name},layer=1"][1] == said
    assert len(one.sentences) == sum(model.layers for model in data.models)


def test_too_many_states_have_none(tmp_path, monkeypatch):
    data = hand_made.study(tmp_path / "0123456789ab")
    assert at_opening("update_magnitude", data).sentences
    monkeypatch.setattr(placed, "MOST_SENTENCES", data.layers - 1)
    assert at_opening("update_magnitude", data).sentences == {}


def test_they_are_written_beside_the_figure_and_go_with_it(tmp_path, monkeypatch):
    most = placed.MOST_SENTENCES
    rendered.words_only(monkeypatch)
    monkeypatch.setattr(placed, "MOST_SENTENCES", most)
    data = hand_made.study(tmp_path / "datasets" / "a" / "0123456789ab")
    template, site = tmp_path / "a.md.j2", tmp_path / "site_src"
    name = "update_alignment.seen.json"
    for more in ('{{ figure("update_alignment") }}\n', ""):
        template.write_text(f'{FRONT}{{{{ figure("update_magnitude") }}}}\n\n{more}', "utf-8")
        pages.render_article(read_study(template), data, site)
        text = (site / "articles" / "a" / "index.md").read_text("utf-8")
        assert (f'data-seen="../../figures/a/{name}"' in text) == bool(more)
        assert (site / "figures" / "a" / name).exists() == bool(more)
    written = json.loads((site / "figures" / "a" / "update_magnitude.seen.json").read_text("utf-8"))
    assert list(written) == [f"layer={layer}" for layer in range(data.layers)]
