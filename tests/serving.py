"""Serves a folder to a browser, as `python -m report serve` does."""

import threading
from contextlib import contextmanager

from report.site.serve import server


@contextmanager
def served(folder):
    """Address of a server of `folder` at a free port, ending in a slash."""
    with server(folder, 0) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{serving.server_port}/"
        finally:
            serving.shutdown()
