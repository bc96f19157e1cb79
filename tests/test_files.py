"""Files and JSON that outlive anything that happens to them."""

import pytest

from report.files import strict_json


def test_strict_json_gives_what_json_says():
    assert strict_json('{"a": [1, 2.5, null, true, "b"]}') == {"a": [1, 2.5, None, True, "b"]}
    assert strict_json(b"[1, 2e3, 0.5]", str, lambda digits: f"<{digits}>") == [
        "1",
        "<2e3>",
        "<0.5>",
    ]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "a name comes twice in an object"),
        ("[NaN]", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ("[1", "delimiter"),
    ],
)
def test_strict_json_refuses_what_json_does_not_allow(written, said):
    with pytest.raises(ValueError, match=said):
        strict_json(written)
