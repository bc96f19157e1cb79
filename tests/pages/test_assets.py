"""The files that every page loads."""

import json
import posixpath
import re
from pathlib import Path

import pytest

from report.pages import assets


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site_src")
    assets.write_assets(folder)
    return folder / "assets"


def test_the_first_script_lists_all_that_the_others_import(written):
    early = (written / "page" / "early.js").read_text("utf-8")
    listed = set(json.loads(re.search(r"const MODULES = (\[.*?\]);", early)[1]))
    assert {"figure/figures.js", "reader/marks.js", "data/shard.js"} <= listed
    assert "page/start.js" not in listed
    for name in listed:
        text = (written / name).read_text("utf-8")
        for path in re.findall(r'^(?:import|export)[^;]*?from "([^"]+)"', text, re.MULTILINE):
            assert (written / name).parent.joinpath(path).resolve() in {
                (written / other).resolve() for other in listed
            }, (name, path)


def test_nothing_of_explore_is_published(written, tmp_path):
    assert not [path for path in written.rglob("*") if "explore" in path.name]
    assets.write_assets(tmp_path, assets.LOCAL)
    assert all((tmp_path / "assets" / name).is_file() for name in assets.LOCAL)


def scripts():
    """dict of each script's path below `web` to its text."""
    names = sorted(name for name in assets.sources() if name.endswith(".js"))
    return {name: (assets.WEB / name).read_text("utf-8") for name in names}


def imports(name, text):
    """The paths below `web` that a script imports, at its beginning or later."""
    paths = re.findall(r'(?:from |import\(|^import )"(\.[^"]+)"', text, re.MULTILINE)
    return [posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) for path in paths]


MAY_IMPORT = {
    "page": {"figure", "tools", "reader", "data"},
    "tools": {"figure", "reader", "data"},
    "figure": {"reader", "data"},
    "reader": {"data"},
    "data": set(),
}
"""Folders of scripts: those that each may import from, beside itself."""


def test_folders_of_scripts_import_in_one_direction():
    arrows = set()
    for name, text in scripts().items():
        for other in imports(name, text):
            assert other == "vega.js" or other in scripts(), (name, other)
            if other != "vega.js":
                arrows.add((name.split("/")[0], other.split("/")[0]))
    allowed = {(one, other) for one, others in MAY_IMPORT.items() for other in {one, *others}}
    assert arrows <= allowed
    assert len(arrows) > 8


def test_all_that_a_script_exports_is_imported():
    texts = scripts()
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parents[1].rglob("*.py"))
    for name, text in texts.items():
        users = [other for user, other in texts.items() if name in imports(user, other)]
        users += [tests] * (f"assets/{name}" in tests)
        exported = re.findall(
            r"^export (?:async )?(?:function|const|class) (\w+)", text, re.MULTILINE
        )
        for word in exported:
            assert any(re.search(rf"\b{word}\b", user) for user in users), f"{name}: {word}"


def test_what_is_sent_as_one_file_is_there():
    for name, parts in assets.TOGETHER.items():
        assert {name, *parts} <= assets.sources()


def test_files_of_an_older_version_are_removed(tmp_path):
    old = [tmp_path / "assets" / name for name in ("start.js", "figure/old.css", "tools/menu.css")]
    kept = [tmp_path / "assets" / name for name in ("card.png", "own/own.js", "figure/notes.md")]
    for path in (*old, *kept):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", "utf-8")
    assets.write_assets(tmp_path)
    assert not [path for path in old if path.exists()]
    assert all(path.exists() for path in kept)
    assert (tmp_path / "assets" / "vega.LICENSE.txt").exists()


def test_the_library_has_what_draws_and_not_the_compiler(written):
    library = (written / "vega.js").read_text("utf-8")
    exported = re.search(r"export\{([^}]*)\};?\s*$", library)[1]
    names = {each.split(" as ")[-1] for each in exported.split(",")}
    assert names == {"View", "parse", "expressionInterpreter", "Handler"}
    assert len(library) < 700_000
    assert "vconcat" not in library  # Vega-Lite's word


@pytest.mark.parametrize("suffix", [".js", ".css"])
def test_scripts_and_styles_come_without_their_comments(written, suffix):
    for path in written.rglob(f"*{suffix}"):
        if path.name == "vega.js":
            continue
        lines = path.read_text("utf-8").splitlines()
        assert lines
        assert all(line.strip() for line in lines), path.name
        if suffix == ".js":
            assert not [line for line in lines if line.count("`") % 2], path.name
            assert not [line for line in lines if line.strip().startswith("//")], path.name
        else:
            assert "/*" not in "".join(lines), path.name


def test_comments_inside_what_is_no_comment_stay():
    script = 'const a = "http://x"; // why\n// gone\n  // gone too\n\n  const b = 1;\n'
    kept = 'const a = "http://x"; // why\nconst b = 1;\n'
    assert assets.without_comments(".js", script) == kept
    assert assets.without_comments(".css", "a {\n  /* b */\n  color: red;\n}\n") == (
        "a {color: red;}"
    )
    assert assets.without_comments(".txt", "/* stays */") == "/* stays */"


def test_another_wheel_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(assets, "WITH_VEGA", {"vega-interpreter@0.0.0": "expressionInterpreter"})
    with pytest.raises(assets.ReportError, match="make setup"):
        assets._chart_library()


SHEET = (
    '@charset "UTF-8";.a{color:red}.keys kbd{x:"}.b{"}.a,.keys .c{y:1}'
    "@media print{.tabbed-set{z:1}.d:not(.keys){w:1}}@media screen{.tabbed-set{z:1}}"
    "@keyframes k{0%{o:0}to{o:1}}[dir=rtl] .a{r:1}[dir=ltr] .a{l:1}.md-source-file{f:1}"
    ".md-source__icon{i:1}[data-md-color-primary=red]{p:1}[data-md-color-primary=custom]{p:2}"
    """:root{--md-source-a-icon:url("d:;--md-tabbed-x:1");--md-b:1;--md-tabbed-c:url('";')}"""
    ".e{--md-post-d:1}.f{content:var(--md-tabbed-c)}"
    "/*# sourceMappingURL=x */"
)
KEPT = (
    '@charset "UTF-8";.a{color:red}.a{y:1}@media print{.d:not(.keys){w:1}}'
    "@keyframes k{0%{o:0}to{o:1}}[dir=ltr] .a{l:1}.md-source-file{f:1}"
    "[data-md-color-primary=custom]{p:2}:root{--md-b:1;}.e{}.f{content:var(--md-tabbed-c)}"
)
OWN = "palette:\n  primary: custom\n"
ALL = (
    "primary: custom\naccent: red\nlanguage: ar\nrepo_url: x\n"
    "markdown_extensions: [pymdownx.keys, pymdownx.tabbed]\nplugins: [blog]\n"
)


@pytest.fixture
def theme(tmp_path, monkeypatch):
    """A theme with one style sheet."""
    folder = tmp_path / "templates" / assets.SHEETS
    folder.mkdir(parents=True)
    (folder / "main.0123.min.css").write_text(SHEET)
    found = type("Spec", (), {"submodule_search_locations": [str(tmp_path)]})
    monkeypatch.setattr(assets, "find_spec", lambda name: found)


def test_rules_that_no_page_can_need_are_gone(theme):
    assert assets.lighter(OWN) == {f"{assets.SHEETS}/main.0123.min.css": KEPT}


def test_settings_bring_them_back(theme):
    (sheet,) = assets.lighter(ALL).values()
    assert sheet == SHEET.removesuffix("/*# sourceMappingURL=x */")


def test_settings_that_go_on_elsewhere_are_given_the_whole_theme(theme):
    assert assets.lighter(f"INHERIT: ../base.yml\n{OWN}") == {}
