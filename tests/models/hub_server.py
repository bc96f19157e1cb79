"""A stand-in for the Hugging Face hub: its addresses, headers and refusals, on this machine.

Written after the hub's documented interface and what huggingface_hub asks for; no test has a real
hub. Like the hub it redirects large files to another address and answers ranges.
"""

import hashlib
import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from huggingface_hub import close_session, constants

TOKEN = "hf_a_token_that_nobody_may_see"


@dataclass
class Repository:
    """A model on the stand-in: its commits, and which of them each branch is at."""

    commits: dict
    """Commit, 40 hex digits -> folder."""
    branches: dict
    gated: bool = False
    pull_requests: list = field(default_factory=list)
    """Authors of its pull requests, the first of number 1."""


@dataclass
class Hub:
    """A running stand-in."""

    url: str = ""
    repositories: dict = field(default_factory=dict)
    requests: list = field(default_factory=list)
    """(method, path) of every request, in order."""
    failing: int | None = None
    """Status to answer everything with, e.g. 500."""

    def asked(self, method, pattern):
        """The paths asked for with a method that match a pattern."""
        return [path for verb, path in self.requests if verb == method and re.search(pattern, path)]

    def downloaded(self):
        """Names of the files whose content was sent, sorted; each may be sent only once."""
        paths = self.asked("GET", "/resolve/|/storage/")
        return sorted(path.split("/")[-1] for path in paths)


@contextmanager
def running_hub():
    """A Hub that answers while the block runs."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def hub_in_place(monkeypatch, home):
    """A Hub that this process takes for the real one, with an empty cache below `home`."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with running_hub() as hub:
        template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HOME", str(home))
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
        try:
            yield hub
        finally:
            close_session()  # its open connections would still be answered


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append((self.command, path))
        if self.hub.failing:
            return self.refuse(self.hub.failing, "")
        storage, api = path.startswith("/storage/"), path.startswith("/api/models/")
        path = path.removeprefix("/storage").removeprefix("/api/models").lstrip("/")
        found = re.fullmatch(r"([^/]+/[^/]+)/(?:(?:revision|resolve)/(.+)|discussions)", path)
        repository = found and self.hub.repositories.get(found[1])
        if not repository:
            return self.refuse(401 if not self.logged_in() else 404, "RepoNotFound")
        if api and found[2] is None:
            return self.discuss(found[1], repository)
        if api:
            return self.tell(found[1], repository, found[2])
        if repository.gated and not self.logged_in() and not storage:
            return self.refuse(401, "GatedRepo")
        revision, _, name = found[2].partition("/")
        return self.send_file(repository, revision, name, storage)

    def discuss(self, name, repository):
        """What /api/models/…/discussions says."""
        discussions = [
            {
                "num": number,
                "title": "Adding `safetensors` variant of this model",
                "author": {"name": author},
                "isPullRequest": True,
                "status": "open",
                "createdAt": "2023-03-07T12:00:00.000Z",
                "repo": {"name": name, "type": "model"},
            }
            for number, author in enumerate(repository.pull_requests, 1)
        ]
        answer = {"discussions": discussions, "count": len(discussions), "start": 0}
        self.reply(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})

    def tell(self, name, repository, revision):
        """What /api/models/…/revision/… says."""
        commit = repository.branches.get(revision, revision)
        if commit not in repository.commits:
            return self.refuse(404, "RevisionNotFound")
        folder = Path(repository.commits[commit])
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        siblings = [{"rfilename": path.relative_to(folder).as_posix()} for path in files]
        if "blobs" in urlsplit(self.path).query:
            for sibling, path in zip(siblings, files, strict=True):
                sibling["size"] = path.stat().st_size
        facts = {"id": name, "modelId": name, "sha": commit, "siblings": siblings}
        facts |= {"private": False, "gated": "manual" if repository.gated else False, "tags": []}
        content = json.dumps(facts).encode()
        self.reply(200, content, {"Content-Type": "application/json"})

    def send_file(self, repository, revision, name, storage):
        commit = repository.branches.get(revision, revision)
        folder = repository.commits.get(commit)
        if folder is None:
            return self.refuse(404, "RevisionNotFound")
        path = Path(folder) / name
        if not path.is_file():
            return self.refuse(404, "EntryNotFound", {"X-Repo-Commit": commit})
        content = path.read_bytes()
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        headers = {"X-Repo-Commit": commit, "ETag": etag, "Accept-Ranges": "bytes"}
        if name.endswith(".safetensors") and not storage:
            linked = {"X-Linked-ETag": etag, "X-Linked-Size": str(len(content))}
            place = f"{self.hub.url}/storage{urlsplit(self.path).path}"
            return self.reply(302, b"", {**headers, **linked, "Location": place})
        start, end = self.range(len(content))
        if (start, end) == (0, len(content)):
            return self.reply(200, content, headers)
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        return self.reply(206, content[start:end], headers)

    def range(self, length):
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not asked:
            return 0, length
        return int(asked[1]), min(int(asked[2] or length - 1) + 1, length)

    def logged_in(self):
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def refuse(self, status, code, headers=None):
        named = {"X-Error-Code": code} if code else {}
        if status == 401:
            named["X-Error-Message"] = "Invalid username or password."
        self.reply(status, b"", {**named, **(headers or {})})

    def reply(self, status, content, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
