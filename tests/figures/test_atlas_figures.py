"""Heads by two measures, and the field that finds them by what they do."""

import itertools
import json
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from report import files
from report.datasets import store
from report.datasets.read.study import open_study
from report.figures import (
    composition,
    head_examples,
    head_tokens,
    head_writes,
    heads_by_two,
    heads_map,
)
from report.figures.build.find import figure_named
from report.figures.build.per_model import per_model
from report.figures.parts import all_measures
from report.figures.parts.groups import groups, nearest
from report.figures.parts.heads import Head, HeadFindings, head_label
from report.kinds.atlas import beside, release, sentences
from report.kinds.atlas.data import verify
from report.pages.lists import HEADS, render_lists, write_heads
from report.pages.render import render_article
from report.study.study import read_study
from tests import rendered
from tests.commands import ROOT
from tests.figures import hand_atlas, hand_made, live_page
from tests.figures.live_page import OF, go_live, painted, until
from tests.figures.pictures import specification
from tests.figures.tools import set_to
from tests.serving import served
from tests.small import write_publication

NUMBERS = {name: number for number, name in enumerate(OF["atlas"], 1)}
NUMBER = NUMBERS["heads_by_two"]
BOTH = {head_label(*hand_atlas.PREVIOUS), head_label(*hand_atlas.INDUCTION)}
PREVIOUS, INDUCTION = (head_label(*head) for head in (hand_atlas.PREVIOUS, hand_atlas.INDUCTION))

FOUND = {
    "previous > 50 %": [PREVIOUS],
    "previous > 50": [PREVIOUS],
    "Previous > 0.5, entropy < 1": [PREVIOUS],
    "previous > 50 % and induction > 50 %": [],
    "induction >= 0.8": [INDUCTION],
    "induction > 0.8": [],
    "which heads attend to the token before? > 0.5": [PREVIOUS],
    "L1H2": ["L1H2"],
    "1.2": ["L1H2"],
    "head 2 of layer 1": ["L1H2"],
    "layer 1 head 2": ["L1H2"],
    "l1h2, previous < 0.5": [],
    "line ends": ["L0H0", *(f"L{n // 4}H{n % 4}" for n in (11, 10, 9, 8, 7, 6, 5, 4, 2))],
    "least line ends > 0": ["L0H1", "L0H2"],
    "lost > 0.2": [PREVIOUS],
    "to_previous_token > 0.5": [PREVIOUS],
    "successor > 50 %": ["L2H3"],
    "copying > 50 %": [INDUCTION],
    "which heads copy? > 50 %": [INDUCTION],
    "suppression > 50 %": [PREVIOUS],
    "delimiters > 25 %": ["L0H0"],
    "like L9H9": [],
}
"""Text -> the heads that are listed, the first ones where there are many."""


@pytest.fixture(scope="module")
def tab(desk, atlas_address):
    desk.goto(atlas_address)
    go_live(desk, NUMBER)
    return desk


def find(tab, text, number=NUMBER):
    field = tab.locator(f"#fig-{number} input[type=search]")
    field.fill(text)
    painted(tab)
    return tab.locator(f"#fig-{number} .live-figure__find")


def listed(box):
    """The heads of the table, whether one stands above it or several beside its rows."""
    if not box.locator("table").is_visible():
        return []
    cells = box.locator("th").all_text_contents()
    return [cell for cell in cells if cell.startswith("L") and "H" in cell]


@pytest.mark.browser
@pytest.mark.parametrize("text", FOUND)
def test_heads_are_found_by_what_they_do(tab, text):
    found = listed(find(tab, text))
    expected = FOUND[text]
    assert found[: len(expected)] == expected
    assert bool(found) == bool(expected)


@pytest.mark.browser
@pytest.mark.first_visit
def test_heads_of_the_models_that_ship_are_found_and_those_of_the_next(page, tmp_path):
    """In their frozen atlases: what they are known for, beside the control that has none of it."""
    folder = tmp_path / "datasets" / "hand"
    shutil.copytree(ROOT / "frozen" / "the-same-heads-three-times", folder)
    kinds = {at: store.read(at / "manifest.json")["kind"] for at in folder.iterdir()}
    atlases = [at for at, kind in kinds.items() if kind == "atlas"]
    data = open_study(sorted(atlases, key=lambda at: open_study([at]).name))
    live_page.write(tmp_path, data, ["heads_by_two"])
    with served(tmp_path) as root:
        page.goto(f"{root}articles/hand/")
        go_live(page, 1)
        assert listed(find(page, "previous > 50 %", 1)) == ["L3H0"]
        box = find(page, "induction", 1)
        assert listed(box)[0] == "L5H5"
        assert box.locator("td").all_text_contents()[0] == "92.2 % ± 0.7 % 0.7 %, rank 1"
        page.locator("#fig-1 label", has_text="gemma3-6x8").first.click()
        go_live(page, 1)
        painted(page)
        assert listed(find(page, "previous > 50 %", 1)) == ["L0H1", "L1H1"]


def test_over_several_models_the_field_knows_what_all_of_them_have(tmp_path):
    first = hand_atlas.study(tmp_path / "one")
    second = hand_atlas.study(tmp_path / "two", without=("lost",))
    both, figure = open_study([first.path, second.path]), figure_named("heads_by_two")
    names = [each["name"] for each in per_model(figure).finds(both)]
    assert {each["name"] for each in figure.finds(first)} - {*names} == {"lost"}


@pytest.mark.browser
def test_what_is_found_stands_beside_its_control(tab):
    box = find(tab, "induction > 0.5")
    (row,) = [r for r in box.locator("tr").all() if "Induction on random" in r.text_content()]
    numbers = ["80.0 % ± 1.0 %", "2.0 % nothing repeated", "1"]
    assert row.locator("td").all_text_contents() == numbers
    control = row.locator("td").nth(1)
    assert control.get_attribute("title").endswith(beside.CONTROLS["induction"])
    head = find(tab, "induction").locator("tr").first.locator("th").all_text_contents()
    assert head[1].endswith("below: nothing repeated, rank")


PADDING = 6
"""Pixels beside a number that may be covered: half of its cell's."""


@pytest.mark.browser
def test_the_names_of_a_table_that_is_scrolled_cover_no_part_of_a_number(tab):
    box = find(tab, "entropy, induction, previous, distance")
    sideways = box.locator(".live-figure__found")
    sideways.evaluate("each => { each.style.width = '300px'; }")
    stops = set()
    for wanted in (0, 60, 130, 9999):
        tab.wait_for_timeout(100)  # until its new size is known
        sideways.evaluate("(each, at) => { each.scrollLeft = at; }", wanted)
        stops.add(sideways.evaluate("each => each.scrollLeft"))
        name, *others = [
            cell.bounding_box() for cell in box.locator("tr").nth(1).locator("> *").all()
        ]
        edge = name["x"] + name["width"]
        for cell in others:
            assert cell["x"] > edge - PADDING or cell["x"] + cell["width"] < edge + PADDING
    assert len(stops) > 2
    sideways.evaluate("each => { each.style.width = ''; }")


@pytest.mark.browser
def test_all_numbers_of_two_heads_stand_beside_each_other(tab, atlas):
    box = find(tab, f"{PREVIOUS}, {INDUCTION}")
    assert listed(box) == [PREVIOUS, INDUCTION]
    assert box.locator("tr").count() == 1 + len(atlas.words)
    (row,) = [r for r in box.locator("tr").all() if "Lost without" in r.text_content()]
    assert row.locator("td").all_text_contents() == [
        *("0.250 ± 0.010", "0.092 ± 0.010"),
        *("−0.020 rest of the layer", "0.091 rest of the layer"),
        *("1", "4"),
    ]


@pytest.mark.browser
def test_heads_like_another_are_those_whose_places_are_nearest(tab, atlas):
    for layer, head in ((0, 0), hand_atlas.PREVIOUS, hand_atlas.INDUCTION):
        box = find(tab, f"like {head_label(layer, head)}")
        near = nearest(atlas, layer, head)
        assert listed(box) == [each.label for each in near]
        cells = [row.locator("td").first for row in box.locator("tr").all()[1:]]
        apart = [float(cell.text_content()) for cell in cells]
        heads = atlas.layers * atlas.heads
        assert apart == pytest.approx([each.value * heads for each in near], abs=0.051)
    only = find(tab, f"nearest to {PREVIOUS}, layer 2")
    assert all(name.startswith("L2") for name in listed(only))
    assert len(listed(only)) == atlas.heads


def test_nearest_heads_are_those_of_a_plain_loop(atlas):
    tables = [HeadFindings(atlas).values(name).ravel().tolist() for name in atlas.words]
    tables = [each for each in tables if not np.isnan(each).any() and len(set(each)) > 1]
    heads = range(atlas.layers * atlas.heads)

    def place(values, here):
        lower = sum(each < values[here] for each in values)
        return lower + (sum(each == values[here] for each in values) + 1) / 2

    def far(here, other):
        return sum(abs(place(t, other) - place(t, here)) for t in tables) / len(tables) / len(heads)

    for here in heads:
        apart = {other: far(here, other) for other in heads if other != here}
        found = nearest(atlas, *divmod(here, atlas.heads), number=len(heads))
        assert len(found) == len(heads) - 1
        values = [apart[each.layer * atlas.heads + each.head] for each in found]
        assert [each.value for each in found] == pytest.approx(values, abs=1e-8)
        assert values == pytest.approx(sorted(values), abs=1e-8)


def test_what_a_head_does_is_told_by_its_highest_places_and_their_controls(atlas):
    of = HeadFindings(atlas)
    for layer, head in np.ndindex(atlas.layers, atlas.heads):
        places = {
            name: 1 + sum(v > of.values(name)[layer, head] for v in of.values(name).ravel())
            for name in atlas.words
            if name not in ("lost", "direct") and not np.isnan(of.values(name)[layer, head])
        }
        does, matters = sentences.by_head(atlas)[layer][head].split("\n")
        told = re.findall(r"(\d+)(?:st|nd|rd|th) in “(.*?)” \((.*?); (as high |higher )?", does)
        assert [int(place) for place, *_ in told] == sorted(places.values())[:3]
        titles = {words.title: name for name, words in atlas.words.items()}
        for place, title, value, high in told:
            name = titles[title]
            assert places[name] == int(place)
            now, control = (of.value(name, Head(layer, head, 0), s) for s in ("corpus", "control"))
            assert value == atlas.words[name].as_text(now).replace("-", "−")
            errors = [of.error(name, source)[layer, head] for source in ("corpus", "control")]
            least = 2 * np.hypot(*errors)
            words = {now - control <= least: "as high ", control - now > least: "higher "}
            assert high == words.get(True, "")
            assert (f"“{title}”" in does.partition(").")[2]) == bool(high)
        lost, others = (of.value("lost", Head(layer, head, 0), s) for s in ("corpus", "control"))
        text = f"Lost without the head: {lost:+.3f} ± 0.010 nats a token; for the other heads of "
        assert matters.startswith(f"{text}its layer, {others:+.3f}.".replace("-", "−"))
        assert "Direct effect on the next token: " in matters


def test_a_label_whose_control_is_as_high_does_not_hold(atlas, monkeypatch):
    layer, head = hand_atlas.INDUCTION
    said = "no lower where nothing is repeated, so not due to the repetition, and the label"
    assert said not in sentences.by_head(atlas)[layer][head]
    monkeypatch.setattr(sentences, "ERRORS", 100)
    assert said in sentences.by_head(atlas)[layer][head]


@pytest.mark.browser
def test_a_single_head_is_told_in_a_sentence_and_leads_to_those_like_it(tab):
    box = find(tab, PREVIOUS)
    says = f"document.querySelector('#fig-{NUMBER} .live-figure__find output').textContent"
    until(tab, f"{says}.includes('in “<b>”')")  # as the page's hand-made list says
    box.locator("button", has_text=f"like {PREVIOUS}").click()
    painted(tab)
    assert len(listed(box)) == 10
    assert PREVIOUS not in listed(box)


GROUPS = f"""async () => {{ const {{ figures }} = await import('/assets/figure/figure.js');
    const [{{ view }}] = figures.get(document.getElementById('fig-{NUMBER}')).charts;
    const found = {{}};
    const walk = (item) => {{ const {{ datum, shape }} = item;
        if (item.mark?.marktype === 'symbol' && datum?.kind && item.fill !== 'transparent')
            found[datum.named] ??= [datum.kind, shape];
        (item.items ?? []).forEach(walk); }};
    walk(view.scenegraph().root);
    return found; }}"""


@pytest.mark.browser
def test_colours_stand_for_groups_with_a_shape_and_a_name_each(tab, atlas):
    find(tab, "")
    set_to(tab, NUMBER, colour="group")
    painted(tab)
    points = tab.evaluate(GROUPS)
    shapes = [*all_measures.SIGNS]
    for group in groups(atlas)[0]:
        for label in group.labels:
            assert points[label] == [f"group {group.number}", shapes[group.number - 1]]
    alone = [kind for kind, shape in points.values() if shape == "circle"]
    assert alone == ["no group"] * (len(points) - sum(len(g.heads) for g in groups(atlas)[0]))
    keys = tab.locator(f"#fig-{NUMBER} .live-figure__groups button")
    assert keys.count() == len(groups(atlas)[0])
    for key, group in zip(keys.all(), groups(atlas)[0], strict=True):
        assert f"{group.number}: " in key.text_content()
        for n, trait in enumerate(group.traits):
            title = atlas.words[trait.measure].title
            assert title in key.get_attribute("title")
            assert n or title in key.text_content()
    keys.first.click()
    painted(tab)
    assert sorted(listed(tab.locator(f"#fig-{NUMBER} .live-figure__find"))) == sorted(
        groups(atlas)[0][0].labels
    )
    assert keys.first.get_attribute("aria-pressed") == "true"
    keys.first.click()
    painted(tab)
    assert tab.locator(f"#fig-{NUMBER} input[type=search]").input_value() == ""
    tab.locator(f"#fig-{NUMBER} select[name=colour]").select_option("layer")
    painted(tab)
    assert not keys.count()
    assert {shape for _, shape in tab.evaluate(GROUPS).values()} == {"circle"}


def test_without_groups_nothing_offers_to_colour_by_them(atlas, monkeypatch):
    monkeypatch.setattr("report.figures.heads_by_two.groups", lambda data: ((), np.nan))
    monkeypatch.setattr("report.figures.heads_map.groups", lambda data: ((), np.nan))
    (colour,) = [each for each in heads_by_two.controls(atlas) if each.param == "colour"]
    assert "group" not in colour.options
    assert "colour" not in [each.param for each in heads_map.controls(atlas)]


def test_every_figure_of_an_atlas_that_marks_a_head_marks_those_that_are_looked_for(atlas):
    for name in OF["atlas"]:
        spec = specification(figure_named(name), atlas)
        params = {each["name"] for each in spec["params"]}
        assert ("marked_head" in params) <= ("found" in params), name


@pytest.mark.browser
def test_keys_lead_to_the_next_head_and_to_the_one_before(tab):
    number = PORTRAIT["head_distances"]
    go_live(tab, number)
    set_to(tab, number, **HERE)
    tab.locator(f"#fig-{number} input[name=head]").focus()
    said = f"document.querySelector('#fig-{number} figcaption').textContent.includes"
    layer, head = hand_atlas.PREVIOUS
    for key, next_ in (("ArrowRight", head + 1), ("ArrowLeft", head)):
        tab.keyboard.press(key)
        until(tab, f"{said}('L{layer}H{next_} gives')")


@pytest.mark.browser
@pytest.mark.parametrize("text", ["colour", "attention > 3", "entropy > 10 %", "> 0.5"])
def test_what_is_not_understood_is_asked_back(tab, text):
    box = find(tab, text)
    assert box.locator("output").text_content().strip()
    assert listed(box) == []
    choices = box.locator("output button")
    if choices.count():
        choices.first.click()
        painted(tab)
        assert listed(box)


@pytest.mark.browser
def test_hostile_words_are_text(tab):
    box = find(tab, "<img src=x onerror=alert(1)> > 1")
    assert box.locator("img").count() == 0
    assert "<img" in box.locator("output").text_content()


@pytest.mark.browser
def test_an_address_says_what_was_looked_for(tab):
    find(tab, "previous > 50 %, entropy < 1")
    until(tab, "location.hash.includes('found=')")
    address = tab.url
    find(tab, "")
    tab.goto("about:blank")
    tab.goto(address)
    go_live(tab, NUMBER)
    box = tab.locator(f"#fig-{NUMBER} .live-figure__find")
    until(tab, f"document.querySelector('#fig-{NUMBER} .live-figure__find output').textContent")
    assert listed(box) == [PREVIOUS]
    find(tab, "")


@pytest.mark.browser
def test_lists_choose_both_measures(tab):
    set_to(tab, NUMBER, across="entropy", up="lost")
    assert tab.locator(f"#fig-{NUMBER} select[name=across]").input_value() == "entropy"
    assert any("lost without the head" in text for text in tab.evaluate(TITLES))
    title = tab.locator(f"#fig-{NUMBER} figcaption strong").text_content()
    assert title == "Lost without the head vs Entropy."


TITLES = f"""(async () => {{ const {{ figures }} = await import('/assets/figure/figure.js');
    const [chart] = figures.get(document.getElementById('fig-{NUMBER}')).charts;
    const texts = [];
    const walk = (item) => {{ if (item.text) texts.push(String(item.text));
        (item.items ?? []).forEach(walk); }};
    walk(chart.view.scenegraph().root);
    return texts; }})()"""


def test_rows_are_the_numbers_of_the_datasets(atlas):
    of = HeadFindings(atlas)
    rows = figure_named("heads_by_two").rows(atlas)["rows"]
    assert len(rows) == atlas.layers * atlas.heads
    for row, name in itertools.product(rows, atlas.measures):
        at = row["layer"], row["head"]
        for column, values in {
            name: of.values(name),
            f"control_{name}": of.values(name, "control"),
            f"error_{name}": of.error(name),
        }.items():
            assert row[column] == pytest.approx(values[at], rel=1e-4, nan_ok=True) or (
                row[column] is None and values[at] != values[at]
            )


def test_what_there_is_to_see_names_the_highest_heads(atlas):
    seen = figure_named("heads_by_two").seen(atlas, across="to_previous_token", up="induction")
    assert set(seen.replace(".", "").split()) >= BOTH


PORTRAIT = {name: number for name, number in NUMBERS.items() if name.startswith("head_")}
HERE = dict(zip(("layer", "head"), hand_atlas.PREVIOUS, strict=True))


def test_bars_are_the_shares_of_the_dataset_and_sum_to_all(atlas):
    rows = figure_named("head_distances").rows(atlas, **HERE)["rows"]
    found = atlas.portrait("distances", *hand_atlas.PREVIOUS)
    assert [row["share"] for row in rows] == pytest.approx(found["share"])
    assert sum(row["share"] for row in rows) == pytest.approx(1, abs=len(rows) * 1e-4)
    assert max(rows, key=lambda row: row["share"])["bin"] == "1"
    names = [row["bin"] for row in rows]
    assert names[:3] + names[-2:] == ["first", "0", "1", "129–256", "257+"]


def test_tokens_are_named_with_what_is_usual(atlas):
    for panel, side in enumerate(("to", "from")):
        rows = figure_named("head_tokens").rows(atlas, panel=panel, **HERE)["rows"]
        found = atlas.portrait("tokens", *hand_atlas.PREVIOUS)
        here = found["side"] == side
        assert [row["value"] for row in rows] == found["value"][here].tolist()
        assert [row["usual"] for row in rows] == found["usual"][here].tolist()
        assert len({row["word"] for row in rows}) == len(rows)


def test_every_choice_of_a_text_has_one(atlas):
    rows = figure_named("head_examples").rows(atlas, **HERE)
    options = head_examples.controls(atlas)[-1].options
    assert [row["example"] for row in rows["chosen"]] == [*options]
    strength = {
        option: np.mean([row["strength"] for row in rows["tokens"] if row["example"] == option])
        for option in options
    }
    order = [strength[f"above{each}"] for each in head_examples.STRONGER_THAN]
    assert order == sorted(order, reverse=True)
    assert strength["strongest"] == max(strength.values())
    assert [row["score"] for row in rows["rows"]] == [*atlas.scores(*hand_atlas.PREVIOUS).values()]


def test_without_examples_figures_of_texts_say_why(tmp_path):
    data = hand_atlas.study(tmp_path, examples=False)
    verify(data)
    for figure in (head_tokens, head_examples):
        assert "examples: none" in figure.left_out(data)
    assert figure_named("head_distances").rows(data, **HERE)["rows"]


@pytest.mark.browser
def test_the_text_below_says_where_the_head_looks(tab):
    number = PORTRAIT["head_examples"]
    go_live(tab, number)
    set_to(tab, number, **HERE, example="strongest")
    text = tab.locator(f"#fig-{number} .live-figure__reading")
    words = text.locator("span").all_text_contents()
    assert "<b>&amp;" in words  # a token's text is text
    text.focus()
    for _ in range(4):
        tab.keyboard.press("ArrowRight")
    says = tab.locator(f"#fig-{number} .live-figure__text output")
    until(tab, f"document.querySelector('#fig-{number} [data-from]')")
    marked = [text.locator(f"[data-{end}]").text_content() for end in ("from", "to")]
    assert marked == words[3:1:-1]
    assert "1 back" in says.text_content()
    text.locator("span").nth(6).hover()
    assert text.locator("[data-from]").text_content() == words[6]
    tab.keyboard.press("Escape")
    assert text.locator("[data-from]").count() == 0


def test_rows_of_composition_are_the_scores_of_lower_layers(atlas):
    (layer, head), writer, score = hand_atlas.COMPOSED
    rows = figure_named("composition").rows(atlas, layer=layer, head=head)["rows"]
    assert [(row["layer"], row["head"]) for row in rows] == [
        (below, other) for below in range(layer) for other in range(atlas.heads)
    ]
    for row in rows:
        at = layer, head, row["layer"], row["head"]
        for name in composition.BY:
            assert row[name] == pytest.approx(atlas.composition.scores[name][at], abs=6e-5)
    assert figure_named("composition").rows(atlas, layer=0)["rows"] == []
    assert [each.value for each in composition.controls(atlas)[:2]] == [layer, head]
    said = figure_named("composition").seen(atlas)
    assert said.startswith(f"For its keys, {INDUCTION} reads {PREVIOUS} most (0.60), then")
    assert said.endswith("chance gives 0.25.")
    assert head_label(*writer) == PREVIOUS and score == 0.6
    assert (
        figure_named("composition").seen(atlas, layer=0) == f"No layer is below that of L0H{head}."
    )
    assert "queries" in figure_named("composition").seen(atlas, by="q")


def test_without_scores_composition_says_how_to_have_them(tmp_path):
    assert "--composition" in composition.left_out(hand_atlas.study(tmp_path))


def test_rows_of_writes_are_the_tokens_of_the_dataset(atlas):
    figure, head = figure_named("head_writes"), hand_atlas.INDUCTION
    at = dict(zip(("layer", "head"), head, strict=True))
    assert [each.value for each in figure.controls(atlas)] == [*head]
    for panel, side in enumerate(("gained", "lost")):
        rows = figure.rows(atlas, panel=panel, **at)["rows"]
        here = atlas.copying.readings(*head)
        assert [each.word for each in here] == hand_atlas.COPIED
        assert [row["by"] for row in rows] == pytest.approx(
            [by for each in here for by in getattr(each, f"{side}_by")]
        )
        assert len({row["read"] for row in rows}) == len(here)
        assert {row["column"] for row in rows} == {1, 2, 3, 4, 5}
    gained = figure.rows(atlas, panel=0, **at)["rows"]
    assert [row["word"] for row in gained[:2]] == ["the", "⟨e4 bd⟩"]  # its bytes: no character
    said = figure.seen(atlas, **at)
    assert said.startswith(f"Reading “the”, {INDUCTION} raises “the” and “⟨e4 bd⟩” most. It copies")
    assert "copies 75.0\xa0% of 6 words" in said
    assert figure.seen(atlas, layer=0, head=1).endswith("it has no score.")


def test_without_words_writes_are_scores_alone(tmp_path):
    bare = hand_atlas.study(tmp_path)
    assert "--copying" in head_writes.left_out(bare)
    data = bare.with_apart([hand_atlas.copies(tmp_path, words=False)])
    assert "examples: none" in head_writes.left_out(data)
    assert HeadFindings(data).strongest("suppression").label == PREVIOUS


@pytest.mark.browser
def test_titles_of_panels_name_the_head_that_is_shown(desk, atlas_address):
    for number in (NUMBERS["head_tokens"], NUMBERS["head_writes"]):
        require_titles(desk, atlas_address, number)


def require_titles(desk, atlas_address, number):
    desk.goto(atlas_address)
    go_live(desk, number)
    for layer, head in ((1, 2), (0, 3)):
        set_to(desk, number, layer=layer, head=head)
        at = f"#fig-{number} .live-figure__title"
        until(desk, f"document.querySelector('{at}').textContent.startsWith('L{layer}H{head}: ')")
        titles = desk.locator(at).all_text_contents()
        assert len(titles) > 1
        assert all(title.startswith(f"L{layer}H{head}: ") for title in titles)


@pytest.mark.browser
def test_questions_of_the_home_page_are_answered(desk, atlas_address, atlas):
    _, states = release.questions(atlas)
    assert len(states) == len(release.QUESTIONS)
    for state in states:
        desk.goto("about:blank")
        desk.goto(f"{atlas_address}#fig-{NUMBER}:{state}")
        box = desk.locator(f"#fig-{NUMBER} .live-figure__find")
        until(desk, f"document.querySelector('#fig-{NUMBER} .live-figure__find table tr')")
        assert len(listed(box)) == 10
        name = state.partition(",")[0].removeprefix("across=")
        title = atlas.words[name].title
        assert title in box.locator("table tr").first.text_content()
        assert title in desk.locator(f"#fig-{NUMBER} figcaption").text_content()


def test_the_home_page_asks_the_atlas_of_most_heads(atlas, tmp_path, monkeypatch):
    study = hand_made.study(tmp_path / "passage", "rotary")
    project = write_publication(tmp_path, cover="attending_to_itself")
    rendered.words_only(monkeypatch)
    text = read_study(project / "templates" / "articles" / "small.md.j2")
    page = render_article(text, study, project / "site_src")
    figures = page.figures | {"heads_by_two": (7, "")}
    pages = [page, replace(page, name="one", figures=figures), replace(page, figures=figures)]
    files.write_text(project / "site_src" / "articles" / "one" / "index.md", "")
    render_lists(pages, [study, atlas, study], project / "site_src")
    home = (project / "site_src" / "index.md").read_text("utf-8")
    assert "articles/one/#fig-7:across=to_previous_token,found=previous" in home
    render_lists(pages[:1], [study], project / "site_src")
    assert "found=" not in (project / "site_src" / "index.md").read_text("utf-8")


@pytest.mark.browser
def test_composition_follows_what_is_read_and_who_reads(desk, atlas_address):
    number = NUMBERS["composition"]
    desk.goto(atlas_address)
    go_live(desk, number)
    set_to(desk, number, by="v")
    until(desk, f"document.querySelector('#fig-{number}').textContent.includes('For its values')")
    set_to(desk, number, layer=1, head=0)
    until(desk, f"document.querySelector('#fig-{number}').textContent.includes('L1H0 reads')")
    seen = desk.locator(f"#fig-{number} .live-figure__seen").text_content()
    assert "Token by token" not in seen  # as where a map is of regions


def test_articles_about_a_model_find_its_atlas(atlas, tmp_path):
    names = {"atlas": "The Atlas", "other": "Another"}
    pages = [SimpleNamespace(name=name, title=title) for name, title in names.items()]
    mark = f'<span class="head-name" data-model="{atlas.path.name}">'
    texts = {
        "atlas": f"{mark}L1H2</span> and {mark}L99H0</span>, which it has not",
        "other": f'{mark}<a class="term" href="x">L1H2</a></span>',
    }
    for name, text in texts.items():
        files.write_text(tmp_path / "articles" / name / "index.md", text)
    study = hand_made.study(tmp_path / "passage", "rotary")
    study.manifest["model"] = atlas.manifest["model"]  # the same weights
    study.manifest["key"] = atlas.manifest["key"]
    with_its_name = SimpleNamespace(kind="passage", models=[study], names=[atlas.path.name])
    write_heads(pages, [atlas, with_its_name], tmp_path)
    content = json.loads((tmp_path / HEADS).read_text("utf-8"))
    (found,) = content["atlases"]
    assert found["at"] == "embed/atlas/head.html#head=L{layer}H{head}&model=hand"
    assert found["named"] == {"L1H2": ["atlas", "other"]}
    assert content["articles"] == {name: {atlas.path.name: 0} for name in names}
    assert content["titles"] == names
    layer, head = hand_atlas.PREVIOUS
    line = found["lines"][layer][head]
    assert line == sentences.by_head(atlas)[layer][head]
    assert [len(each) for each in found["lines"]] == [atlas.heads] * atlas.layers
    write_heads(pages[1:], [with_its_name], tmp_path)
    none = {"atlases": [], "articles": {}, "titles": {}}
    assert json.loads((tmp_path / HEADS).read_text("utf-8")) == none
