"""Controls that a figure does not have, and values beyond the model, are told before measuring."""

import pytest

from report.errors import ReportError
from report.figures.build.find import figure_named, figure_names
from report.pages.prose import check_prose, check_state
from tests.figures.live_page import OF_PREDICTIONS
from tests.pages.test_prose import article

SIZE = {"layers": 3, "heads": 4}


def placed(name, **state):
    written = "".join(f", {key}={value}" for key, value in state.items())
    return f'{{{{ figure("{name}", key="again"{written}) }}}}\n'


WRONG = {
    "a control": ("passage", placed("attention_map", layre=1), "control 'layre'; did you mean 'l"),
    "of a figure without": (
        "sweep",
        placed("repeated_loss", layer=1),
        "repeated_loss has: none",
    ),
    "of a table": ("table", placed("renderings_compared", show="'x'"), "did you mean 'shown'"),
    "of classes": ("table", placed("classes_by_layer", targt="'value'"), "did you mean 'target'"),
    "of a sweep": ("sweep", placed("heads_at_step", habits="'induction'"), "mean 'habit'"),
    "of several models": ("several", placed("attention_map", modell="'a'"), "mean 'model'"),
    "a layer": ("passage", placed("attention_map", layer=3), "layer=3 is not .*from 0 to 2"),
    "a layer by a name": (
        "passage",
        "{% set deep = 9 %}" + placed("attention_map", layer="deep"),
        "layer=9 is not allowed",
    ),
    "a head": ("passage", placed("attention_breakdown", head=4), "head=4 is not .*from 0 to 3"),
    "of a list": ("sweep", placed("habits_by_model", habit="'firsttoken'"), "give one of: "),
    "a text": ("passage", placed("attention_map", layer="'1'"), "layer='1' is not allowed"),
}


@pytest.mark.parametrize(("kind", "body", "said"), WRONG.values(), ids=WRONG)
def test_a_state_that_no_control_can_be_at_is_told_with_its_line(tmp_path, kind, body, said):
    study = article(tmp_path, kind, body)
    line = len(study.template.read_text("utf-8").splitlines())
    with pytest.raises(ReportError, match=rf"a\.md\.j2, line {line}: .*{said}"):
        check_prose(study, SIZE)


ODD = {
    "an argument twice": (
        "{{ figure(name='a', name='b') }}",
        r"line 9: the argument 'name' comes tw",
    ),
    "a number for a name": ("{{ figure(5) }}", r"line 9: figure\(5\): the name .* in quotes"),
    "a list for a name": ("{{ can_draw([]) }}", r"line 9: can_draw\(\[\]\): the name .* in quotes"),
    "a key elsewhere": (
        "{{ figure('attention_map', key='../a') }}",
        r"line 9: figure\('\.\./a'\): ",
    ),
    "a key of no text": ("{{ figure('attention_map', key=5) }}", r"line 9: figure\(5\): "),
    "a reference to a number": ("{{ ref(5) }}", r"line 9: ref\(5\): this article has no such"),
    "another cover": ("{{ cover('update') }}", r"line 9: cover\('update'\): .*: update_magnitude"),
    "yes for a layer": (placed("attention_map", layer="true"), "line 9: layer=True is not allowed"),
    "brackets": (f"{{{{ {'(' * 300}1{')' * 300} }}}}", r"a\.md\.j2, line 9: too m"),
    "loops": ("{% for a in [] %}" * 30 + "{% endfor %}" * 30, r"a\.md\.j2, line 9: too m"),
    "signs": (f"{{{{ {'-' * 3000}1 }}}}", r"a\.md\.j2, line 9: too m"),
}


@pytest.mark.parametrize(("body", "said"), ODD.values(), ids=ODD)
def test_odd_arguments_and_deep_templates_are_one_sentence(tmp_path, body, said):
    with pytest.raises(ReportError, match=said):
        check_prose(article(tmp_path, "passage", body), SIZE)


def test_a_function_of_the_articles_own_name_is_its_own(tmp_path):
    body = "{% macro ref(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ ref('x', 'y') }}"
    check_prose(article(tmp_path, "passage", body))


RIGHT = {
    "the last layer": ("passage", placed("attention_map", layer=2, head=3)),
    "what is computed": ("passage", placed("attention_map", layer="find.middle_layer")),
    "under a condition": (
        "passage",
        "{% if data.layers > 8 %}" + placed("attention_map", layer=8) + "{% endif %}",
    ),
    "what a measurement decides": ("passage", placed("attention_breakdown", sort_idx=99)),
    "a step of a training": ("sweep", placed("heads_at_step", at=40)),
    "a model": ("several", placed("attention_map", model="'falcon-8x8'", layer=1)),
}


@pytest.mark.parametrize(("kind", "body"), RIGHT.values(), ids=RIGHT)
def test_what_may_be_is_not_refused(tmp_path, kind, body):
    if "find" in body:
        body = body.replace("find.middle_layer", "find.strongest('first_token').layer")
    check_prose(article(tmp_path, kind, body), SIZE)


@pytest.mark.parametrize("layer", [0, 10**6])
def test_nothing_is_said_of_models_whose_size_is_not_known(tmp_path, layer):
    check_prose(article(tmp_path, "passage", placed("attention_map", layer=layer)))


ASKED_OF_DATA = {"classes_by_layer", *OF_PREDICTIONS}
"""Figures that look names up by what was measured before they say what they control."""


@pytest.mark.parametrize("name", sorted({*figure_names()} - ASKED_OF_DATA))
def test_the_controls_of_every_figure_that_ships_are_known(name):
    with pytest.raises(ReportError, match=rf"unknown control 'x{name}'; .*{name} has: "):
        check_state(figure_named(name), {f"x{name}": 1}, {}, False)
