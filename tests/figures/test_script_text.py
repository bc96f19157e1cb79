"""What is written in a figure can be read: inside the picture, and nothing over anything else."""

import pytest

from report.figures.build import still
from report.figures.parts import token_names
from tests.figures import hand_made, tools
from tests.figures.hand_made import OF_SCORES
from tests.figures.lettering import IN_PICTURE, OF_THE_PAGE, WRITTEN, unreadable
from tests.figures.live_page import PAGES, TWO_LOOKS, data_of, go_live, painted
from tests.figures.pictures import picture, specification
from tests.figures.test_every_figure import each, every_figure, panels_of

pytestmark = pytest.mark.browser

SLACK = 3
"""Pixels: letters of a browser are not exactly as wide as those it was laid out by."""

HOSTILE = ["漢字仮名交じり文" * 3, "שלום עולם" * 3, "<b>&amp;</b>", "W" * 40, "⏎", "é́́"]


WITH_TOKENS = ("attention_map", "table_attention_map", "magnitude_by_position")
"""Figures with an axis of tokens."""

LIKE_A_MAP = ("effect_by_target", "attention_change")
"""They have the axes of the attention map, and a text of their own."""


@pytest.fixture(scope="module")
def shown(browser):
    """A page whose content each picture replaces."""
    page = browser.new_page()
    yield page
    page.context.close()


def texts(shown, svg):
    shown.set_content(f"<body style='margin:0'>{svg}")
    return shown.evaluate(IN_PICTURE)


def check(found):
    assert found
    assert unreadable(found, SLACK) == []


@every_figure
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_no_label_is_cut_off_or_covers_another(figure, drawn_of, shown, phone):
    for panel in panels_of(figure, drawn_of):
        check(texts(shown, picture(figure, drawn_of, phone=phone, **panel)))


SIZES = ((8, 16), (24, 16), (48, 4))
"""(layers, heads a layer) of models whose heads have long names, or names near each other."""

SORTED = (*TWO_LOOKS, "bias_vs_position", "update_magnitude")


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: "x".join(map(str, size)))
def of_a_size(request, tmp_path_factory):
    """A hand-made study of a model of one of the sizes."""
    with pytest.MonkeyPatch.context() as patch:
        for name, number in zip(("LAYERS", "HEADS"), request.param, strict=True):
            patch.setattr(hand_made, name, number)
        return hand_made.study(tmp_path_factory.mktemp("size") / "datasets" / "hand" / "size")


@each(SORTED)
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_nor_of_a_model_of_any_size(figure, of_a_size, shown, phone):
    for panel in panels_of(figure, of_a_size):
        check(texts(shown, picture(figure, of_a_size, phone=phone, **panel)))


KINDS = ("rotary", "rotary_bias", "learned_bias", "encoder_rotary")
"""Kinds of models whose terms have the longest names."""


@pytest.mark.parametrize("kind", KINDS)
@each(OF_SCORES)
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_nor_of_a_kind_with_other_terms(figure, study, kind, shown, phone):
    check(texts(shown, picture(figure, study(kind), phone=phone)))


@every_figure
def test_these_figures_have_an_axis_of_tokens(figure, drawn_of):
    spec = specification(figure, drawn_of, **panels_of(figure, drawn_of)[0])
    names = {param["name"] for param in spec["params"]}
    assert (token_names.LABELS in names) == (figure.name in (*WITH_TOKENS, *LIKE_A_MAP))


@each(WITH_TOKENS)
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_whatever_a_token_says_its_label_keeps_its_place(figure, drawn_of, shown, phone):
    empty = specification(figure, drawn_of)
    spec = still.specification(figure, drawn_of, phone=phone, empty=empty)
    (labels,) = [param for param in spec["params"] if param["name"] == token_names.LABELS]
    labels["value"] = [HOSTILE[n % len(HOSTILE)] for n in range(len(labels["value"]))]
    found = texts(shown, still.drawn(spec))
    assert any("漢字" in text["said"] for text in found)
    assert any("<b>" in text["said"] for text in found)
    check(found)


@pytest.mark.parametrize("tab", ["page", "phone"])
@pytest.mark.parametrize("on", PAGES)
def test_on_a_page_too_all_that_is_written_stands_apart(request, tab, on):
    """At 1280 and 390 pixels, what is in a chart, above and below it."""
    (_, names), tab = PAGES[on], request.getfixturevalue(tab)
    tab.goto(request.getfixturevalue(on))
    for moved in (False, True)[: 1 + (on != "models_address")]:
        for number, name in enumerate(names, 1):
            go_live(tab, number)
            if moved:
                data = data_of(name, request.getfixturevalue)
                tools.set_to(tab, number, **tools.state_of(name, data))
        painted(tab)
        found = tab.evaluate(WRITTEN)
        kinds = {(text["figure"], text["kind"]) for text in found}
        for number, name in enumerate(names, 1):
            assert {(f"fig-{number} {name}", kind) for kind in ("caption", "links")} <= kinds
        assert sum(kind not in OF_THE_PAGE for _, kind in kinds) >= len(names)
        assert unreadable(found) == []
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
