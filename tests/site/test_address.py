"""Where a site is published: read from mkdocs.yml and from a built site."""

import pytest

from report.errors import UsageError
from report.site.address import address, built_for, read_site


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", ""),
        ("https://you.github.io/repo", "https://you.github.io/repo/"),
        ("https://plots.example.org/", "https://plots.example.org/"),
        ("http://127.0.0.1:8000/a/b//", "http://127.0.0.1:8000/a/b/"),
    ],
)
def test_an_address_ends_in_a_slash(given, expected):
    assert address(given) == expected


@pytest.mark.parametrize(
    "given",
    [
        "you.github.io/repo",
        "ftp://example.org/",
        "https://",
        "https://[",
        "https://example.org:port/",
        "https://example.org/?page=1",
        "https://example.org/#top",
        "https://example.org/my site/",
        'https://example.org/"><script>',
    ],
)
def test_what_is_no_address_is_refused_with_an_example(given):
    with pytest.raises(UsageError, match=r"SITE_URL: .*e\.g\. https://you\.github\.io/repo/"):
        address(given)


def test_settings_take_the_address_from_the_environment(tmp_path, monkeypatch):
    config = tmp_path / "mkdocs.yml"
    config.write_text('site_name: Ann\'s\nsite_url: !ENV [SITE_URL, ""]\n', "utf-8")
    monkeypatch.delenv("SITE_URL", raising=False)
    assert read_site(config).url == ""
    monkeypatch.setenv("SITE_URL", "https://you.github.io/repo")
    site = read_site(config)
    assert (site.name, site.url) == ("Ann's", "https://you.github.io/repo/")
    assert site.description == ""


def test_settings_that_are_no_yaml_are_named(tmp_path):
    config = tmp_path / "mkdocs.yml"
    config.write_text("site_name: [", "utf-8")
    with pytest.raises(UsageError, match=r"mkdocs\.yml"):
        read_site(config)


def test_a_built_site_says_what_it_was_built_for(tmp_path):
    home = tmp_path / "index.html"
    home.write_text("<title>Home</title>", "utf-8")
    assert built_for(tmp_path) == ""
    for written in ("https://a.org/b/", "https:&#x2f;&#x2f;a.org&#x2f;b&#x2f;"):
        home.write_text(f'<link rel="canonical" href="{written}">', "utf-8")
        assert built_for(tmp_path) == "https://a.org/b/"
