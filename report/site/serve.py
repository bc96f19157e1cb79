"""A small server to look at a built site on this machine.

It gives out what lies in the folder of the site and nothing else, and only to pages that know it as
this machine: a page of another host that has its name point here gets nothing.
"""

import errno
import functools
import gzip
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from report.errors import ReportError, UsageError, command

HERE = "127.0.0.1"
"""The address it listens on: no other machine reaches it."""

HOST = re.compile(r"(127\.0\.0\.1|\[::1\]|([a-z0-9-]+\.)*localhost)(:\d{1,5})?", re.IGNORECASE)
"""What a browser calls this machine: names that no other machine can have (RFC 6761), and a port,
which may be that of a tunnel."""

RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
"""One range of bytes. Others are ignored, as a server may (RFC 9110, section 14.2)."""


def serve_folder(folder: Path, port: int, announce: Callable[[str], None]) -> None:
    """Serve a folder over HTTP on 127.0.0.1 until interrupted.

    announce: called with the address once the server listens
    raises: ReportError if there is no site, UsageError if the port is in use or not allowed
    """
    folder = Path(folder)
    if not (folder / "index.html").is_file():
        raise ReportError(
            f"{folder}: no built site here (index.html missing); run `{command('site')}`."
        )
    with server(folder, port) as serving:
        announce(f"http://{HERE}:{port}/")
        serving.serve_forever()


def server(folder: Path, port: int, handler: Callable | None = None) -> "Server":
    """A server of a folder on 127.0.0.1, listening but not yet serving.

    port: 0 for any that is free; handler: what answers, default: `Handler`
    raises: UsageError if the port is in use or not allowed
    """
    try:
        return Server((HERE, port), functools.partial(handler or Handler, directory=str(folder)))
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        reason = "in use" if error.errno == errno.EADDRINUSE else "not allowed"
        raise UsageError(
            f"port {port} is {reason}; choose another, e.g. `--port {port + 1}`."
        ) from error


class Server(ThreadingHTTPServer):
    """One thread a connection, of which browsers open several, and at most `MOST` of them."""

    request_queue_size = 64  # a page asks for some thirty files at once

    def __init__(self, *arguments):
        self.free = threading.Semaphore(MOST)
        self.silent = {}  # connections that a request is awaited of, the longest silent first
        super().__init__(*arguments)

    def process_request(self, request, client_address):
        if not self.free.acquire(blocking=False):
            for longest in [*self.silent][:1]:
                with suppress(OSError):  # another thread ends it just now
                    longest.shutdown(socket.SHUT_RD)
            if not self.free.acquire(timeout=1):
                return self.shutdown_request(request)
        return super().process_request(request, client_address)

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()


MOST = 128
"""Connections at a time. A browser opens six to each of the names of this machine, of which there
is no end, for any page that asks it to. So another takes the place of the one that has been silent
the longest, and is closed only where all of them are being answered."""

ONLY_HERE = {
    "Content-Security-Policy": "frame-ancestors 'self'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""Headers of every answer: no page of another site shows, runs or reads what is served, which may
not be published yet."""

ONCE = ("Content-Length", "Origin", "Sec-Fetch-Dest", "Sec-Fetch-Site")
"""Headers that say how long a request is, and who asks."""

COMPRESSED = {".html", ".css", ".js", ".json", ".svg", ".xml", ".txt"}


LARGEST = 32_000_000
"""Bytes of a file that is compressed, which takes it into memory; larger ones go out as they are.
A shard has at most a tenth of it."""

PIECE = 2**16
"""Bytes that are sent at a time, and may take `Handler.timeout`, on however slow a line."""

PATIENCE = 20
"""Looks for the folder of the site, a second in all, while a build replaces it."""


class Handler(SimpleHTTPRequestHandler):
    """Serves files without a log. What is missing gets the site's own 404 page."""

    protocol_version = "HTTP/1.1"  # one connection for many files
    disable_nagle_algorithm = True  # or a file waits for the browser to confirm its head
    timeout = 20  # seconds for a line of a request, and for a piece of an answer

    def handle(self):
        """Browsers drop requests when a reader leaves a page. That is not an error."""
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, *args):
        pass

    def handle_one_request(self):
        """Whoever has not said all of a request gives way to others."""
        self.server.silent[self.connection] = True
        try:
            super().handle_one_request()
        finally:
            self.server.silent.pop(self.connection, None)

    def parse_request(self):
        """Whether to answer: not where the host that is asked for is not this machine."""
        understood = super().parse_request()
        self.server.silent.pop(self.connection, None)
        if not understood:
            return False
        hosts = self.headers.get_all("Host", [])
        # browsers read a backslash as a slash, and two slashes as another host
        path = self.path.startswith("/") and "\\" not in self.path
        # HTTP/1.1 must say the host
        nowhere = not hosts and self.request_version >= "HTTP/1.1"
        if not path or nowhere or len(hosts) > 1 or self.says_more():
            self.send_error(HTTPStatus.BAD_REQUEST)
        elif hosts and not HOST.fullmatch(hosts[0].strip()):
            address = f"http://{HERE}:{self.server.server_address[1]}/"
            reason = f"This server answers only to its own address; open {address}"
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, explain=reason)
        elif self.is_foreign():
            self.send_error(HTTPStatus.FORBIDDEN, explain="This server answers to its own pages")
        else:
            return True
        return False

    def says_more(self) -> bool:
        """Whether more comes than a request that is understood: a body, which would be read as
        the next request; a header twice, or a line that is none, of which others read another."""
        body = "Transfer-Encoding" in self.headers or self.headers.get("Content-Length", "0") != "0"
        twice = any(len(self.headers.get_all(name, [])) > 1 for name in ONCE)
        return twice or bool(self.headers.defects) or (body and self.command in ("GET", "HEAD"))

    def is_foreign(self) -> bool:
        """Whether a page of another site, or of another port, asks. A reader may follow a link.

        What it would be answered, a refusal with the same headers, is the same for every address.
        """
        origin = self.headers.get("Origin")
        site = self.headers.get("Sec-Fetch-Site", "none")
        followed = self.headers.get("Sec-Fetch-Dest") == "document"
        origins = (
            None,
            *(f"{scheme}://{self.headers.get('Host')}" for scheme in ("http", "https")),
        )
        return origin not in origins or not (site in ("none", "same-origin") or followed)

    def end_headers(self):
        for name, value in ONLY_HERE.items():
            self.send_header(name, value)
        super().end_headers()

    def do_GET(self):
        """A file, also while a build puts a new site in the place of the old one."""
        for _ in range(PATIENCE):
            if Path(self.directory).is_dir():
                break
            time.sleep(0.05)
        try:
            self.answer()
        except (FileNotFoundError, PermissionError):  # the new site has no such file, or hides it
            self.send_error(HTTPStatus.NOT_FOUND)

    def answer(self):
        """Text goes out compressed, as any static host sends it: a shard is a third as large."""
        path = self.file()
        if path is None or not path.is_file():
            return super().do_GET()
        size = path.stat().st_size
        part = self.part(size)
        if part is not None:
            return self.send_part(path, part, size)
        accepts = "gzip" in self.headers.get("Accept-Encoding", "")
        if not accepts or path.suffix not in COMPRESSED or size > LARGEST:
            return super().do_GET()
        kind = self.guess_type(str(path))
        content = _compressed(path, path.stat().st_mtime_ns)
        return self.send(content, kind, Content_Encoding="gzip")

    def send(self, content: bytes, kind: str, status: int = HTTPStatus.OK, **headers: str) -> None:
        """Answer with content of a kind; headers: more of them, with _ for -."""
        self.send_response(status)
        headers |= {"Content_Type": kind, "Content_Length": str(len(content))}
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        for start in range(0, len(content) if self.command != "HEAD" else 0, PIECE):
            self.wfile.write(content[start : start + PIECE])

    def send_head(self):
        """As the standard library does it, for files and folders of the site; no lists of files."""
        return super().send_head() if self.file() else self.send_error(HTTPStatus.NOT_FOUND)

    def file(self) -> Path | None:
        """The file that is asked for, or a folder whose slash is missing; None for all else."""
        named = self.translate_path(self.path)
        if named.endswith("/"):
            return self.within(Path(named, "index.html"))
        return self.within(Path(named), folder=True)

    def within(self, path: Path, folder: bool = False) -> Path | None:
        """The path of a file of the site (or of a folder); None if it is missing, or a link that
        leads out of the site."""
        try:
            inside = path.resolve().is_relative_to(Path(self.directory).resolve())
            return path if inside and (path.is_file() or (folder and path.is_dir())) else None
        except (OSError, RuntimeError, ValueError):  # too long, links in a circle, a NUL
            return None

    def part(self, size: int) -> range | None:
        """The bytes that are asked for of so many, empty if there are none; None for the whole.

        With a condition (If-Range) it is the whole, which is always a right answer.
        """
        match = RANGE.fullmatch(self.headers.get("Range", ""))
        first, last = match.groups() if match else ("", "")
        if first + last == "" or "If-Range" in self.headers:
            return None
        if not first:
            return range(max(0, size - int(last)), size)
        if last and int(last) < int(first):
            return None
        return range(int(first), min(int(last) + 1, size) if last else size)

    def send_part(self, path: Path, part: range, size: int) -> None:
        """Answer with some bytes of a file of that size, never compressed."""
        with path.open("rb") as file:
            self.send_response(
                HTTPStatus.PARTIAL_CONTENT if part else HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
            )
            bounds = f"{part[0]}-{part[-1]}" if part else "*"
            self.send_header("Content-Range", f"bytes {bounds}/{size}")
            self.send_header("Content-Type", self.guess_type(str(path)))
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            file.seek(min(part.start, size))
            for start in range(0, len(part), PIECE):
                self.wfile.write(file.read(min(PIECE, len(part) - start)))

    def missing(self) -> bytes | None:
        """The site's own page for what is missing; None if it has none."""
        page = self.within(Path(self.directory, "404.html"))
        try:
            return page.read_bytes() if page else None
        except (FileNotFoundError, PermissionError):  # a build replaces the site just now
            return None

    def send_error(self, code, message=None, explain=None):
        content = self.missing() if code == HTTPStatus.NOT_FOUND else None
        if content is None:
            return super().send_error(code, message, explain)
        return self.send(content, "text/html; charset=utf-8", HTTPStatus.NOT_FOUND)


@functools.lru_cache(256)
def _compressed(path, modified):
    """A compressed file, kept until it is modified."""
    return gzipped(path.read_bytes())


def gzipped(content: bytes) -> bytes:
    """Text as static hosts compress it."""
    return gzip.compress(content, 6)
