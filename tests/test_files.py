"""Files and JSON that outlive anything that happens to them."""

import pytest

from report.figures.build.find import figure_names
from report.files import NOT_MEANT, new_folder, others_json, strict_json
from report.pages.assets import write_theme
from report.pages.bibliography import uncited
from report.site.address import require_own_files
from report.site.build import build
from report.study.study import study_names
from tests.site import unmeasured


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
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the name 'c' comes twice in an object"),
        ("[NaN]", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ("[1", "delimiter"),
    ],
)
def test_strict_json_refuses_what_json_does_not_allow(written, said):
    with pytest.raises(ValueError, match=said):
        strict_json(written)


def test_a_name_that_comes_twice_in_json_of_others_has_one_value():
    assert others_json('{"a": [{"b": 1, "b": 1}], "c": NaN}')["a"] == [{"b": 1}]
    for other in ("2", "1.0", "true", '"1"', "null"):
        with pytest.raises(ValueError, match="the name 'b' comes twice in an object"):
            others_json(f'{{"a": [{{"b": 1, "b": {other}}}]}}')


@pytest.mark.parametrize("name", ["a[1]", "**", "a?*", "[", "site"])
def test_a_leftover_is_found_whatever_its_folder_is_called(tmp_path, name):
    left = tmp_path / f".{name}.0123abcd.report.tmp"
    left.mkdir()
    with new_folder(tmp_path / name):
        assert not left.exists()
    assert (tmp_path / name).is_dir()


LEFT = (".#a{}", "#a{}#", "a{}~", ".a{}.swp", "._a{}")
"""What editors and systems leave beside a file of some ending."""


def test_what_editors_leave_is_nothing_of_an_author_s(tmp_path):
    root = unmeasured.write(tmp_path / "project")
    articles, theme = root / "templates" / "articles", root / "templates" / "theme"
    (articles / "parts").mkdir(parents=True)
    (root / "figures").mkdir()
    (articles / "references.bib").write_text("@misc{key, title={T}, year={2020}}")
    folders = {articles: ".md.j2", articles / "parts": ".j2", root / "figures": ".py"}
    folders |= {theme: ".html", root / "site_src": ".md"}
    for folder, ending in folders.items():
        for number, name in enumerate(LEFT):
            path = folder / name.format(ending)
            if number:
                path.write_bytes(b"'key' \xff")
            else:  # as Emacs locks a file
                path.symlink_to("ann@host.12:34")
    assert study_names(articles) == []
    assert figure_names(root / "figures") == figure_names()
    assert uncited(articles) == ["key"]
    require_own_files(root / "mkdocs.yml")
    write_theme(root)
    build(root / "mkdocs.yml", root / "site")
    found = [path for made in (".theme", "site") for path in (root / made).rglob("*a.*")]
    assert not [path for path in found if NOT_MEANT.fullmatch(path.name)]
