"""Push a built site to a branch of a git remote, from which a host of static pages serves it.

This happens in a temporary repository. The project's working tree, index, branches and objects are
not touched, and the project need not be a git repository.
"""

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from report.errors import ReportError, UsageError
from report.site import sums
from report.site.address import EXAMPLE, address, after_user, built_for, without_user
from report.site.check import check_site
from report.site.services import DOMAIN

SETTINGS = {
    # Files as they are, whatever the user's own settings do with text, filters and hooks.
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.attributesFile": os.devnull,
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "commit.gpgSign": "false",
    "push.gpgSign": "false",
    "gc.auto": "0",
}

HEEDED = re.compile(
    r"GIT_(AUTHOR_|COMMITTER_|SSH|SSL_|HTTP_|CURL_|ASKPASS$|PROXY_|ALLOW_PROTOCOL$|EXEC_PATH$"
    r"|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)$)"
)
"""Variables of git that count: who commits, how a host is reached, and the user's settings. Others
may name another repository, tree, index, namespace or store, as they do inside hooks of git."""

UNKNOWN_AUTHOR = {"user.name": "report publish", "user.email": "publish@localhost"}

WHO = ("AUTHOR", "COMMITTER")

TIMEOUT = 1800
"""Seconds a git command may take."""


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
    with tempfile.TemporaryDirectory(prefix="publish-") as own:
        git = _Git(own, _author(project), without_user(target))
        git("init", "--quiet", "--bare", "--template=")
        git.require_branch(branch)
        git.shown = without_user(git.pushed_to(target))
        check_site(folder)
        _require_address(folder, wanted, domain)
        return _push(git, folder, target, branch, domain, fresh)


def _push(git, folder, target, branch, domain, fresh):
    ref = f"refs/heads/{branch}"
    old = git.tip(target, ref)
    if old:
        git("fetch", "--quiet", "--no-tags", "--depth=1", target, f"+{ref}:refs/old")
        git.require_site(old, branch)
    tree = git.tree(folder, domain, old)
    if old and not fresh and git("rev-parse", f"{old}^{{tree}}") == tree:
        return Published(old, False, git.shown)
    parents = ["-p", old] if old and not fresh else []
    message = f"Publish {built_for(folder)}"
    commit = git("commit-tree", *parents, "-m", message, tree)
    # A lease: what somebody else has pushed meanwhile is never overwritten.
    lease = [f"--force-with-lease={ref}:{old}"] if fresh and old else []
    git("push", "--quiet", *lease, target, f"{commit}:{ref}")
    return Published(commit, True, git.shown)


class _Git:
    """git in a bare repository of its own."""

    def __init__(self, folder, author, shown):
        self.folder = folder
        self.shown = shown
        named = {key.partition(".")[2]: value for key, value in author.items()}
        self.environment = {
            **{f"GIT_{who}_{k.upper()}": v for who in WHO for k, v in named.items()},
            **_inherited(),
            "GIT_DIR": folder,
            "GIT_TERMINAL_PROMPT": "0",  # no question that nobody answers
            "LC_ALL": "C",
        }

    def __call__(self, *arguments, **variables):
        """What a git command writes; ReportError if it fails."""
        settings = [part for key, value in SETTINGS.items() for part in ("-c", f"{key}={value}")]
        try:
            done = subprocess.run(  # noqa: S603 (a list of arguments, no shell)
                ["git", *settings, *arguments],  # noqa: S607
                env=self.environment | variables,
                cwd=self.folder,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=TIMEOUT,
            )
        except subprocess.TimeoutExpired as error:
            raise ReportError(
                f"git {arguments[0]} has not finished after {TIMEOUT // 60} minutes; is "
                f"{self.shown} reachable?"
            ) from error
        if done.returncode:
            raise ReportError(_explained(arguments[0], done.stderr, self.shown))
        return done.stdout.strip()

    def require_branch(self, branch):
        if branch.startswith("refs/"):
            raise UsageError(
                f"BRANCH: {branch!r} is what git calls a branch inside; say its name alone, "
                "without refs/heads/, e.g. gh-pages"
            )
        try:
            self("check-ref-format", "--branch", branch)
        except ReportError as error:
            raise UsageError(f"BRANCH: {branch!r} is no name of a branch; e.g. gh-pages") from error

    def pushed_to(self, target):
        """Where a push to an address arrives: settings of git may put another in its place."""
        self("config", "remote.pages.url", target)
        return self("remote", "get-url", "--push", "pages")

    def tip(self, target, ref):
        """The commit that a branch of the remote is at; "" if it does not have that branch."""
        for line in self("ls-remote", "--heads", target, ref).splitlines():
            commit, _, name = line.partition("\t")
            if name == ref:
                return commit
        return ""

    def require_site(self, commit, branch):
        """Refuse to replace anything that is not a site."""
        names = self("ls-tree", "--name-only", commit).splitlines()
        if names and "index.html" not in names:
            raise ReportError(
                f"the branch {branch} of {self.shown} holds no site (no index.html, but "
                f"{', '.join(names[:3])}); choose another BRANCH, or empty it first."
            )

    def tree(self, folder, domain, old):
        """The tree of a built site, with the files that hosts of pages look for."""
        index = {"GIT_INDEX_FILE": f"{self.folder}/publish-index"}
        self("--work-tree", str(folder.resolve()), "add", "--all", "--force", ".", **index)
        # without it GitHub leaves out files whose names start with an underscore
        added = {".nojekyll": b""}
        domain = domain or self._domain(folder, old)
        if domain:
            added["CNAME"] = f"{domain}\n".encode()
        # what is added here is listed as well, so that a clone of the branch passes the check
        listed = sums.with_files((folder / sums.NAME).read_bytes(), added)
        for name, content in {**added, sums.NAME: listed}.items():
            self._add(name, content, index)
        return self("write-tree", **index)

    def _domain(self, folder, old):
        """The domain that the branch had, if the site does not bring one of its own; else ""."""
        if old and not (folder / "CNAME").exists() and self("ls-tree", old, "CNAME"):
            return self("cat-file", "blob", f"{old}:CNAME")
        return ""

    def _add(self, name, content, index):
        path = Path(self.folder) / "publish-blob"
        path.write_bytes(content)
        blob = self("hash-object", "-w", "--no-filters", str(path))
        self("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", **index)


def _require_domain(domain):
    if domain and not DOMAIN.fullmatch(domain):
        raise UsageError(
            f"DOMAIN: {after_user(domain)!r} is no name of a domain in small letters; e.g. "
            "plots.example.org"
        )


def _require_address(folder, wanted, domain):
    """Refuse a site that was built for another address than it will have."""
    built = address(built_for(folder))
    if not built:
        raise ReportError(
            f"{folder}: was built without its address, which its links and its feed need; build it "
            f"with `make site SITE_URL={wanted or EXAMPLE}`."
        )
    if wanted and wanted != built:
        raise ReportError(
            f"{folder}: was built for {built}, not for {wanted}; build it with "
            f"`make site SITE_URL={wanted}`."
        )
    if domain and (urlsplit(built).hostname, urlsplit(built).path) != (domain, "/"):
        raise ReportError(
            f"{folder}: was built for {built}, not for the domain {domain}; build it with "
            f"`make site SITE_URL=https://{domain}/`."
        )


def _target(project, remote):
    """The address or absolute path that a remote of the project stands for."""
    listed = _asked(project, "remote")
    if remote in listed.split():
        remote = _asked(project, "remote", "get-url", "--push", remote) or remote
    elif not re.search(r"[:/\\]", remote) and not (project / remote).is_dir():
        known = ", ".join(listed.split()) or "none"
        raise ReportError(
            f"no git remote {remote!r}; known here: {known}. Give one of them, an address or a "
            "path: `make publish REMOTE=git@github.com:you/repo.git`."
        )
    if remote.startswith("-"):
        said = without_user(remote)
        raise UsageError(f"REMOTE: {said!r} is neither a name, nor an address, nor a path.")
    path = project / Path(remote).expanduser()
    return str(path.resolve()) if path.is_dir() else remote


def _inherited():
    """The variables of this process that git is run with, see `HEEDED`."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or HEEDED.match(name)
    }


def _author(project):
    found = {key: _asked(project, "config", key) for key in UNKNOWN_AUTHOR}
    return {key: value or UNKNOWN_AUTHOR[key] for key, value in found.items()}


def _asked(project, *arguments):
    """What git says about the project; "" if it is not a repository."""
    done = subprocess.run(  # noqa: S603
        ["git", *arguments],  # noqa: S607
        cwd=project,
        env=_inherited() | {"LC_ALL": "C"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
    )
    return "" if done.returncode else done.stdout.strip()


def _explained(command, said, remote):
    """One sentence about a git command that failed."""
    said = without_user(said.strip())
    if "stale info" in said or "fetch first" in said or "non-fast-forward" in said:
        return (
            f"{remote} refused the push: its branch has changed meanwhile; run the command again."
        )
    if "rejected" in said or "declined" in said or "denied" in said:
        reason = "it does not accept the push"
    elif command in ("ls-remote", "fetch", "push"):
        reason = "it cannot be reached, does not exist, or asks for a password"
    else:
        return f"git {command} failed: {_last(said)}"
    return f"{remote}: {reason} (git said: {_last(said)})."


def _last(said):
    """The errors in what git said, as one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"fatal:|error:|rejected|remote:", line)]
    return " ".join(telling or lines[-1:])[:400] or "nothing"
