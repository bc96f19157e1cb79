"""Push a built site to a branch of a git remote, from which a host of static pages serves it.

This happens in a temporary repository. The project's working tree, index, branches and objects are
not touched, and the project need not be a git repository.

Settings and variables of the user divert no git command.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from report.errors import ReportError, UsageError, command
from report.files import own_folder, unreplaced
from report.pages.new import PLACEHOLDERS
from report.site import child, sums
from report.site.address import EXAMPLE, address, after_user, built_for
from report.site.check import DOMAIN, check_site
from report.text import without_secrets

SETTINGS = {
    # Files as they are, whatever the user's own settings do with text, filters and hooks.
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.attributesFile": os.devnull,
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.ignoreCase": "false",
    "core.precomposeUnicode": "false",
    "commit.gpgSign": "false",
    "push.gpgSign": "false",
    "push.followTags": "false",
    "push.recurseSubmodules": "no",  # "only" would push nothing and say nothing
    "push.pushOption": "",
    "gc.auto": "0",
}

AS_THEY_ARE = "* -text -eol -ident -filter -working-tree-encoding\n"
"""Attributes that count before those of `.gitattributes` in the site, which change files."""

HEEDED = re.compile(
    r"GIT_(AUTHOR_|COMMITTER_|SSH|SSL_|HTTP_|CURL_|ASKPASS$|PROXY_|ALLOW_PROTOCOL$|EXEC_PATH$"
    r"|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)$)"
)
"""Variables of git that count: who commits, how a host is reached, and the user's settings. Others
may name another repository, tree, index, namespace or store, as they do inside hooks of git."""

REMOTE = "publish:"
"""What git calls the remote in its arguments, which every user of the machine can read. Its
environment, which nobody else can, says what stands for it, and the password."""

SECRET = "REPORT_SECRET"  # noqa: S105 (its name)
"""Variable of git's environment: the password of the remote."""

HELPER = f"!f() {{ printf 'password=%s\\n' \"${SECRET}\"; }}; f"
"""Program that git asks for it, which a shell runs."""

WITH_USER = re.compile(r"(https?|ftps?|ssh)://([^/?#]*)@([^/?#]+)([^?#]*)")

WHO = ("AUTHOR", "COMMITTER")

TIMEOUT = 1800
"""Seconds a git command may take."""


class Git:
    """git in a bare repository of its own.

    folder: of the repository; author: git's settings user.name and user.email, with their values
    remote: what messages call the remote
    Every method raises a ReportError where git fails.
    """

    def __init__(self, folder: str, author: dict[str, str], remote: str):
        self.folder = folder
        self.remote = remote
        named = {key.partition(".")[2]: value for key, value in author.items()}
        self.environment = {
            **{f"GIT_{who}_{k.upper()}": v for who in WHO for k, v in named.items()},
            **_inherited(),
            "GIT_DIR": folder,
            "GIT_TERMINAL_PROMPT": "0",  # no question that nobody answers
            "LC_ALL": "C",
        }

    def __call__(self, *arguments: str, **variables: str) -> str:
        """What a git command writes.

        variables: of its environment, besides those of every command
        """
        settings = [part for key, value in SETTINGS.items() for part in ("-c", f"{key}={value}")]
        try:
            run = child.run if REMOTE in arguments else _run
            done = run(
                ["git", *settings, *arguments],
                env=self.environment | variables,
                cwd=self.folder,
                timeout=TIMEOUT,
            )
        except subprocess.TimeoutExpired as error:
            raise ReportError(
                f"git {arguments[0]} has not finished after {TIMEOUT // 60} minutes; is "
                f"{self.remote} reachable?"
            ) from error
        if done.returncode:
            # `push --porcelain` says what was refused where others write their result
            output = f"{done.stdout}\n{done.stderr}"
            raise ReportError(_explained(arguments[0], output, self.remote))
        return done.stdout.strip()

    def begin(self) -> None:
        """Make the repository."""
        self("init", "--quiet", "--bare", "--template=")
        attributes = Path(self.folder, "info", "attributes")
        attributes.parent.mkdir(exist_ok=True)
        attributes.write_text(AS_THEY_ARE)

    def require_branch(self, branch: str) -> None:
        """Stop for what is no name of a branch, with a UsageError."""
        if branch.startswith("refs/"):
            raise UsageError(
                f"BRANCH: {branch!r} is a full ref; give the name of the branch alone, without "
                "refs/heads/, e.g. gh-pages"
            )
        try:
            self("check-ref-format", "--branch", branch)
        except ReportError as error:
            raise UsageError(f"BRANCH: {branch!r} is no name of a branch; e.g. gh-pages") from error

    def lead_to(self, target: str) -> None:
        """Have git call the address that a push to `target` arrives at `REMOTE`.

        raises: UsageError for an address in which a secret stands where it cannot be taken out
        """
        address, settings, password = _apart(self._pushed_to(target))
        self.remote = without_secrets(address)
        given = [(f"url.{address}.insteadOf", REMOTE), *settings.items()]
        if password:  # no helper of the user's is told, which might keep it
            self.environment[SECRET] = password
            of = next(iter(settings)).replace(".username", ".helper")
            given += [(of, ""), (of, HELPER)]
        first = int(self.environment.get("GIT_CONFIG_COUNT") or 0)
        for number, (key, value) in enumerate(given, first):
            self.environment[f"GIT_CONFIG_KEY_{number}"] = key
            self.environment[f"GIT_CONFIG_VALUE_{number}"] = value
        self.environment["GIT_CONFIG_COUNT"] = str(first + len(given))

    def _pushed_to(self, target):
        """Where a push to an address arrives: settings of git may put another in its place."""
        listed = (entry.partition("\n") for entry in self("config", "--list", "--null").split("\0"))
        settings = {}
        for key, _, start in listed:
            base, _, kind = key.removeprefix("url.").rpartition(".")
            known, _ = settings.get(kind, ("", ""))
            if key.startswith("url.") and target.startswith(start) and len(start) > len(known):
                settings[kind] = start, base
        start, base = settings.get("pushinsteadof") or settings.get("insteadof") or ("", "")
        return base + target[len(start) :]

    def tip(self, ref: str) -> str:
        """The commit that a branch of the remote is at; "" if it does not have that branch."""
        for line in self("ls-remote", "--heads", REMOTE, ref).splitlines():
            commit, _, name = line.partition("\t")
            if name == ref:
                return commit
        return ""

    def require_site(self, commit: str, branch: str) -> None:
        """Refuse to replace anything that is not a site."""
        names = self("ls-tree", "--name-only", commit).splitlines()
        if names and "index.html" not in names:
            raise ReportError(
                f"the branch {branch} of {self.remote} holds no site (no index.html, but "
                f"{', '.join(names[:3])}); choose another BRANCH, or empty it first."
            )

    def tree(self, folder: Path, domain: str, old: str) -> str:
        """The tree of a built site, with the files that hosts of pages look for.

        domain: for the file CNAME; "" keeps the one of the site, or else of the commit `old`
        """
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
            path = Path(self.folder) / "publish-blob"
            path.write_bytes(content)
            blob = self("hash-object", "-w", "--no-filters", str(path))
            self("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", **index)
        return self("write-tree", **index)

    def _domain(self, folder, old):
        """The domain that the branch had, if the site does not bring one of its own; else ""."""
        if old and not (folder / "CNAME").exists() and self("ls-tree", old, "CNAME"):
            return self("cat-file", "blob", f"{old}:CNAME")
        return ""


def git_says(project: Path, *arguments: str) -> str:
    """What git says about the project; "" if it is not a repository."""
    done = _run(["git", *arguments], cwd=project, env=_inherited() | {"LC_ALL": "C"}, timeout=60)
    return "" if done.returncode else done.stdout.strip()


def _run(command, **options):
    pipes = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    return subprocess.run(command, errors="replace", **pipes, **options)  # noqa: S603


def _inherited():
    """The variables of this process that git is run with, see `HEEDED`."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or HEEDED.match(name)
    }


def _apart(address):
    """(an address without user and password, but that of ssh with its user; git's settings that
    name the user to its host alone; the password)."""
    bare = without_secrets(address)
    if bare == address:
        return address, {}, ""
    match = WITH_USER.fullmatch(address)
    scheme, user, host, rest = match.groups() if match else ("",) * 4
    name, colon, password = user.partition(":")
    if f"{scheme}://{host}{rest}" != bare or (colon and scheme == "ssh"):
        raise UsageError(
            f"REMOTE: {bare} came with what may be a password, where git would show it to all "
            "users of this machine; give https://USER:PASSWORD@HOST/PATH, with %2F for / and %40 "
            "for @ in a password, or leave it out."
        )
    if scheme == "ssh":
        return address, {}, ""
    return bare, {f"credential.{scheme}://{host}.username": unquote(name)}, unquote(password)


def _explained(command, output, remote):
    """One sentence about a git command that failed."""
    output = without_secrets(output.strip())
    if "stale info" in output or "fetch first" in output or "non-fast-forward" in output:
        return (
            f"{remote} refused the push: its branch has changed meanwhile; run the command again."
        )
    if "rejected" in output or "declined" in output or "denied" in output:
        reason = "it does not accept the push"
    elif command in ("ls-remote", "fetch", "push"):
        reason = "it cannot be reached, does not exist, or asks for a password"
    else:
        return f"git {command} failed: {_last(output)}"
    return f"{remote}: {reason} (git said: {_last(output)})."


def _last(output):
    """The errors in what git said, as one line."""
    lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"fatal:|error:|rejected|remote:", line)]
    return " ".join(telling or lines[-1:])[:400] or "nothing"


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
    with own_folder("publish") as temporary:
        git = Git(str(temporary), _author(project), without_secrets(target))
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
        return Published(old, False, git.remote)
    parents = ["-p", old] if old and not fresh else []
    commit = git("commit-tree", *parents, "-m", message, tree)
    # A lease: what somebody else has pushed meanwhile is never overwritten.
    lease = [f"--force-with-lease={ref}:{old}"] if fresh and old else []
    output = git("push", "--porcelain", *lease, REMOTE, f"{commit}:{ref}")
    if f":{ref}\t" not in output:
        raise ReportError(
            f"git says that all is well, but it pushed nothing to {ref} of {git.remote}; look for "
            "settings that change what is pushed: git config --list --show-origin"
        )
    return Published(commit, True, git.remote)


def _require_domain(domain):
    if domain and not DOMAIN.fullmatch(domain):
        raise UsageError(
            f"DOMAIN: {after_user(domain)!r} is no name of a domain in small letters; e.g. "
            "plots.example.org"
        )


def _require_own_words(folder):
    """Refuse a site that still has a text of a new article which stands for its author's own."""
    summary = f">{PLACEHOLDERS['summary']}<"
    authors = [
        f"articles/{path.parent.name}/"
        for path in sorted(folder.glob("datasets/*/provenance.json"))
        if json.loads(path.read_text("utf-8"))["article"]["author"] == PLACEHOLDERS["author"]
    ]
    home = unescape((folder / "index.html").read_text("utf-8", "replace"))
    pages = [*authors, *(["index.html"] if summary in home else [])]
    if pages:
        raise ReportError(
            f"{folder}: {pages[0]} still says what a new article says of its author or in its "
            f"summary; write your own in its first lines, and run `{command('site')}`."
        )


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
    listed = git_says(project, "remote")
    if remote in listed.split():
        remote = git_says(project, "remote", "get-url", "--push", remote) or remote
    elif not re.search(r"[:/\\]", remote) and not (project / remote).is_dir():
        known = ", ".join(listed.split()) or "none"
        raise ReportError(
            f"no git remote {remote!r}; known here: {known}. Give one of them, an address or a "
            f"path: `{command('publish', remote='git@github.com:you/repo.git')}`."
        )
    if remote.startswith("-"):
        public = without_secrets(remote)
        raise UsageError(
            f"REMOTE: {public!r} is neither a name, nor an address, nor a path; e.g. origin"
        )
    path = project / os.path.expanduser(remote)  # noqa: PTH111 (which stops for an unknown user)
    return str(path.resolve()) if path.is_dir() else remote


def _author(project):
    settings = {key: git_says(project, "config", key) for key in UNKNOWN_AUTHOR}
    return {key: value or UNKNOWN_AUTHOR[key] for key, value in settings.items()}
