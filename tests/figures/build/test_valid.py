"""A quick verdict on specifications: the same as Altair's own, on charts that are valid and not."""

import copy
import random

import altair
import pytest
from altair.utils.schemapi import validate_jsonschema

from report.errors import ReportError
from report.figures.build import defaults
from report.figures.build.defaults import is_valid
from report.figures.build.find import figure_named

NAMES = ("attention_map", "update_magnitude")
OTHERS = (None, -1, True, "no", [], {}, ["no"], {"no": 1}, float("nan"))
"""What stands in place of a part of a chart."""


def places(part):
    """(dict or list, key) of all that is inside a specification."""
    inside = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in list(inside):
        yield part, key
        if isinstance(value, (dict, list)):
            yield from places(value)


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_is_that_of_altair(data, name):
    whole, chance = defaults.spec_of(figure_named(name), data), random.Random(20261123)
    verdicts = []
    for _ in range(8):
        spec = copy.deepcopy(whole)
        part, key = chance.choice([place for place in places(spec) if place[1] != "usermeta"])
        part[key] = chance.choice(OTHERS)
        verdicts.append(is_valid(spec))
        schema = altair.Root._schema
        said = validate_jsonschema(spec, schema, rootschema=schema, raise_error=False)
        assert verdicts[-1] == (said is None), (key, part[key])
    assert is_valid(whole)
    assert {True, False} == set(verdicts)


def test_a_chart_that_is_not_valid_is_told_with_the_line_that_makes_it_so(data, tmp_path):
    (tmp_path / "wrong.py").write_text(
        '"""What is wrong."""\nimport altair\n\n\ndef chart(data, **state):\n'
        '    mark = altair.Chart(altair.NamedData("rows")).mark_point(size="large")\n'
        "    return mark\n\n\ndef rows(data, **state):\n    return []\n"
    )
    figure = figure_named("wrong", tmp_path)
    with pytest.raises(ReportError, match=r"wrong\.py, line 6: SchemaValidationError: 'large'"):
        defaults.spec_of(figure, data)


def test_a_chart_that_is_wrong_as_a_whole_is_told_in_one_sentence(data, tmp_path):
    (tmp_path / "untyped.py").write_text(
        '"""What is wrong."""\nimport altair\n\n\ndef chart(data, **state):\n'
        '    mark = altair.Chart(altair.NamedData("rows")).mark_point()\n'
        '    return mark.encode(x=altair.X("place"))\n\n\ndef rows(data, **state):\n'
        "    return []\n"
    )
    figure = figure_named("untyped", tmp_path)
    with pytest.raises(ReportError, match=r"figure 'untyped': its chart is not valid: place enc"):
        defaults.spec_of(figure, data)
