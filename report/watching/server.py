"""The server of a watched site: pages as they are built, or drafts of them, and what they are told.

It adds a script to pages, at the address `SCRIPT`, which asks `STATE` again and again for the
newest build and for what stops the next one. The site on the disk has no trace of either. The
script asks, since a connection that stays open would be one of the six that a browser allows all
its tabs.
"""

import functools
import json
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs

from report.authored.guard import TooLongError
from report.authored.later import LaterError
from report.console import clean
from report.errors import ReportError
from report.pipeline import Request
from report.site.serve import HERE, Handler, server
from report.watching.draft import Draft

SCRIPT = "/.reload.js"
STATE = "/.reload"

SOURCE = Path(__file__).with_name("reload.js")
"""The script that `SCRIPT` answers with."""

NO_SITE = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>No such page</title>
<body><p>There is no such page, or no site yet.</p></body></html>"""


class BuildState:
    """The newest build, which open pages should be of, and what stops the next one.

    error: a sentence; "" where nothing does
    """

    def __init__(self) -> None:
        self.run, self.builds = secrets.token_hex(4), 0
        self.error = ""
        self.drafts: dict[str, Draft] = {}
        """Name of an article -> what is shown of it until the next build."""
        self.opened: dict[str, float] = {}
        """Path of a page -> when one that is open asked for the newest build."""
        self.fetched = 0.0
        """When a draft, or a file of one, was asked for."""

    @property
    def built(self) -> str:
        """The name of the newest build, also among those of other servers at this address."""
        return f"{self.run}-{self.builds}"

    def of(self, path: str) -> dict[str, str]:
        """What an open page is told, by its path: the name of what it should be of, what stops the
        next build, and what is still to come, in a sentence, "" if nothing is."""
        drafts, built = self.drafts, self.built
        if PAGE.fullmatch(path):
            self.opened[path] = time.monotonic()
        if draft := self.draft(path):
            return {
                "built": built + draft.name,
                "error": self.error,
                "later": f"Still to come: {draft.lacks}.",
            }
        names = ", ".join(sorted(drafts))
        later = f"Being completed, and here as it was before: {names}." if drafts else ""
        return {"built": built, "error": self.error, "later": later}

    def draft(self, path: str) -> Draft | None:
        """The draft that stands at the path of a page; None if there is none."""
        match = PAGE.fullmatch(path)
        return self.drafts.get(match[1]) if match else None

    def show(self, draft: Draft) -> None:
        """Show a draft in place of the page of its article."""
        self.error = ""
        self.drafts = self.drafts | {draft.article: draft}  # whoever answers has one or the other

    def succeeded(self) -> None:
        """Note that the site was built: pages of earlier builds will reload."""
        self.error = ""
        self.builds += 1
        self.drafts = {}

    def failed(self, why: str) -> None:
        """Note why it could not be built: pages will say so."""
        self.error = why


PAGE = re.compile(r"/articles/([^/]+)/(?:index\.html)?")
"""Path of the page of an article."""

DRAWN = re.compile(r"/(?:figures|datasets)/(\.draft-\d+)/")
"""Where the files of a draft are."""


def with_script(page: bytes, built: str) -> bytes:
    """The HTML of a page, with the script at its end; built: `BuildState.built` of the page."""
    script = f'<script src="{SCRIPT}?built={built}"></script>'.encode()
    before, end, after = page.rpartition(b"</body>")
    return before + script + end + after if end else page + script


class ReloadingHandler(Handler):
    """Adds the script to pages, and answers its addresses. A browser may store nothing."""

    def __init__(self, *arguments, state: BuildState, **options):
        self.state = state  # first, because a handler answers while it is made
        super().__init__(*arguments, **options)

    def end_headers(self):
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def answer(self):
        """Send a file of the site, a page with the script; or a draft, or a file of one; or answer
        the script's addresses."""
        address, _, question = self.path.partition("?")
        if address == SCRIPT:
            return self.send(SOURCE.read_bytes(), "text/javascript; charset=utf-8")
        if address == STATE:
            page = parse_qs(question).get("page", ["/"])[0]
            answer = json.dumps(self.state.of(page)).encode()
            return self.send(answer, "application/json; charset=utf-8")
        if draft := self.state.draft(address):
            self.state.fetched = time.monotonic()
            page = with_script(draft.html, self.state.built + draft.name)
            return self.send(page, "text/html; charset=utf-8")
        if match := DRAWN.match(address):
            return self.answer_file(match[1], address[1:])
        path, built = self.file(), self.state.built  # before the page is read: never a later build
        if path is None or path.suffix != ".html" or not path.is_file():
            return super().answer()
        return self.send(with_script(path.read_bytes(), built), "text/html; charset=utf-8")

    def answer_file(self, name, address):
        """Send a file of the draft of a name, where it is the newest of its article."""
        self.state.fetched = time.monotonic()
        draft = next((each for each in self.state.drafts.values() if each.name == name), None)
        try:
            content = draft and draft.file(address)
        except (ReportError, TooLongError, LaterError) as error:
            return self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, explain=clean(str(error)))
        if content is None:
            return self.send_error(HTTPStatus.NOT_FOUND)
        self.state.fetched = time.monotonic()
        return self.send(content, "application/json")

    def missing(self) -> bytes:
        """The page for a missing file, with the script: the next build may have the file."""
        built = self.state.built
        return with_script(super().missing() or NO_SITE, built)


@contextmanager
def serving(request: Request, port: int, state: BuildState) -> Iterator[str]:
    """Within the context, the site of a project is served on 127.0.0.1.

    yields: its address
    raises: UsageError if the port is in use or not allowed
    """
    handler = functools.partial(ReloadingHandler, state=state)
    with server(request.project.site, port, handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        try:
            yield f"http://{HERE}:{served.server_port}/"
        finally:
            served.shutdown()
