"""A figure with a switch between models: sliders, data and address follow the model."""

import re

import pytest

from report.datasets import store
from report.figures.build import vega
from report.figures.parts.groups import groups
from report.kinds.atlas.beside import NUMBERS
from report.kinds.atlas.data import opened
from report.measures import shipped
from report.pages.article import ArticleFigures, figure_for
from tests.figures import hand_atlas, hand_made, live_page
from tests.figures.live_page import go_live, ink, until
from tests.serving import served


@pytest.fixture
def address(models_address):
    return models_address


def value(page, name):
    return page.locator(f"#fig-1 input[type=range][name={name}]").input_value()


def choose(page, model):
    page.locator(f"#fig-1 input[value={model}]").check(force=True)
    link = "document.querySelector('#fig-1 a[data-link-data]').href"
    until(page, f"{link}.includes('{model_folder(model)}/')")


def model_folder(model):
    return {"step100": f"{0:012x}", "step2000": f"{1:012x}"}[model]


def test_the_other_model_is_drawn_from_its_own_data(page, address):
    page.goto(address)
    go_live(page, 1)
    before = ink(page, 1)
    choose(page, "step2000")
    until(page, "document.querySelectorAll('#fig-1 canvas').length === 1")
    assert ink(page, 1) != before
    until(page, "location.hash.includes('model=step2000')")
    choose(page, "step100")
    assert ink(page, 1) == before


def test_a_shared_address_opens_the_model_and_its_state(page, address):
    page.goto(f"{address}#fig-1:model=step2000,layer=2,head=3")
    go_live(page, 1)
    assert page.locator("#fig-1 input[value=step2000]").is_checked()
    assert (value(page, "layer"), value(page, "head")) == ("2", "3")
    link = page.locator("#fig-1 a[data-link-data]")
    assert link.get_attribute("href").endswith(f"{model_folder('step2000')}/attention/2/3.json")


def test_a_layer_that_the_other_model_has_not_is_said(page, address):
    def shallow(route):
        spec = route.fetch().json()
        for control in spec["usermeta"]["report"]["controls"]:
            if control["param"] == "layer":
                control["maximum"] = 1
        route.fulfill(json=spec)

    files = "**/attention_map-step2000.vega.json"
    page.route(files, shallow)
    page.goto(f"{address}#fig-1:layer=2,head=3")
    go_live(page, 1)
    note = page.locator("#fig-1 .live-figure__note")
    assert not note.count()
    page.locator("#fig-1 input[value=step2000]").check(force=True)
    note.wait_for(state="visible")
    page.unroute(files)
    assert (value(page, "layer"), value(page, "head")) == ("1", "3")
    assert note.inner_text().startswith("step2000 has no layer 2: layer 1,")
    page.locator("#fig-1 input[name=layer]").focus()
    page.keyboard.press("ArrowLeft")
    note.wait_for(state="hidden")


@pytest.fixture(scope="module")
def atlases(tmp_path_factory):
    """The data of two atlases, of which only the first has groups and knows the entropy, and the
    address of their page."""
    site = tmp_path_factory.mktemp("atlases")
    folder, known = site / "datasets" / "hand", {*shipped(), *NUMBERS}
    grouped = hand_atlas.study(folder)
    kept = {"induction", "lost", "to_previous_token"}
    few = hand_atlas.study(folder, known - kept, key="1" * 12, name="few")
    data = opened([grouped.path, few.path])
    assert groups(grouped)[0] and not groups(few)[0]
    live_page.write(site, data, ["heads_by_two", "heads_map"])
    with served(site) as root:
        yield data, f"{root}articles/hand/"


@pytest.mark.browser
def test_what_a_model_does_not_have_is_not_offered(page, atlases):
    page.goto(atlases[1])
    go_live(page, 1)
    colour, up = (page.locator(f"#fig-1 select[name={name}]") for name in ("colour", "up"))
    offered = lambda each: each.locator("option:not([hidden])").count()  # noqa: E731
    every = offered(colour), offered(up)
    colour.select_option("group")
    up.select_option("entropy")
    until(page, "document.querySelectorAll('#fig-1 .live-figure__groups li').length > 1")
    page.locator("#fig-1 input[value=few]").check(force=True)
    note = page.locator("#fig-1 .live-figure__note")
    note.wait_for(state="visible")
    assert (colour.input_value(), up.input_value()) == ("layer", "induction")
    assert offered(colour) == 1 + offered(up) == 4
    assert note.inner_text() == (
        "few does not have “Entropy”: “Induction on random tokens” is shown. "
        "few does not have “group of like heads”: “layer” is shown."
    )
    up.select_option("lost")
    note.wait_for(state="hidden")
    page.locator("#fig-1 input[value=hand]").check(force=True)
    until(page, "!document.querySelector('#fig-1 [name=colour] [value=group]').hidden")
    assert (offered(colour), offered(up)) == every
    assert (colour.input_value(), up.input_value()) == ("layer", "lost")
    page.goto("about:blank")
    page.goto(f"{atlases[1]}#fig-2:model=few,colour=group")
    go_live(page, 2)
    coloured = page.locator("#fig-2 fieldset:has([data-param=colour])")
    coloured.wait_for(state="hidden")
    page.locator("#fig-2 input[value=hand]").check(force=True)
    coloured.wait_for(state="visible")


def test_what_only_another_model_has_is_among_the_controls(atlases):
    data, _ = atlases
    article = ArticleFigures("hand", live_page.PROJECT, data)
    article.announced = ["heads_by_two", "heads_map"]
    few = data.names[1]
    scatter, map_ = (article.figure(name, model=few) for name in article.announced)
    for html in (scatter, map_):
        assert 'value="group"' in html and 'value="entropy"' in html
    assert "oloured by" not in re.search(r"As it opens \((.*?)\)", map_)[1]


def test_specifications_name_each_other_and_their_own_sliders(models):
    article = ArticleFigures("hand", live_page.PROJECT, models)
    article.announced = ["attention_map"]
    html = article.figure("attention_map", model="step2000", layer=2)
    (placed,) = article.placed
    specs = {panel.name: panel.spec for panel in (*placed.panels, *placed.variants)}
    assert specs.keys() == {"attention_map-step2000", "attention_map-step100"}
    for name, spec in specs.items():
        report = spec["usermeta"]["report"]
        assert set(report["models"].values()) == {f"{each}.json" for each in specs}
        assert report["data"]["url"].startswith(model_folder(name.rpartition("-")[2]))
        assert report["controls"][0]["value"] == name.rpartition("-")[2]
        assert vega.vega(spec)["usermeta"]["report"]["models"]
    assert re.search(r'value="step2000" checked', html)
    for name, rows in placed.written_rows(placed.panels[0]):
        pytest.fail(f"{name} of {rows} is written though a dataset has it")


@pytest.mark.parametrize(
    ("kinds", "told"),
    [(("no_special", "alibi_bias"), True), (("alibi_bias", "window"), False)],
)
def test_models_that_begin_differently_say_so_where_they_are_compared(tmp_path, kinds, told):
    data = hand_made.several(tmp_path, kinds, ("Words", "Other"))
    said = "The first token is one of the text in Words; in Other it is put in front of the text"
    switch = figure_for("attending_to_first_token", data)
    state = {"source": "corpus"}
    assert said not in switch.seen(data, model="words", **state)
    assert (said in switch.seen(data, model="other", **state)) is told
    for name in ("first_token_by_model", "first_token_over_models"):
        assert (said in figure_for(name, data).caption(data)) is told


def test_rows_of_a_figure_without_a_dataset_are_written_for_every_state(models):
    article = ArticleFigures("hand", live_page.PROJECT, models)
    article.announced = ["first_token_over_models"]
    article.figure("first_token_over_models")
    (placed,) = article.placed
    written = dict(placed.written_rows(placed.panels[0]))
    assert written.keys() == {"passage.json", "corpus.json"}
    for name, table in written.items():
        store.check(table, name)
        heads = sum(model.layers * model.heads for model in models.models)
        assert table["tables"]["rows"]["rows"] == heads + len(models.models)
    place = set(written["corpus.json"]["tables"]["rows"]["columns"]["place"]["values"])
    assert place == {100, 2000}
