"""Where a site is published: read from mkdocs.yml and from a built site. No message repeats a
password in an address."""

import pytest

from report.errors import ReportError, UsageError
from report.site.address import address, built_for, read_site
from report.site.build import require_settings
from report.text import without_secrets


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("https://you.github.io/repo", "https://you.github.io/repo/"),
        ("https://plots.example.org/", "https://plots.example.org/"),
        ("http://127.0.0.1:8000/a/b//", "http://127.0.0.1:8000/a/b/"),
        ("https://example.org/@ann", "https://example.org/@ann/"),
    ],
)
def test_an_address_ends_in_a_slash(text, expected):
    assert address(text) == expected


NO_ADDRESSES = (
    *("you.github.io/repo", "ftp://example.org/", "https://", "https://[", "https://a.org:port/"),
    *("https://a.org/?page=1", "https://a.org/#top", "https://a.org/my site/"),
    *("https://example.org/{{7*7}}/", 'https://example.org/"><script>'),
    # a password
    *("https://ann:secret@example.org/", "https://secret@example.org/x", "http://:secret@a.org"),
    *("https://ann:secret@", "https://ann:sec@secret@example.org/", "https://ann:1x/secret@a.org/"),
    *("ann:secret@example.org", "ftp://ann:secret@example.org/", "https:ann:secret@example.org/"),
    *("https://ann:secret@[", "https://ann:secret@example.org/{{7*7}}", "https://a secret@b.org"),
    # what pages might take for code
    *(f"https://example.org/{letter}/" for letter in [*"{}|^`<>\"'\\\t\n\0\x7f\u2028\u202e\u3000"]),
    *(f"https://a{letter}b.org/" for letter in [*"{<\"'\\\n\0\u202e"]),
)


@pytest.mark.promise("site-address")
@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_what_is_no_address_is_refused_with_an_example_and_no_password_repeated(text):
    with pytest.raises(UsageError, match=r"(?s)SITE_URL: .*e\.g\. https://you\.git") as raised:
        address(text)
    assert "secret" not in str(raised.value)


@pytest.mark.promise("terminal")
@pytest.mark.parametrize(
    ("remote", "shown"),
    [
        ("https://ann:secret@example.org/x.git", "https://example.org/x.git"),
        ("https://secret@example.org/x.git", "https://example.org/x.git"),
        ("https://ann:sec@secret@example.org/x", "https://example.org/x"),
        ("https://ann:sec/secret@example.org/x", "https://example.org/x"),
        ("ssh://git:secret@example.org:22/x", "ssh://example.org:22/x"),
        ("https://example.org:8080/x@v1/y", "https://example.org:8080/x@v1/y"),
        ("https://example.org/x.git?token=secret", "https://example.org/x.git?…"),
        ("https://example.org/x.git#secret", "https://example.org/x.git?…"),
        ("(git said: 'https://a.b/x?t=secret').", "(git said: 'https://a.b/x?…')."),
        ("is https://a.b/ right?", "is https://a.b/ right?"),
        ("git@github.com:you/repo.git", "git@github.com:you/repo.git"),
        ("ann:secret@example.org/x.git", "example.org/x.git"),
        ("x-access-token:sec@secret@127.0.0.1:1/x", "127.0.0.1:1/x"),
        ("secret@example.org/x.git", "example.org/x.git"),
        ("http:/ann:secret@example.org:1/x", "http:/example.org:1/x"),
        ("https:ann:secret@example.org/", "example.org/"),
        ("//ann:secret@example.org/x", "example.org/x"),
        ("example.org:1/x.git?token=secret", "example.org:1/x.git?…"),
        ("https://ann:sec secret@example.org/x", "https://example.org/x"),
        ("file 'https://ann:sec secret@a.b/x'.", "file 'https://a.b/x'."),
        ("Illegal header value b'Bearer secret'", "Illegal header value b'Bearer ?…'"),
        ("example.org:you/x@v1", "example.org:you/x@v1"),
        ("'owner/name@refs/pr/1' and mailto:ann@example.org", None),
        ("key: value@x, 12:30, runs@step-1, is it? x=3", None),
        ("see https://a.b: mail to ann@c.d", None),
        ("--x=https://ann:secret@example.org/", "--x=https://example.org/"),
        ("unable to access 'https://ann:secret@a.b/': x", "unable to access 'https://a.b/': x"),
    ],
)
def test_what_is_shown_of_an_address_names_no_user(remote, shown):
    assert without_secrets(remote) == (shown or remote)


def test_settings_take_the_address_from_the_environment(tmp_path, monkeypatch):
    config = tmp_path / "mkdocs.yml"
    config.write_text('site_name: Ann\'s\nsite_url: !ENV [SITE_URL, ""]\n', "utf-8")
    monkeypatch.delenv("SITE_URL", raising=False)
    assert read_site(config).url == ""
    monkeypatch.setenv("SITE_URL", "https://you.github.io/repo")
    site = read_site(config)
    assert (site.name, site.url) == ("Ann's", "https://you.github.io/repo/")
    assert site.description == ""


NO_SETTINGS = {
    "half a list": (b"\nsite_name: [", "2"),
    "a list": (b"- site_name", "1"),
    "a text": (b"site_name", "1"),
    "Latin-1": ("\n\nsite_name: B\xe4r".encode("latin-1"), "3"),
    "half a character": (b'site_name: "\\ud800', "1"),
    "an unknown tag": (b"a: 1\nsite_name: !no x", "2"),
    "what deep brackets hold": (b"[" * 10_000, None),
    "a whole number of many digits": (b"site_name: " + b"9" * 5000, None),
    "a date that is none": (b"site_name: 2026-99-99", None),
    "a key twice": (b"site_name: A\n\nsite_name: B", "3"),
    "a key twice inside another": (b"theme:\n  name: null\n  name: material", "3"),
    "a base that is not there": (b"INHERIT: no.yml", None),
    "a class that is not there": (b"site_name: !!python/name:no.such", "1"),
}


@pytest.mark.promise("authors-files")
@pytest.mark.parametrize(("text", "line"), NO_SETTINGS.values(), ids=list(NO_SETTINGS))
def test_settings_that_cannot_be_read_are_one_sentence_with_their_line(tmp_path, text, line):
    config = tmp_path / "mkdocs.yml"
    config.write_bytes(text)
    where = f", line {line}" if line else ""
    with pytest.raises(ReportError, match=rf"mkdocs\.yml{where}: .") as caught:
        read_site(config)
    assert "\n" not in str(caught.value)


RUNS = {
    "a call": "!!python/object/apply:os.mkdir [{made}]",
    "a new object": "!!python/object/new:os.mkdir [{made}]",
    "an object": "!!python/object:http.client.HTTPException {{}}",
    "a module": "!!python/module:this",
    "a whole tag": "!<tag:yaml.org,2002:python/object/apply:os.mkdir> [{made}]",
}


@pytest.mark.promise("settings-tags")
@pytest.mark.parametrize("inherited", [False, True])
@pytest.mark.parametrize("value", RUNS.values(), ids=list(RUNS))
def test_no_tag_in_settings_runs_code(tmp_path, value, inherited):
    config, base, made = (tmp_path / name for name in ("mkdocs.yml", "base.yml", "made"))
    config.write_text("INHERIT: base.yml\n")
    where = base if inherited else config
    where.write_text(f"site_name: A\nextra:\n  - x: {value.format(made=made)}\n")
    with pytest.raises(ReportError, match=rf"^{where}, line 3: '!!python/\S+' runs code when"):
        read_site(config)
    assert not made.exists()
    slugs = "!!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}"
    for usual in ("!!python/name:material.extensions.emoji.twemoji", slugs):
        where.write_text(f"site_name: A\nextra:\n  x: {usual}\n")
        assert read_site(config).name == "A"


NO_PAGES = {
    "a link": "extra:\n  social:\n  - link: javascript:alert(1)",
    "a link in capitals": "extra:\n  homepage:\n    ' JavaScript:alert(1)'",
    "a page of data": "nav:\n  - A: index.md\n  - B: data:text/html,x",
    "a link to change a page": "repo_url: https://a.example/\n\nedit_uri: 'vbscript:a'",
    "a picture that is none": "theme:\n  name: material\n  logo: data:text/html,x",
}


@pytest.mark.parametrize("text", NO_PAGES.values(), ids=list(NO_PAGES))
def test_settings_lead_to_no_code_and_it_is_said_at_once(tmp_path, text):
    config = tmp_path / "mkdocs.yml"
    config.write_text(text)
    with pytest.raises(ReportError, match=r"mkdocs\.yml, line 3: '.*' runs code, or is a page"):
        read_site(config)
    config.write_text(
        "site_name: 'Data: what they hold'\nextra:\n  a: data:image/png;base64,AA==\n"
    )
    assert read_site(config).name == "Data: what they hold"


TAKEN = {
    "a plugin that is not there": ("plugins: [serch]", r"mkdocs\.yml, line 3: plugins: .*serch"),
    "a key that is not known": ("strct: true", r"mkdocs\.yml, line 3: strct: Unrecog"),
    "a hook": ("hooks: [hook.py]", r"hook\.py, line 2: SystemExit: 0"),
}


@pytest.mark.promise("authors-files")
@pytest.mark.parametrize(("text", "said"), TAKEN.values(), ids=list(TAKEN))
def test_what_mkdocs_would_not_take_is_asked_before(tmp_path, monkeypatch, text, said):
    (tmp_path / "docs").mkdir()
    (tmp_path / "hook.py").write_text("import sys\nsys.exit(0)\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text("site_name: A\n\n")
    require_settings(config)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "abc")
    with pytest.raises(ReportError, match=r"SOURCE_DATE_EPOCH: .*'abc'"):
        require_settings(config)
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    config.write_text(f"site_name: A\n\n{text}\n")
    with pytest.raises(ReportError, match=said):
        require_settings(config)


def test_a_built_site_says_what_it_was_built_for(tmp_path):
    home = tmp_path / "index.html"
    home.write_text("<title>Home</title>", "utf-8")
    assert built_for(tmp_path) == ""
    for written in ("https://a.org/b/", "https:&#x2f;&#x2f;a.org&#x2f;b&#x2f;"):
        home.write_text(f'<link rel="canonical" href="{written}">', "utf-8")
        assert built_for(tmp_path) == "https://a.org/b/"
