"""Files and JSON that outlive anything that happens to them."""

import pytest

from report.files import new_folder, strict_json


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


@pytest.mark.parametrize("name", ["a[1]", "**", "a?*", "[", "site"])
def test_a_leftover_is_found_whatever_its_folder_is_called(tmp_path, name):
    left = tmp_path / f".{name}.0123abcd.report.tmp"
    left.mkdir()
    with new_folder(tmp_path / name):
        assert not left.exists()
    assert (tmp_path / name).is_dir()
