"""The files that every page loads."""

import re

import pytest

from report.pages import assets


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site_src")
    assets.write_assets(folder)
    return folder / "assets"


def test_the_first_script_lists_all_that_the_others_import(written):
    listed = set(re.findall(r'"([\w.-]+\.js)"', re.search(
        r"const MODULES = .*$", (written / "early.js").read_text("utf-8"), re.MULTILINE
    )[0]))  # fmt: skip
    assert {"figures.js", "marks.js", "decoders.js", "shard.js", "drawing.js"} <= listed
    assert "start.js" not in listed
    for name in listed:
        text = (written / name).read_text("utf-8")
        imported = set(
            re.findall(r'^(?:import|export)[^;]*?from "\./([\w.-]+)"', text, re.MULTILINE)
        )
        assert imported <= listed | {"start.js"}, name


def test_the_library_has_what_draws_and_not_the_compiler(written):
    library = (written / "vega.js").read_text("utf-8")
    exported = re.search(r"export\{([^}]*)\};?\s*$", library)[1]
    names = {each.split(" as ")[-1] for each in exported.split(",")}
    assert names == {"View", "parse", "expressionInterpreter", "Handler"}
    assert len(library) < 700_000
    assert "vconcat" not in library  # Vega-Lite's word


@pytest.mark.parametrize("suffix", [".js", ".css"])
def test_scripts_and_styles_come_without_their_comments(written, suffix):
    for path in written.glob(f"*{suffix}"):
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
