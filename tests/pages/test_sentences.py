"""The sentences of a figure, one for every state that a reader can choose."""

import json

import pytest

from report.figures.build.find import figure_named
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Figure
from report.kinds.passage.data import PassageData
from report.pages import render as pages
from report.pages import sentences
from report.pages.article import figure_for
from report.pages.placed import PlacedFigure
from report.study.study import read_study
from report.text import split_sentences
from tests import rendered
from tests.figures import hand_made

FRONT = "---\ntitle: T\ndate: 2026-01-02\nauthor: A\nsummary: S\ncover: update_magnitude\n---\n"
NUMBER = ("layer", "head", "rank")


def at_opening(name, data, figure=None):
    figure = figure or figure_named(name)
    state = {control.param: control.value for control in figure.controls(data)}
    return PlacedFigure(name, 1, figure, state, data, [])


def counting(*sizes, name="counted"):
    """A figure whose sliders have so many values each, and which says where they stand."""
    controls = [
        Control(param, param.title(), 0, size - 1, 0)
        for param, size in zip(NUMBER, sizes, strict=False)
    ]
    figure = Figure(
        name=name,
        shows="It counts.",
        chart=None,
        rows=None,
        controls=lambda data: controls,
        seen=lambda data, **state: f"{name} at {state}.",
    )
    return at_opening(name, None, figure)


def test_there_is_one_of_every_state_with_its_words(tmp_path):
    data = hand_made.study(tmp_path / "0123456789ab")
    figure = at_opening("attention_map", data)
    said = sentences.sentence_files([figure])["attention_map.seen.json"]
    assert len(said) == data.layers * data.heads
    first, *others = split_sentences(figure.figure.seen(data, layer=2, head=1))
    assert said["layer=2,head=1"] == ["layer 2, head 1", first, " ".join(others)]
    assert len({first for _, first, _ in said.values()}) > 1


def test_where_models_differ_each_has_its_own_states(tmp_path):
    data = hand_made.several(tmp_path)
    figure = at_opening("update_magnitude", data, figure_for("update_magnitude", data))
    said = sentences.sentence_files([figure])["update_magnitude.seen.json"]
    name = data.names[1]
    assert " ".join(said[f"model={name},layer=1"][1:]) == figure.figure.seen(
        data, model=name, layer=1
    )
    assert len(said) == sum(model.layers for model in data.models)


@pytest.mark.parametrize(
    "sizes,address,files,largest",
    [
        ((30, 9), "counted.seen.json", 1, 270),
        ((32, 32), "counted.seen.{layer}.json", 32, 32),
        ((2, 60, 60), "counted.seen.{layer}.{head}.json", 120, 60),
    ],
)
def test_a_real_model_has_them_too_in_files_of_which_one_is_small(sizes, address, files, largest):
    figure = counting(*sizes)
    assert sentences.address(figure) == address
    written = sentences.sentence_files([figure])
    assert len(written) == files
    assert max(map(len, written.values())) == largest <= sentences.IN_A_FILE
    states = [state for content in written.values() for state in content]
    expected = 1
    for size in sizes:
        expected *= size
    assert len(states) == len(set(states)) == expected
    for name, content in written.items():  # as the page finds it: the address at each state
        for state, (_, said, _) in content.items():
            values = dict(part.split("=") for part in state.split(","))
            assert address.format_map(values) == name
            assert said == f"counted at { {param: int(value) for param, value in values.items()} }."


def test_models_that_differ_share_an_address_of_controls_that_all_have(tmp_path, monkeypatch):
    data = hand_made.several(tmp_path)
    monkeypatch.setattr(sentences, "IN_A_FILE", 1)
    figure = at_opening("attention_map", data, figure_for("attention_map", data))
    assert sentences.address(figure) == "attention_map.seen.{model}.{layer}.{head}.json"
    written = sentences.sentence_files([figure])
    assert {len(content) for content in written.values()} == {1}
    assert len(written) == sum(model.layers * model.heads for model in data.models)


def test_a_switch_of_looks_alone_leaves_nothing_to_say_anew():
    figure = counting(1)
    look = Switch("look", "Look", {"a": "A", "b": "B"}, "a", look=True)
    assert sentences.address(figure) == ""
    figure = counting(2)
    known = figure.figure.controls(None)
    known.append(look)
    assert list(sentences.sentence_files([figure])["counted.seen.json"]) == ["layer=0", "layer=1"]


def test_too_many_states_have_none(monkeypatch):
    monkeypatch.setattr(sentences, "MOST", 12)
    assert sentences.address(counting(4, 3)) == "counted.seen.json"
    assert sentences.address(counting(13)) == ""
    assert sentences.sentence_files([counting(13)]) == {}


def test_a_head_is_read_once_for_all_figures_of_an_article(tmp_path, monkeypatch):
    """A model has more heads than are kept: figures one after the other would read all again."""
    data = hand_made.study(tmp_path / "0123456789ab")
    read = []
    decoded = PassageData._decoded

    def attention(self, layer, head):
        if read[-1:] != [(layer, head)]:
            read.append((layer, head))
        return decoded(self, layer, head)

    monkeypatch.setattr(PassageData, "attention", attention)
    names = ("attention_map", "attention_breakdown", "bias_vs_position")
    placed = [at_opening(name, data) for name in names]
    for figure in placed:
        figure.figure.seen(data)  # what is once for all states
    read.clear()
    monkeypatch.setattr(sentences, "address", lambda figure: f"{figure.name}.seen.json")
    assert len(sentences.sentence_files(placed)) == len(names)
    assert len(read) == len(set(read)) == data.layers * data.heads


def test_they_are_written_beside_the_figure_and_go_with_it(tmp_path, monkeypatch):
    most = sentences.MOST
    rendered.words_only(monkeypatch)
    monkeypatch.setattr(sentences, "MOST", most)
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
    monkeypatch.setattr(sentences, "IN_A_FILE", 1)  # of many states: a file a layer
    pages.render_article(read_study(template), data, site)
    files = {path.name for path in (site / "figures" / "a").glob("*.seen*")}
    assert files == {f"update_magnitude.seen.{layer}.json" for layer in range(data.layers)}
