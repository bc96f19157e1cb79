"""Publishing to a branch of a git remote: what arrives, byte for byte, what is refused and left
alone, and that no password is told."""

import base64
import fcntl
import http.server
import itertools
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
from report.pages.policy import NAME, policy
from report.site.check import check_site
from report.site.push import SETTINGS, Git, push
from report.site.sums import write_sums
from tests.commands import ROOT, contents, report, with_added

ADDRESS = "https://you.github.io/repo/"
PROTECTED = f'<meta charset="utf-8"><meta http-equiv="{NAME}" content="{policy()}">'
FILES = {
    "index.html": f'{PROTECTED}<link rel="canonical" href="{ADDRESS}"><a href="a/">a</a>',
    "a/index.html": f'{PROTECTED}<a href="../">home</a>',
    "404.html": f'{PROTECTED}<a href="/repo/">home</a>',
    "assets/_hidden.css": "body { color: red }\r\n",
    "assets/run.log": "ignored by many a .gitignore",
}
DOMAIN = '<link rel="canonical" href="https://plots.example.org/">'

exactly = pytest.mark.promise("publish-exactly")


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def settings(tmp_path, monkeypatch):
    """A user's settings of git that would change what is published, if they were heeded; and a
    function that adds to them."""
    home = tmp_path / "home"
    (home / "hooks").mkdir(parents=True)
    (home / "hooks" / "pre-push").write_text("#!/bin/sh\nexit 1\n", "utf-8")
    (home / "hooks" / "pre-push").chmod(0o755)
    (home / "ignore").write_text("*.log\n", "utf-8")
    (home / "attributes").write_text("*.css text eol=lf\n", "utf-8")
    (home / ".gitconfig").write_text(
        f"[core]\n autocrlf = input\n hooksPath = {home}/hooks\n excludesFile = {home}/ignore\n"
        f" attributesFile = {home}/attributes\n[commit]\n gpgSign = true\n",
        "utf-8",
    )
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    def add(text):
        with (home / ".gitconfig").open("a") as file:
            file.write(text)

    return add


@pytest.fixture
def bare(tmp_path):
    folder = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(folder)], check=True)
    return folder


@pytest.fixture
def project(tmp_path, bare):
    """A repository with a commit, a staged and an unstaged change, and a remote named origin."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for key, value in {
        "user.name": "Ann",
        "user.email": "ann@example.org",
        "commit.gpgSign": "false",
        "core.hooksPath": "/dev/null",
    }.items():
        git(folder, "config", key, value)
    for name in ("committed", "staged"):
        (folder / name).write_text("before", "utf-8")
        git(folder, "add", name)
        if name == "committed":
            git(folder, "commit", "-q", "-m", "First")
    (folder / "committed").write_text("after", "utf-8")
    git(folder, "remote", "add", "origin", str(bare))
    return folder


@pytest.fixture
def site(project):
    return write(project / "site", FILES)


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = name.endswith(".html") and not text.startswith(PROTECTED)
        path.write_bytes(((PROTECTED if whole else "") + text).encode())
    write_sums(folder)
    return folder


def on_branch(bare, branch="gh-pages"):
    """dict of path to bytes of what a branch of the remote holds."""
    names = git(bare, "ls-tree", "-r", "-z", "--name-only", branch).strip("\0").split("\0")
    return {
        name: subprocess.run(
            ["git", "-C", str(bare), "show", f"{branch}:{name}"], capture_output=True, check=True
        ).stdout
        for name in names
    }


def whole(site):
    """What a branch holds of a site."""
    return with_added(site, {".nojekyll": b""})


def log(bare):
    return git(bare, "log", "--format=%an <%ae> %s", "gh-pages").splitlines()


def test_a_branch_gets_the_site_then_only_changes_on_top_or_one_fresh_commit(site, project, bare):
    first = push(site, project)
    assert on_branch(bare) == whole(site)
    assert log(bare) == [f"Ann <ann@example.org> Publish {ADDRESS}"]
    assert git(bare, "branch", "--format=%(refname:short)") == "gh-pages"
    again = push(site, project)
    assert (first.changed, again.changed, again.commit) == (True, False, first.commit)
    shutil.rmtree(site / "a")
    write(site, {"index.html": FILES["index.html"].replace("a/", "b/"), "b/index.html": ""})
    assert push(site, project).changed
    assert git(bare, "rev-parse", "gh-pages^") == first.commit
    assert on_branch(bare) == whole(site)
    push(site, project, fresh=True)
    assert len(log(bare)) == 1
    assert on_branch(bare) == whole(site)


@pytest.mark.parametrize("named", ["path", "relative", "url"])
def test_a_remote_may_be_a_path_or_an_address_and_the_project_no_repository(tmp_path, bare, named):
    """And over a protocol that fetches one commit only, all before it stay."""
    folder = tmp_path / "elsewhere"
    remote = {"path": bare, "relative": "../remote.git", "url": bare.as_uri()}[named]
    for text in "abc":
        site = write(folder / "site", FILES | {"text.txt": text})
        push(site, folder, remote)
    assert on_branch(bare) == whole(site)
    assert log(bare) == [f"report publish <publish@localhost> Publish {ADDRESS}"] * 3


def test_other_branches_stay_and_one_that_holds_no_site_is_not_overwritten(site, project, bare):
    git(project, "push", "-q", "origin", "main")
    push(site, project, branch="pages", fresh=True)
    assert on_branch(bare, "pages") == whole(site)
    for fresh in (False, True):
        with pytest.raises(ReportError, match=r"branch main of .* holds no site .*committed"):
            push(site, project, branch="main", fresh=fresh)
    assert on_branch(bare, "main") == {"committed": b"before"}


def test_what_was_pushed_meanwhile_is_not_overwritten(site, project, bare, monkeypatch):
    push(site, project)
    tree, tip = Git.tree, git(bare, "rev-parse", "gh-pages")
    number = itertools.count()  # two equal commits of one second would be one

    def slow(*arguments):
        message = f"Another's, {next(number)}"
        other = git(bare, "commit-tree", "-p", tip, "-m", message, f"{tip}^{{tree}}")
        git(bare, "update-ref", "refs/heads/gh-pages", other)
        return tree(*arguments)

    for name, value in (("NAME", "Bob"), ("EMAIL", "b@example.org")):
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
    git(bare, "config", "core.hooksPath", "/dev/null")
    monkeypatch.setattr(Git, "tree", slow)
    write(site, {"new.txt": "new"})
    for fresh in (False, True):
        with pytest.raises(ReportError, match="changed meanwhile; run the command again"):
            push(site, project, fresh=fresh)
    assert log(bare)[0] == "Bob <b@example.org> Another's, 1"


@pytest.mark.promise("publish-sums")
@pytest.mark.parametrize("by", ["option", "file", "file without an end"])
def test_a_clone_of_the_branch_passes_the_check(project, bare, tmp_path, by):
    """What publishing adds, for the host, is in the list that it pushes; a domain stays until
    another comes."""
    cname = {"CNAME": "plots.example.org" + "\n" * (by == "file")}
    site = write(project / "site", {"index.html": DOMAIN} | (cname if by != "option" else {}))
    push(site, project, domain="plots.example.org" if by == "option" else "")
    (site / "CNAME").unlink(missing_ok=True)
    write(site, {"new.txt": "new"})
    before = contents(site)
    push(site, project)
    assert contents(site) == before
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "-b", "gh-pages", str(bare), str(clone))
    shutil.rmtree(clone / ".git")
    assert check_site(clone) == {"pages": 1, "links": 1}
    listed = [line.split("  ")[1] for line in (clone / "SHA256SUMS").read_text().splitlines()]
    assert listed == [".nojekyll", "CNAME", "index.html", "new.txt"]
    assert (clone / "CNAME").read_text() == "plots.example.org\n"
    (clone / "CNAME").write_text("evil.example.org\n")
    with pytest.raises(ReportError, match="CNAME: is not the file that was built"):
        check_site(clone)
    write(site, {"CNAME": "other.example.org"})
    push(site, project)
    assert on_branch(bare)["CNAME"] == b"other.example.org"


ATTRIBUTES = {
    "ends of lines": "* text eol=crlf",
    "lines by their content": "* text=auto",
    "an id": "* ident",
    "an encoding": "*.txt working-tree-encoding=UTF-16",
    "a filter": "* filter=loud",
    "a macro": "[attr]mine filter=loud text\n* mine",
}
"""What a file .gitattributes may say."""


@exactly
@pytest.mark.parametrize("attributes", ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes_in_a_site_change_no_file(site, project, bare, settings, attributes):
    settings('[filter "loud"]\n clean = tr a-z A-Z\n required = true\n')
    for folder in (site, site / "a"):
        (folder / "text.txt").write_bytes("two\r\nlines, $Id: of an ü$\n".encode("utf-16"))
        (folder / "lines.txt").write_bytes(b"two\r\nlines, $Id: 1 $\n")
        (folder / ".gitattributes").write_text(f"{attributes}\n")
    write_sums(site)
    push(site, project)
    assert on_branch(bare) == whole(site)


@exactly
def test_names_that_differ_in_case_alone_arrive(site, project, bare, settings):
    settings("[core]\n ignoreCase = true\n precomposeUnicode = true\n")
    names = {"A.txt", "a.txt", "\u00e9", "e\u0301"}
    write(site, dict.fromkeys(names, ""))
    push(site, project)
    assert on_branch(bare).keys() > names


@exactly
@pytest.mark.parametrize(
    "unusual",
    [
        "[push]\n recurseSubmodules = only\n",
        "[push]\n pushOption = ci.skip\n followTags = true\n default = nothing\n",
        '[remote "pages"]\n url = /elsewhere\n pushurl = /elsewhere\n mirror = true\n',
    ],
)
def test_settings_do_not_keep_a_site_from_its_remote(site, project, bare, settings, unusual):
    settings(unusual)
    done = push(site, project)
    assert (done.changed, done.remote) == (True, str(bare))
    assert git(bare, "rev-parse", "gh-pages") == done.commit


@exactly
def test_variables_of_git_send_nothing_elsewhere_and_the_project_is_not_touched(
    tmp_path, site, project, bare, monkeypatch
):
    """As inside a hook of git, which learns by them which repository, tree and index it is for."""
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
    values |= {"GIT_INDEX_FILE": str(project / ".git" / "index"), "GIT_WORK_TREE": str(project)}
    before = contents(trap), contents(project)  # .git with index, objects and refs included
    with monkeypatch.context() as patch:
        for name, value in values.items():
            patch.setenv(name, value)
        done = push(site, project)
    assert git(bare, "for-each-ref", "--format=%(refname)") == "refs/heads/gh-pages"
    assert on_branch(bare) == whole(site)
    assert done.remote == str(bare)
    assert (contents(trap), contents(project)) == before


@exactly
def test_settings_that_put_another_address_in_place_are_told(
    tmp_path, site, project, bare, monkeypatch
):
    other = tmp_path / "other.git"
    git(tmp_path, "init", "-q", "--bare", str(other))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{other.as_uri()}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://pages.example/")
    assert push(site, project, "https://pages.example/").remote == other.as_uri()
    assert on_branch(other) == whole(site)
    assert git(bare, "for-each-ref") == ""


UNREACHED = "it cannot be reached, does not exist, or asks"
NO_DOMAIN = r"DOMAIN: .* e\.g\. plots\.example\.org"
NO_BRANCH = r"BRANCH: .* is no name of a branch; e\.g\. gh-pages"
WITH_PASSWORD = (
    *("--x=https://ann:secret@127.0.0.1:1/", "http://ann:secret@127.0.0.1:1/x.git"),
    *("http://ann:sec/secret@127.0.0.1:1/x.git", "http://127.0.0.1:1/x.git?private_token=secret"),
    *("ann:secret@127.0.0.1:1/x.git", "http:/ann:secret@127.0.0.1:1/x", "//a:secret@127.0.0.1/"),
    *("127.0.0.1:1/x.git?token=secret", "https://ann:sec secret@127.0.0.1:1/x.git"),
)
OPTIONS = {
    **{
        f"domain {domain!r}": ({"domain": domain}, NO_DOMAIN)
        for domain in ("Example.org", "localhost", "a..b", "-", "https://ann:secret@example.org/")
    },
    **{
        f"branch {branch!r}": ({"branch": branch}, NO_BRANCH)
        for branch in ("", "a b", "-d", "a..b", "x.lock", "a\x1bb", "HEAD", "@{-1}")
    },
    "a ref": ({"branch": "refs/heads/x"}, "without refs/heads/"),
    "an unknown remote": ({"remote": "upstream"}, "no git remote 'upstream'; known here: origin."),
    "an option": ({"remote": "--upload-pack=touch:x"}, "REMOTE: '--upload-pack=touch:x' is neit"),
    "no path": ({"remote": "/no/such/repository.git"}, f"such.*: {UNREACHED}"),
    "no file": ({"remote": "file:///no/such.git"}, f"such.*: {UNREACHED}"),
    "no user": ({"remote": "~nobody-here/repo.git"}, UNREACHED),
    **{f"remote {remote}": ({"remote": remote}, r"\w") for remote in WITH_PASSWORD},
}


@pytest.mark.promise("site-address")
@pytest.mark.parametrize(("options", "message"), OPTIONS.values(), ids=OPTIONS)
def test_what_cannot_be_meant_is_refused_and_no_password_repeated(
    site, project, bare, options, message
):
    with pytest.raises(ReportError, match=message) as raised:
        push(site, project, **options)
    usage = not message.startswith(("no git", "such", UNREACHED, r"\w"))
    assert isinstance(raised.value, UsageError) or not usage
    assert "secret" not in str(raised.value)
    assert git(bare, "for-each-ref") == ""


@pytest.mark.promise("empty-remote")
@pytest.mark.parametrize("remote", ["", " "])
def test_a_remote_that_is_empty_is_refused(site, project, bare, remote):
    with pytest.raises(UsageError, match="REMOTE: it is empty"):
        push(site, project, remote)
    assert git(bare, "for-each-ref") == ""


def linked(site):
    (site / "a" / "link.txt").symlink_to("/etc/passwd")


def within(site):
    (site / "missing.html").symlink_to("missing")


def repository(site):
    """git would send a pointer to it in place of its files."""
    git(site / "a", "init", "-q")


def canonical(address):
    text = f'<link rel="canonical" href="{address}">'
    return lambda site: write(site, {"index.html": text, "a/index.html": "", "404.html": ""})


ELSEWHERE = {"site_url": "https://me.github.io/repo"}
A_DOMAIN = {"domain": "plots.example.org"}
SITES = {
    "a link": (linked, {}, "site: a/link.txt is a link, which cannot be published; put a file"),
    "a link to nothing": (within, {}, "site: missing.html is a link"),
    "a repository": (repository, {}, r"site: a/\.git belongs to a repository of git"),
    "another address": (write_sums, ELSEWHERE, rf"for {ADDRESS}, not for https://me\.github\.io/r"),
    "another domain": (write_sums, A_DOMAIN, r"domain plots\.example\.org; build it with .*=https"),
    "no address": (canonical(""), {}, "without its address.*make site SITE_URL=https://you"),
    "a password": (canonical("https://a:secret@b.org/"), {}, "SITE_URL: .*a user or a password"),
    "a dead link": (lambda s: (s / "a/index.html").unlink(), {}, r"index\.html: a/ leads nowhere"),
    "no site": (lambda s: (s / "index.html").unlink(), {}, "no built site here .*; run `make site"),
}


@pytest.mark.promise("publish-exactly", "site-address")
@pytest.mark.parametrize(("damage", "options", "message"), SITES.values(), ids=SITES)
def test_a_site_that_is_not_sound_or_for_another_address_is_refused(
    site, project, bare, damage, options, message
):
    damage(site)
    with pytest.raises(ReportError, match=message) as raised:
        push(site, project, **options)
    assert "secret" not in str(raised.value)
    assert git(bare, "for-each-ref") == ""


def test_without_git_it_says_so(site, project, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReportError, match="publishing needs git, which is not installed"):
        push(site, project)


def test_a_push_that_the_remote_declines_is_explained_in_its_words(site, project, bare):
    hook = bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'pages are frozen until Monday' >&2\nexit 1\n", "utf-8")
    hook.chmod(0o755)
    git(bare, "config", "core.hooksPath", str(hook.parent))
    with pytest.raises(ReportError, match=r"does not accept the push .*frozen until Monday"):
        push(site, project)
    assert git(bare, "for-each-ref") == ""


def test_a_push_that_pushed_nothing_is_told(site, project, bare, settings, monkeypatch):
    monkeypatch.delitem(SETTINGS, "push.recurseSubmodules")
    settings("[push]\n recurseSubmodules = only\n")
    with pytest.raises(ReportError, match="it pushed nothing to refs/heads/gh-pages of /"):
        push(site, project)
    assert git(bare, "for-each-ref") == ""


def test_the_command_says_what_it_did_and_heeds_a_variable_that_is_empty(
    site, project, bare, monkeypatch
):
    for says in ("is now at", "has this site already, at"):
        done = report("publish", site, "--project", project)
        assert done.returncode == 0, done.stderr
        commit = git(bare, "rev-parse", "gh-pages")
        assert done.stderr.strip() == f"The branch gh-pages of {bare} {says} {commit[:12]}."
    done = report("publish", "--project", project, SITE_URL="https://me.github.io/repo")
    assert (done.returncode, "was built for" in done.stderr) == (1, True)
    monkeypatch.setenv("REPORT_REMOTE", "")
    done = report("publish", site, "--project", project)
    assert (done.returncode, "REMOTE: it is empty" in done.stderr) == (2, True)


WAITS = """
import fcntl, os, signal, sys, time
if "push" in sys.argv:
    held = open({held!r}, "w")
    fcntl.flock(held, fcntl.LOCK_EX)
    os.set_inheritable(held.fileno(), True)
    open({began!r}, "w").close()
    os.fork() or time.sleep(20)  # as a helper of git's, whose own end is told nobody
    time.sleep(20)
os.execv({git!r}, sys.argv)
"""
"""A program in place of git, which waits where it should push."""


def publishing(site, project, remote):
    """A process that publishes."""
    order = ("publish", site, "--remote", remote, "--project", project)
    command = [sys.executable, "-m", "report", *map(str, order)]
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)})


@pytest.mark.promise("killed-commands")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_publish_that_is_killed_pushes_nothing_and_leaves_nothing(
    site, project, bare, monkeypatch, tmp_path, number
):
    program, temporary = tmp_path / "bin" / "git", tmp_path / "tmp"
    names = {name: f"{tmp_path}/{name}" for name in ("held", "began")}
    program.parent.mkdir()
    temporary.mkdir()
    waits = WAITS.format(git=shutil.which("git"), **names)
    program.write_text(f"#!{sys.executable} -IS\n{waits}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(temporary))
    with publishing(site, project, bare) as process:
        while not (tmp_path / "began").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
    with (tmp_path / "held").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # until nobody holds it
    assert git(bare, "for-each-ref") == ""
    [left] = temporary.iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    program.unlink()
    with publishing(site, project, bare) as process:
        assert process.wait() == 0
    assert list(temporary.iterdir()) == []


class Pages(http.server.BaseHTTPRequestHandler):
    """A host that asks for a password, sends who has it to another, and has no repository."""

    def do_GET(self):
        self.server.look()
        self.server.heard.append(self.headers.get("Authorization"))
        elsewhere = self.server.elsewhere if self.server.heard[-1] else None
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
    pair, seen = [], set()

    def look():
        for path in [*Path("/proc").glob("[0-9]*/cmdline"), *tmp_path.rglob("*")]:
            with suppress(OSError):
                seen.add(path.read_bytes())

    with ExitStack() as stack:
        for _ in range(2):
            host = stack.enter_context(http.server.HTTPServer(("127.0.0.1", 0), Pages))
            host.heard, host.elsewhere, host.look = [], None, look
            threading.Thread(target=host.serve_forever, daemon=True).start()
            stack.callback(host.shutdown)
            pair.append(host)
        pair[0].elsewhere = f"http://127.0.0.1:{pair[1].server_port}"
        yield pair, seen


@pytest.mark.promise("remote-password")
@pytest.mark.parametrize("by", ["address", "settings"])
def test_a_password_is_in_no_argument_on_no_disk_and_told_its_host_alone(
    site, project, hosts, tmp_path, monkeypatch, by
):
    """Also where the user's settings put an address with it in the place of another, and keep
    passwords that were right."""
    (host, other), seen = hosts
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    place = f"http://ann:s%2Fecr%40et@127.0.0.1:{host.server_port}"
    values = {"credential.helper": "store"}
    if by == "settings":
        values[f"url.{place}/.insteadOf"] = "http://pages.example/"
    for number, (key, value) in enumerate(values.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(values)))
    with pytest.raises(ReportError, match=f"^http://127.0.0.1:{host.server_port}/x.git: it cannot"):
        push(site, project, "http://pages.example/x.git" if by == "settings" else f"{place}/x.git")
    assert host.heard == [None, "Basic " + base64.b64encode(b"ann:s/ecr@et").decode()]
    assert {*other.heard} == {None}
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
