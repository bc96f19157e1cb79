"""A small server to look at a built site on this machine."""

import errno
import functools
import gzip
from collections.abc import Callable
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from report.errors import ReportError, UsageError


def serve_folder(folder: Path, port: int, announce: Callable[[str], None]) -> None:
    """Serve a folder over HTTP on 127.0.0.1 until interrupted.

    announce: called with the address once the server listens
    raises: ReportError if there is no site, UsageError if the port is in use or not allowed
    """
    folder = Path(folder)
    if not (folder / "index.html").is_file():
        raise ReportError(f"{folder}: no built site here (index.html missing); run `make site`.")
    with server(folder, port) as serving:
        announce(f"http://127.0.0.1:{port}/")
        serving.serve_forever()


def server(folder: Path, port: int) -> "Server":
    """A server of a folder on 127.0.0.1, listening but not yet serving.

    port: 0 for any that is free
    raises: UsageError if the port is in use or not allowed
    """
    handler = functools.partial(Handler, directory=str(folder))
    try:
        return Server(("127.0.0.1", port), handler)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        reason = "in use" if error.errno == errno.EADDRINUSE else "not allowed"
        raise UsageError(
            f"port {port} is {reason}; choose another, e.g. `make serve PORT={port + 1}`."
        ) from error


class Server(ThreadingHTTPServer):
    """One thread a connection, of which browsers open several."""

    request_queue_size = 64  # a page asks for some thirty files at once


COMPRESSED = {".html", ".css", ".js", ".json", ".svg", ".xml", ".txt"}


class Handler(SimpleHTTPRequestHandler):
    """Serves files without a log. What is missing gets the site's own 404 page."""

    protocol_version = "HTTP/1.1"  # one connection for many files
    disable_nagle_algorithm = True  # or a file waits for the browser to confirm its head

    def handle(self):
        """Browsers drop requests when a reader leaves a page. That is not an error."""
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, *args):
        pass

    def do_GET(self):
        """Text goes out compressed, as any static host sends it: a shard is a third as large."""
        path = self.file()
        accepts = "gzip" in self.headers.get("Accept-Encoding", "")
        if not accepts or path.suffix not in COMPRESSED or not path.is_file():
            return super().do_GET()
        content = self.compressed(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    def file(self) -> Path:
        """What is asked for; it may be missing."""
        path = Path(self.translate_path(self.path))
        return path / "index.html" if path.is_dir() and self.path.endswith("/") else path

    def compressed(self, path: Path) -> bytes:
        """A file as it goes out."""
        return _compressed(path, path.stat().st_mtime_ns)

    def send_error(self, code, message=None, explain=None):
        page = Path(self.directory) / "404.html"
        if code != 404 or not page.is_file():
            return super().send_error(code, message, explain)
        content = page.read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        return None


@functools.lru_cache(256)
def _compressed(path, modified):
    """A compressed file, kept until it is modified."""
    return gzipped(path.read_bytes())


def gzipped(content: bytes) -> bytes:
    """Text as static hosts compress it."""
    return gzip.compress(content, 6)
