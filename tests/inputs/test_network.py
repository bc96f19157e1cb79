"""Corpora on other machines: no text comes from this machine or a private network unasked.

The servers of these tests are on this machine. So a test that needs a public one says which
addresses are local, and one that must not reach a server asserts that nothing was asked of it.
"""

import asyncio
import io
import socket
import threading
import urllib.request
from contextlib import ExitStack, closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fsspec
import fsspec.asyn
import pytest
from fsspec.registry import _registry
from fsspec.spec import AbstractFileSystem

from report.errors import ReportError
from report.inputs import corpora, network
from report.inputs.specs import CorpusSpec

pytestmark = pytest.mark.promise("local-corpora")

TEXTS = b"The lamp was lit.\nAnn saw it.\n"


class Plain(AbstractFileSystem):
    """http:// for fsspec without a package of its own: files are read whole, redirects followed."""

    protocol = ("http",)
    cachable = False

    def _open(self, path, mode="rb", **options):
        with urllib.request.urlopen(path) as answer:
            return io.BytesIO(answer.read())

    @classmethod
    def _strip_protocol(cls, path):
        return path


@pytest.fixture
def plain(monkeypatch):
    """fsspec reads http:// with `Plain`; no proxy stands between."""
    monkeypatch.setitem(_registry, "http", Plain)
    monkeypatch.setattr(urllib.request, "getproxies", dict)


@pytest.fixture
def serve():
    """A function that starts a server: (its redirect or None) -> (port, paths asked for)."""
    with ExitStack() as servers:

        def start(redirect=None):
            asked = []

            class Answer(BaseHTTPRequestHandler):
                def do_GET(self):
                    asked.append(self.path)
                    content = b"" if redirect else TEXTS
                    self.send_response(302 if redirect else 200)
                    self.send_header("Location", redirect or "")
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

                def log_message(self, *_):
                    pass

            server = servers.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Answer))
            servers.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            return server.server_port, asked

        yield start


def corpus(file, allow_local=False):
    return corpora.specified(CorpusSpec(file=file), allow_local)


HOSTS = (
    *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1"),
    *("0.0.0.0", "10.1.2.3", "172.31.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1"),
    *("localhost", "LocalHost", "ann@127.0.0.1", "8.8.8.8@127.0.0.1", "①②⑦.0.0.1", "127。0。0。1"),
    *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]"),
    *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::7f00:1]", "[fe80::1]", "[fd00::1]", "[fec0::1]"),
)


@pytest.mark.parametrize("host", HOSTS)
def test_addresses_of_this_machine_and_of_private_networks_are_refused(host, monkeypatch):
    monkeypatch.setattr(fsspec, "open_files", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(ReportError, match=r"leads to \S+, an address of .*say --allow-local"):
        len(corpus(f"http://{host}:8080/texts.txt"))


LOCAL = dict.fromkeys(["8.8.8", "localhost", "", "8.8.8.8.nip.io", "/run/socket"], True)
PUBLIC = ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]


@pytest.mark.parametrize(("address", "local"), (LOCAL | dict.fromkeys(PUBLIC, False)).items())
def test_public_addresses_are_not_local_and_what_is_no_address_is(address, local):
    assert network.is_local(address) is local


@pytest.mark.parametrize("late", [False, True], ids=["at once", "after it was looked at"])
def test_a_name_that_leads_to_a_private_network_is_refused(plain, serve, monkeypatch, late):
    port, asked = serve()
    if late:
        monkeypatch.setattr(network, "require_public", lambda file: None)
    real = socket.getaddrinfo

    def resolve(host, *arguments, **options):
        host = "127.0.0.1" if host == "texts.example" else host
        return real(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(ReportError, match=r"http://texts\.example.* leads to 127\.0\.0\.1, an ad"):
        len(corpus(f"http://texts.example:{port}/texts.txt"))
    assert not asked


def test_a_redirect_into_a_private_network_is_refused(plain, serve, monkeypatch):
    inner, asked = serve()
    outer, led = serve(redirect=f"http://127.0.0.1:{inner}/private.txt")
    monkeypatch.setattr(network, "is_local", lambda address: bool(led))  # all but the first server
    with pytest.raises(ReportError, match=r"leads to 127\.0\.0\.1, an address of this machine"):
        len(corpus(f"http://127.0.0.1:{outer}/texts.txt"))
    assert led == ["/texts.txt"]
    assert not asked


def test_with_allow_local_they_are_read(plain, serve):
    port, _ = serve()
    found = corpus(f"http://127.0.0.1:{port}/texts.txt", allow_local=True)
    assert [text for _, text in found] == TEXTS.decode().split("\n")[:2]


def test_connections_that_fsspec_makes_in_its_own_thread_are_refused(serve):
    port, _ = serve()

    async def connect():
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()

    def texts():
        fsspec.asyn.sync(fsspec.asyn.get_loop(), connect)
        yield "a text"

    with pytest.raises(ReportError, match=r"leads to 127\.0\.0\.1"):
        list(network.only_public(texts(), "s3://bucket/texts.txt"))
    assert list(texts()) == ["a text"], "nothing is refused to whoever reads nothing"


def test_only_the_thread_that_reads_is_refused_and_only_while_it_reads(serve):
    port, _ = serve()
    tried = []

    def connect():
        with closing(socket.create_connection(("127.0.0.1", port))):
            tried.append(threading.current_thread().name)

    def texts():
        other = threading.Thread(target=connect, name="other")
        other.start()
        other.join()
        yield "one"
        connect()

    reading = network.only_public(texts(), "s3://bucket/texts.txt")
    assert next(reading) == "one"
    connect()
    with pytest.raises(ReportError, match="leads to"):
        next(reading)
    assert tried == ["other", threading.current_thread().name]


@pytest.mark.parametrize(
    "file", ["sftp://host/texts.txt", "simplecache::https://host/t.txt", "hdfs://a/t.txt"]
)
def test_what_cannot_be_watched_needs_allow_local(file, monkeypatch):
    monkeypatch.setattr(fsspec, "open_files", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(
        ReportError, match=r"may reach machines of a private network.*--allow-local"
    ):
        len(corpus(file))


@pytest.mark.promise("corpus-host")
@pytest.mark.parametrize(
    ("file", "origin"),
    [
        ("https://ann:secret@host.example/a/t.txt", "https://host.example/a/t.txt"),
        ("s3://bucket/t-*.jsonl.gz", "s3://bucket/t-*.jsonl.gz (Amazon S3)"),
        ("hf://datasets/ann/t/t.csv", "hf://datasets/ann/t/t.csv (http://10.0.0.7:9000)"),
        *((f"{path}.{end}", "") for path in ("t", "/d/*", "file:///d/t") for end in ("txt", "csv")),
    ],
)
def test_where_texts_are_fetched_from_is_known_before(file, origin, monkeypatch):
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://10.0.0.7:9000")
    assert corpus(file).origin == origin
