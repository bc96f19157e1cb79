"""Publishing sends what was built to where it says, and says no password."""

import base64
import fcntl
import http.server
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from report.errors import ReportError, UsageError
from report.site.address import address
from report.site.check import check_site
from report.site.push import push
from report.text import without_secrets
from tests.commands import ROOT, contents, report, with_added
from tests.site.test_build import (  # noqa: F401
    ADDRESS,
    arrived,
    bare,
    git,
    home,
    project,
    site,
    written,
)


def refused(bare, message, *arguments, error=ReportError, **options):  # noqa: F811
    with pytest.raises(error, match=message) as raised:
        push(*arguments, **options)
    assert git(bare, "for-each-ref") == ""
    return str(raised.value)


@pytest.mark.promise("publish-exactly")
@pytest.mark.parametrize("target", ["/etc/passwd", "missing", "index.html", "."])
@pytest.mark.parametrize("name", ["a/link.txt", "linked.html"])
def test_a_site_with_links_is_refused(site, project, bare, target, name):  # noqa: F811
    (site / name).symlink_to(target)
    refused(bare, rf"site: {name} is a link, which cannot be published; put a file", site, project)
    with pytest.raises(ReportError, match=rf"{name} is a link"):
        check_site(site)


@pytest.mark.promise("publish-exactly")
def test_a_repository_inside_the_site_is_refused(site, project, bare):  # noqa: F811
    """git would send a pointer to it in place of its files."""
    git(site / "a", "init", "-q")
    refused(bare, r"site: a/\.git belongs to a repository of git", site, project)


@pytest.mark.promise("publish-exactly")
def test_variables_of_git_send_nothing_elsewhere(
    tmp_path,
    site,  # noqa: F811
    project,  # noqa: F811
    bare,  # noqa: F811
    monkeypatch,
):
    trap = tmp_path / "trap"
    git(tmp_path, "init", "-q", "--bare", str(trap))
    git(trap, "remote", "add", "origin", "/no/such/repository")
    values = dict.fromkeys(git(tmp_path, "rev-parse", "--local-env-vars").split(), str(trap))
    del values["GIT_CONFIG_COUNT"]  # settings of the user's; see the next test
    assert {"GIT_DIR", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE"} <= values.keys()
    values["GIT_CONFIG_PARAMETERS"] = f"'url.{trap}.insteadOf'='{bare}'"
    values |= {"GIT_NAMESPACE": "elsewhere", "GIT_DEFAULT_HASH": "sha256"}
    values |= {"GIT_TEMPLATE_DIR": str(trap), "GIT_QUARANTINE_PATH": str(trap)}
    values |= {"GIT_LITERAL_PATHSPECS": "1", "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    before = contents(trap)
    with monkeypatch.context() as patch:
        for name, value in values.items():
            patch.setenv(name, value)
        done = push(site, project)
    assert git(bare, "for-each-ref", "--format=%(refname)") == "refs/heads/gh-pages"
    assert arrived(bare) == with_added(site, {".nojekyll": b""})
    assert (done.remote, contents(trap)) == (str(bare), before)


@pytest.mark.promise("publish-exactly")
def test_settings_that_put_another_address_in_place_are_told(
    tmp_path,
    site,  # noqa: F811
    project,  # noqa: F811
    bare,  # noqa: F811
    monkeypatch,
):
    other = tmp_path / "other.git"
    git(tmp_path, "init", "-q", "--bare", str(other))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{other.as_uri()}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://pages.example/")
    done = push(site, project, "https://pages.example/")
    assert done.remote == other.as_uri()
    assert arrived(other) == with_added(site, {".nojekyll": b""})
    assert git(bare, "for-each-ref") == ""


@pytest.mark.promise("publish-exactly")
@pytest.mark.parametrize("branch", ["refs/heads/x", "refs/tags/x", "refs/x"])
def test_a_branch_is_named_without_what_git_puts_before_it(site, project, bare, branch):  # noqa: F811
    refused(bare, "without refs/heads/", site, project, branch=branch, error=UsageError)


@pytest.mark.parametrize("branch", ["a\nb", "a\x1bb", "HEAD", "@{-1}", "-x"])
def test_what_git_takes_for_something_else_is_no_branch(site, project, bare, branch):  # noqa: F811
    refused(bare, "BRANCH: .* is no name", site, project, branch=branch, error=UsageError)


WITH_PASSWORD = (
    *("https://ann:secret@example.org/", "https://secret@example.org/x", "http://:secret@a.org"),
    *("https://ann:secret@", "https://ann:sec@secret@example.org/", "https://ann:1x/secret@a.org/"),
    *("ann:secret@example.org", "ftp://ann:secret@example.org/", "https:ann:secret@example.org/"),
    *("https://ann:secret@[", "https://ann:secret@example.org/{{7*7}}", "https://a secret@b.org"),
)


@pytest.mark.promise("site-address")
@pytest.mark.parametrize("given", WITH_PASSWORD)
def test_a_site_has_no_address_with_a_password_and_no_message_repeats_it(given):
    with pytest.raises(UsageError, match="SITE_URL: ") as raised:
        address(given)
    assert "secret" not in str(raised.value)


def test_an_at_behind_the_host_is_no_user():
    assert address("https://example.org/@ann") == "https://example.org/@ann/"


@pytest.mark.promise("site-address")
@pytest.mark.parametrize("letter", [*"{}|^`<>\"'\\", *"\t\n\0\x7f\u00a0\u2028\u202e\u3000"])
@pytest.mark.parametrize("form", ["https://example.org/{}/", "https://a{}b.org/"])
def test_what_pages_might_take_for_code_is_no_part_of_an_address(form, letter):
    with pytest.raises(UsageError, match=r"SITE_URL: .* is not the address of a site"):
        address(form.format(letter))


def test_braces_in_an_address_are_told_as_part_of_it():
    with pytest.raises(UsageError, match=r"SITE_URL: 'https://example\.org/\{\{7\*7\}\}/' is not"):
        address("https://example.org/{{7*7}}/")


@pytest.mark.promise("site-address")
def test_a_site_that_was_built_with_a_password_is_not_published(site, project, bare):  # noqa: F811
    link = f'<link rel="canonical" href="{ADDRESS.replace("//", "//ann:secret@")}">'
    written(site, {"index.html": link, "a/index.html": "", "404.html": ""})
    assert "secret" not in refused(bare, "SITE_URL: .*a user or a password", site, project)


@pytest.mark.promise("site-address")
@pytest.mark.parametrize("domain", ["ann:secret@example.org", "https://ann:secret@example.org/"])
def test_a_password_in_a_domain_is_not_repeated(site, project, bare, domain):  # noqa: F811
    assert "secret" not in refused(bare, "DOMAIN: ", site, project, domain=domain)


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
        ("https://example.org/a@b.git", "https://example.org/a@b.git"),
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
        ("git@example.org:you/x@v1", "git@example.org:you/x@v1"),
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


@pytest.mark.promise("site-address")
@pytest.mark.parametrize(
    "remote",
    [
        *("--x=https://ann:secret@127.0.0.1:1/", "http://ann:secret@127.0.0.1:1/x.git"),
        "http://ann:sec/secret@127.0.0.1:1/x.git",
        "http://127.0.0.1:1/x.git?private_token=secret",
        *(
            "ann:secret@127.0.0.1:1/x.git",
            "http:/ann:secret@127.0.0.1:1/x",
            "//a:secret@127.0.0.1/",
        ),
        *("127.0.0.1:1/x.git?token=secret", "https://ann:sec secret@127.0.0.1:1/x.git"),
    ],
)
def test_no_message_repeats_a_password_in_a_remote(site, project, bare, remote):  # noqa: F811
    assert "secret" not in refused(bare, r"\w", site, project, remote)


def test_the_folder_of_a_user_who_is_unknown_is_no_remote(site, project, bare):  # noqa: F811
    refused(bare, "cannot be reached, does not exist", site, project, "~nobody-here/repo.git")


@pytest.mark.promise("empty-remote")
@pytest.mark.parametrize("remote", ["", " "])
def test_a_remote_that_is_empty_is_refused(site, project, bare, remote):  # noqa: F811
    refused(bare, "REMOTE: it is empty", site, project, remote, error=UsageError)
    assert "gh-pages" not in git(project, "branch", "--all")


@pytest.fixture
def with_git(tmp_path, monkeypatch):
    """Has the test's own Python run in place of git, with what git is in `GIT`."""

    def put(code):
        path = tmp_path / "bin" / "git"
        path.parent.mkdir()
        known = f"import fcntl, os, signal, sys, time\nGIT = {shutil.which('git')!r}\n"
        path.write_text(f"#!{sys.executable} -IS\n{known}{code}\nos.execv(GIT, sys.argv)\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")

    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return put


def publishing(site, project, remote):  # noqa: F811
    """A process that publishes."""
    order = ("publish", site, "--remote", remote, "--project", project)
    command = [sys.executable, "-m", "report", *map(str, order)]
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)})


WAITS = """
if {!r} in sys.argv:
    held = open({!r}, "w")
    fcntl.flock(held, fcntl.LOCK_EX)
    os.set_inheritable(held.fileno(), True)
    open({!r}, "w").close()
    os.fork() or time.sleep(20)  # as a helper of git's, whose own end is told nobody
    time.sleep(20)
"""


@pytest.mark.promise("killed-commands")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_publish_that_is_killed_pushes_nothing_and_leaves_nothing(
    site,  # noqa: F811
    project,  # noqa: F811
    bare,  # noqa: F811
    with_git,
    tmp_path,
    number,
):
    with_git(WAITS.format("push", f"{tmp_path}/held", f"{tmp_path}/began"))
    with publishing(site, project, bare) as process:
        while not (tmp_path / "began").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
    with (tmp_path / "held").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # until nobody holds it
    assert git(bare, "for-each-ref") == ""
    [left] = (tmp_path / "tmp").iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    (tmp_path / "bin" / "git").unlink()
    with publishing(site, project, bare) as process:
        assert process.wait() == 0
    assert list((tmp_path / "tmp").iterdir()) == []


class Pages(http.server.BaseHTTPRequestHandler):
    """A host that asks for a password, sends who has it to another, and has no repository."""

    def do_GET(self):
        self.server.look()
        self.server.said.append(self.headers.get("Authorization"))
        elsewhere = self.server.elsewhere if self.server.said[-1] else None
        self.send_response(302 if elsewhere else 401)
        self.send_header("Location", f"{elsewhere}{self.path}")
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def hosts(tmp_path):
    """Two hosts, the first leads to the second; and what is in arguments of programs, and in files,
    while they are asked."""
    found, seen = [], set()

    def look():
        for path in [*Path("/proc").glob("[0-9]*/cmdline"), *tmp_path.rglob("*")]:
            with suppress(OSError):
                seen.add(path.read_bytes())

    with ExitStack() as stack:
        for _ in range(2):
            host = stack.enter_context(http.server.HTTPServer(("127.0.0.1", 0), Pages))
            host.said, host.elsewhere, host.look = [], None, look
            threading.Thread(target=host.serve_forever, daemon=True).start()
            stack.callback(host.shutdown)
            found.append(host)
        found[0].elsewhere = f"http://127.0.0.1:{found[1].server_port}"
        yield found, seen


@pytest.mark.promise("remote-password")
@pytest.mark.parametrize("by", ["address", "settings"])
def test_a_password_is_in_no_argument_on_no_disk_and_told_its_host_alone(
    site,  # noqa: F811
    project,  # noqa: F811
    hosts,
    tmp_path,
    monkeypatch,
    by,
):
    """Also where the user's settings put an address with it in the place of another, and keep
    passwords that were right."""
    (host, other), seen = hosts
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    place = f"http://ann:s%2Fecr%40et@127.0.0.1:{host.server_port}"
    settings = {"credential.helper": "store"}
    if by == "settings":
        settings[f"url.{place}/.insteadOf"] = "http://pages.example/"
    for number, (key, value) in enumerate(settings.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    with pytest.raises(ReportError, match=f"^http://127.0.0.1:{host.server_port}/x.git: it cannot"):
        push(site, project, "http://pages.example/x.git" if by == "settings" else f"{place}/x.git")
    assert [*host.said] == [None, "Basic " + base64.b64encode(b"ann:s/ecr@et").decode()]
    assert {*other.said} == {None}
    assert any(b"remote-http" in each for each in seen), "the test sees git's programs"
    assert not [each for each in seen if re.search(rb"s(%2F|/)ecr", each)]
    assert not [p for p in (tmp_path / "home").iterdir() if "credentials" in p.name]


@pytest.mark.promise("site-address")
@pytest.mark.parametrize("remote", ["https://ann:secret@example.org/x.git", ""])
def test_make_does_not_show_what_it_publishes_to(tmp_path, remote):
    (tmp_path / "bin").mkdir()
    says = '#!/bin/sh\necho ran "$@"\nprintf %s "$REPORT_REMOTE" > "${0%/*}/told"\n'
    (tmp_path / "bin" / "python").write_text(says)
    (tmp_path / "bin" / "python").chmod(0o755)
    (tmp_path / ".ready").touch()
    done = subprocess.run(
        ["make", "publish", f"VENV={tmp_path}"],
        cwd=ROOT,
        env=os.environ | {"REMOTE": remote},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "ran -m report publish" in done.stdout
    assert "secret" not in done.stdout + done.stderr
    assert (tmp_path / "bin" / "told").read_text() == remote


def test_the_remote_of_the_environment_counts_also_if_it_is_empty(site, project, bare, monkeypatch):  # noqa: F811
    monkeypatch.setenv("REPORT_REMOTE", "")
    done = report("publish", site, "--project", project)
    assert (done.returncode, "REMOTE: it is empty" in done.stderr) == (2, True)
    monkeypatch.setenv("REPORT_REMOTE", str(bare))
    assert report("publish", site, "--project", project).returncode == 0
    assert arrived(bare) == with_added(site, {".nojekyll": b""})
