"""Push a built site to a branch of a git remote, from which a host of static pages serves it.

This happens in a temporary repository. The project's working tree, index, branches and objects are
not touched, and the project need not be a git repository.
"""

import json
import os
import re
import shutil
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

from report.errors import ReportError, UsageError, command
from report.files import own_folder, unreplaced
from report.pages.new import PLACEHOLDERS
from report.site.address import EXAMPLE, address, after_user, built_for
from report.site.check import check_site
from report.site.git import REMOTE, Git, asked
from report.site.services import DOMAIN
from report.text import without_secrets

UNKNOWN_AUTHOR = {"user.name": "report publish", "user.email": "publish@localhost"}


@dataclass(frozen=True)
class Published:
    """What `push` did."""

    commit: str
    """The commit that the branch now points to."""
    changed: bool
    """Whether there was anything to push."""
    remote: str
    """Where to, without a password."""


def push(
    folder: Path,
    project: Path,
    remote: str = "origin",
    branch: str = "gh-pages",
    *,
    site_url: str = "",
    domain: str = "",
    fresh: bool = False,
) -> Published:
    """Push a built site to a branch of a git remote as one commit.

    folder: the built site; project: the folder whose git repository knows the remote's name
    remote: name of a remote of the project's repository, an address, or a path
    site_url: the address that the site must have been built for; "": any
    domain: for the file CNAME; "" keeps the one that the site or the branch has
    fresh: leave one commit, without the history before it
    raises: ReportError if the site is not built, has errors, or was built for another address; if
        there is no git or no such remote; or if the push fails. UsageError for an impossible
        branch or domain
    """
    folder, project, remote = Path(folder), Path(project), str(remote)
    if shutil.which("git") is None:
        raise ReportError("publishing needs git, which is not installed; install it and try again.")
    _require_domain(domain)
    wanted = address(site_url)
    target = _target(project, remote)
    with own_folder("publish") as own:
        git = Git(str(own), _author(project), without_secrets(target))
        git.begin()
        git.require_branch(branch)
        git.lead_to(target)
        with unreplaced(folder):  # what is pushed is what was checked
            check_site(folder)
            _require_own_words(folder)
            _require_address(folder, wanted, domain)
            old, tree = _trees(git, folder, branch, domain)
            message = f"Publish {built_for(folder)}"
        return _push(git, branch, old, tree, message, fresh)


def _trees(git, folder, branch, domain):
    """The commit that the branch points to, "" for none; and the tree of the site."""
    ref = f"refs/heads/{branch}"
    old = git.tip(ref)
    if old:
        git("fetch", "--quiet", "--no-tags", "--depth=1", REMOTE, f"+{ref}:refs/old")
        git.require_site(old, branch)
    return old, git.tree(folder, domain, old)


def _push(git, branch, old, tree, message, fresh):
    ref = f"refs/heads/{branch}"
    if old and not fresh and git("rev-parse", f"{old}^{{tree}}") == tree:
        return Published(old, False, git.shown)
    parents = ["-p", old] if old and not fresh else []
    commit = git("commit-tree", *parents, "-m", message, tree)
    # A lease: what somebody else has pushed meanwhile is never overwritten.
    lease = [f"--force-with-lease={ref}:{old}"] if fresh and old else []
    said = git("push", "--porcelain", *lease, REMOTE, f"{commit}:{ref}")
    if f":{ref}\t" not in said:
        raise ReportError(
            f"git says that all is well, but it pushed nothing to {ref} of {git.shown}; look for "
            "settings that change what is pushed: git config --list --show-origin"
        )
    return Published(commit, True, git.shown)


def _require_domain(domain):
    if domain and not DOMAIN.fullmatch(domain):
        raise UsageError(
            f"DOMAIN: {after_user(domain)!r} is no name of a domain in small letters; e.g. "
            "plots.example.org"
        )


def _require_own_words(folder):
    """Refuse a site that still has a text of a new article which stands for its author's own."""
    shown = f">{PLACEHOLDERS['summary']}<"
    authors = [
        f"articles/{path.parent.name}/"
        for path in sorted(folder.glob("datasets/*/provenance.json"))
        if json.loads(path.read_text("utf-8"))["article"]["author"] == PLACEHOLDERS["author"]
    ]
    pages = [*authors, *(["index.html"] if shown in _text_of(folder / "index.html") else [])]
    if pages:
        raise ReportError(
            f"{folder}: {pages[0]} still says what a new article says of its author or in its "
            f"summary; write your own in its first lines, and run `{command('site')}`."
        )


def _text_of(page):
    return unescape(page.read_text("utf-8", "replace"))


def _require_address(folder, wanted, domain):
    """Refuse a site that was built for another address than it will have."""
    built = address(built_for(folder))
    if not built:
        raise ReportError(
            f"{folder}: was built without its address, which its links and its feed need; build it "
            f"with `{command('site', site_url=wanted or EXAMPLE)}`."
        )
    if wanted and wanted != built:
        raise ReportError(
            f"{folder}: was built for {built}, not for {wanted}; build it with "
            f"`{command('site', site_url=wanted)}`."
        )
    if domain and (urlsplit(built).hostname, urlsplit(built).path) != (domain, "/"):
        raise ReportError(
            f"{folder}: was built for {built}, not for the domain {domain}; build it with "
            f"`{command('site', site_url=f'https://{domain}/')}`."
        )


def _target(project, remote):
    """The address or absolute path that a remote of the project stands for."""
    if not remote.strip():
        raise UsageError(
            "REMOTE: it is empty (a secret or a variable that is not set?); give the name of a "
            "remote, an address or a path; e.g. origin"
        )
    listed = asked(project, "remote")
    if remote in listed.split():
        remote = asked(project, "remote", "get-url", "--push", remote) or remote
    elif not re.search(r"[:/\\]", remote) and not (project / remote).is_dir():
        known = ", ".join(listed.split()) or "none"
        raise ReportError(
            f"no git remote {remote!r}; known here: {known}. Give one of them, an address or a "
            f"path: `{command('publish', remote='git@github.com:you/repo.git')}`."
        )
    if remote.startswith("-"):
        said = without_secrets(remote)
        raise UsageError(
            f"REMOTE: {said!r} is neither a name, nor an address, nor a path; e.g. origin"
        )
    path = project / os.path.expanduser(remote)  # noqa: PTH111 (which stops for an unknown user)
    return str(path.resolve()) if path.is_dir() else remote


def _author(project):
    found = {key: asked(project, "config", key) for key in UNKNOWN_AUTHOR}
    return {key: value or UNKNOWN_AUTHOR[key] for key, value in found.items()}
