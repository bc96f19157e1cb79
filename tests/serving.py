"""Serves a folder to a browser."""

import functools
import threading
from contextlib import contextmanager

from report.site.serve import Handler, server


class Host(Handler):
    """As most hosts of static sites do, it lets a browser keep files for some minutes: the scripts
    are read once for many tests. (The server of the project does not: its sites are built anew.)"""

    def end_headers(self):
        self.send_header("Cache-Control", "max-age=600")
        super().end_headers()


@contextmanager
def served(folder, handler=Host):
    """Address of a server of `folder` at a free port, ending in a slash.

    handler: `Host`, or the project's own, `Handler`
    """
    with server(folder, 0) as serving:
        serving.RequestHandlerClass = functools.partial(handler, directory=str(folder))
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{serving.server_port}/"
        finally:
            serving.shutdown()
