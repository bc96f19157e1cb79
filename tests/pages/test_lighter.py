"""The theme's style sheets lose what settings rule out, and nothing else."""

import pytest

from report.pages import assets

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
