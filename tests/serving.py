"""Serves a folder to a browser."""

import functools
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

from report.site.serve import Handler, server


class Host(Handler):
    """As most hosts of static sites do, it lets a browser keep files for some minutes: the scripts
    are read once for many tests. (The server of the project does not: its sites are built anew.)
    And it answers pages of other sites too, as what is published may be shown anywhere."""

    def is_foreign(self):
        return False

    def end_headers(self):
        self.send_header("Cache-Control", "max-age=600")
        super(Handler, self).end_headers()


BELOW = "some/repo/"
"""Where project pages lie on their host."""


class ProjectPages(Host):
    """As a host of project pages: the site below a folder, its own 404 page for the rest."""

    def translate_path(self, path):
        inside = urlsplit(path).path.removeprefix("/")
        if inside.startswith(BELOW):
            return super().translate_path("/" + inside.removeprefix(BELOW))
        return f"{self.directory}/no such file"


@contextmanager
def served(folder, handler=Host):
    """Address of a server of `folder` at a free port, ending in a slash.

    handler: `Host`; `ProjectPages`, which have the site `BELOW` that address; or the project's own
    """
    with server(folder, 0) as serving:
        serving.RequestHandlerClass = functools.partial(handler, directory=str(folder))
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{serving.server_port}/"
        finally:
            serving.shutdown()
