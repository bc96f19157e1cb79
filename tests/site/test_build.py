"""Publishing to a branch of a git remote: what arrives, what is refused, what is left alone."""

import itertools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from report.errors import ReportError, UsageError
from report.pages.policy import NAME, policy
from report.site.check import check_site
from report.site.push import Git, push
from report.site.sums import write_sums
from tests.commands import contents, report, with_added

ADDRESS = "https://you.github.io/repo/"
PROTECTED = f'<meta charset="utf-8"><meta http-equiv="{NAME}" content="{policy()}">'
FILES = {
    "index.html": f'{PROTECTED}<link rel="canonical" href="{ADDRESS}"><a href="a/">a</a>',
    "a/index.html": f'{PROTECTED}<a href="../">home</a>',
    "404.html": f'{PROTECTED}<a href="/repo/">home</a>',
    "assets/_hidden.css": "body { color: red }\r\n",
    "assets/run.log": "ignored by many a .gitignore",
}


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A user's settings of git that would change what is published, if they were heeded."""
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
    for key, value in (
        ("user.name", "Ann"),
        ("user.email", "ann@example.org"),
        ("commit.gpgSign", "false"),
        ("core.hooksPath", "/dev/null"),
    ):
        git(folder, "config", key, value)
    for number, name in enumerate(("committed", "staged", "changed")):
        (folder / name).write_text("before", "utf-8")
        if number == 0:
            git(folder, "add", name)
            git(folder, "commit", "-q", "-m", "First")
    git(folder, "add", "staged")
    (folder / "committed").write_text("after", "utf-8")
    git(folder, "remote", "add", "origin", str(bare))
    return folder


@pytest.fixture
def site(project):
    return written(project / "site", FILES)


def written(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = name.endswith(".html") and not text.startswith(PROTECTED)
        path.write_bytes(((PROTECTED if whole else "") + text).encode())
    write_sums(folder)
    return folder


def arrived(bare, branch="gh-pages"):
    """dict of path to bytes of what a branch of the remote holds."""
    names = git(bare, "ls-tree", "-r", "-z", "--name-only", branch).strip("\0").split("\0")
    return {
        name: subprocess.run(
            ["git", "-C", str(bare), "show", f"{branch}:{name}"], capture_output=True, check=True
        ).stdout
        for name in names
    }


def log(bare, branch="gh-pages", what="%an <%ae> %s"):
    return git(bare, "log", f"--format={what}", branch).splitlines()


def test_the_branch_gets_the_site_byte_for_byte(site, project, bare):
    done = push(site, project)
    assert arrived(bare) == with_added(site, {".nojekyll": b""})
    assert log(bare) == [f"Ann <ann@example.org> Publish {ADDRESS}"]
    assert (done.changed, done.commit) == (True, git(bare, "rev-parse", "gh-pages"))
    assert git(bare, "branch", "--format=%(refname:short)") == "gh-pages"


def test_a_second_time_only_a_change_is_a_commit_on_top(site, project, bare):
    first = push(site, project)
    again = push(site, project)
    assert (again.changed, again.commit) == (False, first.commit)
    (site / "a" / "index.html").unlink()
    (site / "a").rmdir()
    written(site, {"index.html": FILES["index.html"].replace("a/", "b/"), "b/index.html": ""})
    third = push(site, project)
    assert third.changed
    assert git(bare, "rev-parse", "gh-pages^") == first.commit
    assert "a/index.html" not in arrived(bare)
    assert arrived(bare) == with_added(site, {".nojekyll": b""})


def test_fresh_leaves_one_commit(site, project, bare):
    push(site, project)
    written(site, {"new.txt": "new"})
    push(site, project)
    assert len(log(bare)) == 2
    push(site, project, fresh=True)
    assert len(log(bare)) == 1
    assert arrived(bare)["new.txt"] == b"new"


def test_nothing_of_the_project_is_touched(site, project):
    before = contents(project)
    push(site, project)
    written(site, {"new.txt": "new"})
    push(site, project, fresh=True)
    (site / "new.txt").unlink()
    written(site, {})
    assert contents(project) == before  # .git with index, objects and refs included
    assert set(git(project, "status", "--short", "-z").split("\0")) >= {"A  staged"}


def test_it_works_inside_a_hook_of_git(site, project, bare, monkeypatch):
    """git tells its hooks which repository, tree and index they are about."""
    monkeypatch.setenv("GIT_DIR", str(project / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(project))
    monkeypatch.setenv("GIT_INDEX_FILE", str(project / ".git" / "index"))
    before = contents(project)
    push(site, project)
    assert contents(project) == before
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name)
    assert arrived(bare) == with_added(site, {".nojekyll": b""})


@pytest.mark.parametrize("named", ["path", "relative", "url"])
def test_a_remote_may_be_a_path_or_an_address_and_the_project_no_repository(tmp_path, bare, named):
    folder = tmp_path / "elsewhere"
    site = written(folder / "site", FILES)
    push(site, folder, {"path": bare, "relative": "../remote.git", "url": bare.as_uri()}[named])
    assert arrived(bare) == with_added(site, {".nojekyll": b""})
    assert log(bare) == [f"report publish <publish@localhost> Publish {ADDRESS}"]


def test_history_is_kept_over_a_protocol_that_fetches_one_commit_only(site, project, bare):
    for text in "abc":
        written(site, {"text.txt": text})
        push(site, project, bare.as_uri())
    assert len(log(bare)) == 3


def test_other_branches_stay_and_another_branch_can_be_named(site, project, bare):
    git(project, "push", "-q", "origin", "main")
    head = git(bare, "rev-parse", "main")
    push(site, project, branch="pages", fresh=True)
    assert git(bare, "rev-parse", "main") == head
    assert arrived(bare, "pages")["index.html"] == FILES["index.html"].encode()


def test_a_branch_that_holds_no_site_is_not_overwritten(site, project, bare):
    git(project, "push", "-q", "origin", "main")
    for fresh in (False, True):
        with pytest.raises(ReportError, match=r"branch main of .* holds no site .*committed"):
            push(site, project, branch="main", fresh=fresh)
    assert arrived(bare, "main") == {"committed": b"before"}


def test_what_was_pushed_meanwhile_is_not_overwritten(site, project, bare, monkeypatch):
    push(site, project)
    tree, tip = Git.tree, git(bare, "rev-parse", "gh-pages")
    number = itertools.count()  # two equal commits of one second would be one

    def slow(*arguments):
        other = git(
            bare, "commit-tree", "-p", tip, "-m", f"Another's, {next(number)}", f"{tip}^{{tree}}"
        )
        git(bare, "update-ref", "refs/heads/gh-pages", other)
        return tree(*arguments)

    for name, value in (("NAME", "Bob"), ("EMAIL", "b@example.org")):
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
    git(bare, "config", "core.hooksPath", "/dev/null")
    monkeypatch.setattr(Git, "tree", slow)
    written(site, {"new.txt": "new"})
    for fresh in (False, True):
        with pytest.raises(ReportError, match="changed meanwhile; run the command again"):
            push(site, project, fresh=fresh)
    assert log(bare)[0] == "Bob <b@example.org> Another's, 1"


def test_a_domain_is_written_and_stays_until_another_comes(project, bare):
    domain = {"index.html": '<link rel="canonical" href="https://plots.example.org/">'}
    site = written(project / "site", domain)
    push(site, project, domain="plots.example.org")
    assert arrived(bare)["CNAME"] == b"plots.example.org\n"
    written(site, {"new.txt": "new"})
    push(site, project)
    assert arrived(bare)["CNAME"] == b"plots.example.org\n"
    written(site, {"CNAME": "other.example.org"})
    push(site, project)
    assert arrived(bare)["CNAME"] == b"other.example.org"


@pytest.mark.promise("publish-sums")
@pytest.mark.parametrize("old", [b"plots.example.org\n", b"plots.example.org"])
def test_a_clone_of_the_branch_passes_the_check(project, bare, tmp_path, old):
    """What publishing adds, for the host, is in the list that it pushes."""
    files = {"index.html": '<link rel="canonical" href="https://plots.example.org/">'}
    site = written(project / "site", files | {"CNAME": old.decode()})
    push(site, project)
    (site / "CNAME").unlink()  # it is kept
    written(site, {"new.txt": "new"})
    before = contents(site)
    push(site, project)
    assert contents(site) == before
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "-b", "gh-pages", str(bare), str(clone))
    shutil.rmtree(clone / ".git")
    assert check_site(clone) == {"pages": 1, "links": 1}
    listed = [line.split("  ")[1] for line in (clone / "SHA256SUMS").read_text().splitlines()]
    assert listed == [".nojekyll", "CNAME", "index.html", "new.txt"]
    (clone / "CNAME").write_text("evil.example.org\n")
    with pytest.raises(ReportError, match="CNAME: is not the file that was built"):
        check_site(clone)


@pytest.mark.parametrize("domain", ["https://example.org", "Example.org", "localhost", "a..b", "-"])
def test_what_is_no_domain_is_refused(site, project, domain):
    with pytest.raises(UsageError, match=r"DOMAIN: .* e\.g\. plots\.example\.org"):
        push(site, project, domain=domain)


def refused(bare, message, *arguments, **options):
    with pytest.raises(ReportError, match=message):
        push(*arguments, **options)
    assert git(bare, "for-each-ref") == ""


def test_a_site_for_another_address_is_refused(site, project, bare):
    publishing_elsewhere = {"site_url": "https://me.github.io/repo"}
    message = rf"was built for {ADDRESS}, not for https://me\.github\.io/repo/; build it with"
    refused(bare, message, site, project, **publishing_elsewhere)
    message = (
        r"not for the domain plots\.example\.org; build it with .*=https://plots\.example\.org/"
    )
    refused(bare, message, site, project, domain="plots.example.org")
    push(site, project, site_url=ADDRESS.rstrip("/"))


def test_a_site_without_an_address_is_refused(site, project, bare):
    written(site, {"index.html": "<title>Home</title>", "404.html": ""})
    refused(bare, r"without its address.*make site SITE_URL=https://you", site, project)


def test_a_site_that_is_not_built_or_not_sound_is_refused(site, project, bare):
    (site / "a" / "index.html").unlink()
    refused(bare, r"index\.html: a/ leads nowhere", site, project)
    (site / "index.html").unlink()
    refused(bare, r"no built site here .*; run `make site`", site, project)


@pytest.mark.parametrize("branch", ["", "a b", "../x", "-d", "a..b", "x.lock"])
def test_what_is_no_branch_is_refused(site, project, branch):
    with pytest.raises(UsageError, match=r"BRANCH: .* is no name of a branch; e\.g\. gh-pages"):
        push(site, project, branch=branch)


def test_without_git_it_says_so(site, project, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReportError, match="publishing needs git, which is not installed"):
        push(site, project)


def test_an_unknown_remote_is_refused_with_those_there_are(site, project, tmp_path):
    with pytest.raises(ReportError, match=r"no git remote 'upstream'; known here: origin\."):
        push(site, project, "upstream")
    with pytest.raises(ReportError, match=r"no git remote 'origin'; known here: none\."):
        push(site, tmp_path)
    with pytest.raises(UsageError, match="REMOTE: '--upload-pack=touch:x' is neither"):
        push(site, project, "--upload-pack=touch:x")


@pytest.mark.parametrize("remote", ["/no/such/repository.git", "file:///no/such.git"])
def test_a_remote_that_is_not_there_is_named(site, project, remote):
    with pytest.raises(ReportError, match=r"such.*: it cannot be reached, does not exist, or asks"):
        push(site, project, remote)


def test_passwords_in_addresses_are_not_shown(site, project):
    address = "http://ann:secret@127.0.0.1:1/repo.git"
    with pytest.raises(ReportError) as raised:
        push(site, project, address)
    assert "secret" not in str(raised.value)
    assert "http://127.0.0.1:1/repo.git" in str(raised.value)


def test_a_push_that_the_remote_declines_is_told_in_its_words(site, project, bare):
    hook = bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'pages are frozen until Monday' >&2\nexit 1\n", "utf-8")
    hook.chmod(0o755)
    git(bare, "config", "core.hooksPath", str(hook.parent))
    refused(bare, r"does not accept the push .*frozen until Monday", site, project)


def test_the_command_says_what_it_did(site, project, bare):
    for said in ("is now at", "has this site already, at"):
        done = report("publish", site, "--project", project)
        assert done.returncode == 0, done.stderr
        commit = git(bare, "rev-parse", "gh-pages")
        assert done.stderr.strip() == f"The branch gh-pages of {bare} {said} {commit[:12]}."
    done = report("publish", "--project", project, SITE_URL="https://me.github.io/repo")
    assert done.returncode == 1
    assert "was built for" in done.stderr
    assert Path(project / "site").is_dir()
