"""Serves a folder to a browser, as `python -m report serve` does."""

import functools
import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

from report.publish import Handler


class Server(ThreadingHTTPServer):
    """Several processes may serve one port: tests run in two, which share one built site."""

    allow_reuse_port = True
    request_queue_size = 64  # a page asks for some thirty files at once


@contextmanager
def served(folder, port=0):
    """Address of a server of `folder`, ending in a slash.

    port: 0 for any that is free on this machine
    """
    handler = functools.partial(Handler, directory=str(folder))
    with Server(("127.0.0.1", port), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{serving.server_port}/"
        finally:
            serving.shutdown()
