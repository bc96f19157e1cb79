"""The server of a site that is being written: it tells open pages of builds and of mistakes.

Only it answers the addresses `SCRIPT` and `STATE`. The site on the disk has no trace of them.
Pages ask again and again, since a connection that stays open would be one of the six that a
browser allows all its tabs.
"""

import json
import secrets
from pathlib import Path

from report.site.serve import Handler

SCRIPT = "/.reload.js"
STATE = "/.reload"

SOURCE = Path(__file__).with_name("reload.js")

NO_SITE = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>No such page</title>
<body><p>There is no such page, or no site yet.</p></body></html>"""


class Told:
    """What pages are told: which build they should be of, and what stops the next one."""

    def __init__(self) -> None:
        self.run, self.builds = secrets.token_hex(4), 0
        self.error = ""

    @property
    def built(self) -> str:
        """Names a build, also among those of other servers at this address."""
        return f"{self.run}-{self.builds}"

    def succeeded(self) -> None:
        """The site was built: pages of earlier builds will reload."""
        self.error = ""
        self.builds += 1

    def failed(self, why: str) -> None:
        """It could not be built: pages will say why."""
        self.error = why


def with_script(page: bytes, built: str) -> bytes:
    """A page with the script at its end; built: which build it is of."""
    script = f'<script src="{SCRIPT}?built={built}"></script>'.encode()
    before, end, after = page.rpartition(b"</body>")
    return before + script + end + after if end else page + script


class ReloadingHandler(Handler):
    """Adds the script to pages, and answers it. Nothing may be kept by a browser."""

    def __init__(self, *arguments, told: Told, **options):
        self.told = told  # first, because a handler answers while it is made
        super().__init__(*arguments, **options)

    def end_headers(self):
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def answer(self):
        """What the site has, pages with the script; and the two addresses of the script."""
        address = self.path.partition("?")[0]
        if address == SCRIPT:
            return self.send(SOURCE.read_bytes(), "text/javascript; charset=utf-8")
        if address == STATE:
            state = {"built": self.told.built, "error": self.told.error}
            return self.send(json.dumps(state).encode(), "application/json; charset=utf-8")
        path, built = self.file(), self.told.built  # before the page is read: never a later build
        if path is None or path.suffix != ".html" or not path.is_file():
            return super().answer()
        return self.send(with_script(path.read_bytes(), built), "text/html; charset=utf-8")

    def missing(self) -> bytes:
        """The page for what is missing, with the script: the next build may have it."""
        built = self.told.built
        return with_script(super().missing() or NO_SITE, built)
