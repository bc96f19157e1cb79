"""The small server gives out the folder of the site, and only to pages that know it as this
machine."""

import gzip
import http.client
import random
import socket
import threading
import time
import tracemalloc
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.site.serve import MOST, Handler
from tests.fuzz.profile import examples
from tests.serving import served

PAGE = "<title>Home</title>" * 20
DATA = bytes(range(256)) * 4


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve") / "site"
    (folder / "a").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "index.html").write_text(PAGE)
    (folder / "a" / "index.html").write_text("A")
    (folder / "404.html").write_text("Nothing here")
    (folder / "data.bin").write_bytes(DATA)
    (folder / "nothing.bin").write_bytes(b"")
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "index.html").write_text("secret")
    (elsewhere / "index.htm").write_text("secret")
    (folder / "link.html").symlink_to(elsewhere / "index.html")
    (folder / "linked").symlink_to(elsewhere)
    (folder / "empty" / "index.htm").symlink_to(elsewhere / "index.htm")
    (folder / "circle").symlink_to("circle")
    (folder / "same.html").symlink_to("index.html")
    return folder


@pytest.fixture(scope="module")
def port(site):
    with served(site, Handler) as address:
        yield int(address.rstrip("/").rpartition(":")[2])


def ask(port, path, method="GET", **headers):
    """(status, headers, body) of an answer; headers: with _ for -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.putrequest(method, path, skip_host="Host" in named, skip_accept_encoding=True)
        for name, value in named.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def answered(port, request):
    """All that is answered to the bytes of a request."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").read()


@pytest.mark.promise("serve")
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "path",
    [
        *("/%00", "/a%00b", "/index.html%00", "/" + "a" * 5000, "/%ff", "/index.html/"),
        *("/link.html", "/linked/", "/linked", "/linked/index.html", "/circle", "/circle/"),
        *("/../elsewhere/index.html", "/%2e%2e/elsewhere/index.html", "/..%2felsewhere/"),
        *("/empty/", "/empty/index.htm", "/missing"),
    ],
)
def test_what_is_not_in_the_folder_is_missing(port, capfd, method, path):
    status, _, body = ask(port, path, method)
    assert (status, body) == (404, b"" if method == "HEAD" else b"Nothing here")
    assert capfd.readouterr() == ("", ""), "no traceback"


@pytest.mark.promise("serve")
@pytest.mark.parametrize("path", ["/\\\\b.org/%2e%2e", "/\\b.org/%2e%2e/a", "/a\\", "//b.org/../a"])
def test_no_answer_leads_to_another_host(port, path):
    """A browser takes "/\\\\b.org" for the host b.org."""
    status, headers, _ = ask(port, path)
    assert status in (400, 301, 404)
    assert urlsplit(headers.get("Location", "/").replace("\\", "/")).netloc == ""


def test_what_is_in_it_is_given_out(port):
    assert ask(port, "/")[2] == ask(port, "/same.html?x=1")[2] == PAGE.encode()
    assert ask(port, "/a/?x=/")[2] == b"A"
    status, headers, _ = ask(port, "/a?x=1")
    assert (status, headers["Location"]) == (301, "/a/?x=1")


@pytest.mark.promise("serve")
@examples(60)
@given(st.binary(max_size=40).map(lambda path: path.replace(b"\n", b"").replace(b"\r", b"")))
def test_any_path_is_answered(port, path):
    answer = answered(port, b"GET /" + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 ", b"<!DOCTYPE")), "the second for HTTP/0.9"
    assert b"secret" not in answer


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:{port}", "localhost:{port}", "LOCALHOST", "[::1]:9", "a.localhost:80"],
)
def test_names_of_this_machine_are_answered(port, host):
    assert ask(port, "/", Host=host.format(port=port))[0] == 200


@pytest.mark.promise("serve")
@pytest.mark.parametrize(
    "host",
    [
        *(
            "evil.example:{port}",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "notlocalhost",
        ),
        *("evil@127.0.0.1", "127.0.0.1@evil.example", "127.0.0.2", "0.0.0.0:{port}", "", "["),
    ],
)
def test_a_page_of_another_host_gets_nothing(port, host):
    """As where its name was made to point to this machine (DNS rebinding)."""
    status, _, body = ask(port, "/", Host=host.format(port=port))
    assert status == 421
    assert f"open http://127.0.0.1:{port}/".encode() in body
    assert PAGE.encode() not in body


HERE = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.promise("serve")
@pytest.mark.parametrize(
    "lines",
    [
        b"GET / HTTP/1.1\r\n",
        HERE + b"Host: evil.example\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n",
        HERE + b"Content-Length: 9\r\n",
        HERE + b"Content-Length: 0\r\nContent-Length: 9\r\n",
        HERE + b"Transfer-Encoding: chunked\r\n",
        HERE + b"a line that is no header\r\nOrigin: http://b.org\r\n",
        HERE + b"Origin: http://localhost\r\nOrigin: http://b.org\r\n",
        HERE + b"Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n",
    ],
)
def test_what_others_would_read_in_another_way_is_one_refusal(port, lines):
    """A body is never read as the next request, behind a proxy perhaps that of somebody else."""
    answer = answered(port, lines + b"\r\n" + HERE + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1
    assert PAGE.encode() not in answer


@pytest.mark.parametrize("path", ["/", "/data.bin", "/missing"])
def test_what_may_not_be_read_is_missing(port, capfd, monkeypatch, path):
    def deny(*_, **__):
        raise PermissionError

    monkeypatch.setattr(Path, "open", deny)
    monkeypatch.setattr(Path, "read_bytes", deny)
    headers = {"Accept-Encoding": "gzip"} | ({"Range": "bytes=0-1"} if path == "/data.bin" else {})
    assert ask(port, path, **headers)[0] == 404
    assert capfd.readouterr() == ("", ""), "no traceback"


@pytest.mark.parametrize(
    ("asked", "first", "end"),
    [
        *(("bytes=0-0", 0, 1), ("bytes=5-9", 5, 10), ("bytes=1000-", 1000, 1024)),
        *(("bytes=1020-99999", 1020, 1024), ("bytes=-4", 1020, 1024), ("bytes=-99999", 0, 1024)),
        # beyond the file
        *((asked, 0, 0) for asked in ("bytes=1024-", "bytes=5000-6000", "bytes=-0")),
        (f"bytes={'9' * 18}-", 0, 0),
        # ignored
        *((asked, 0, None) for asked in ("bytes=9-5", "bytes=-", "bytes=0-1,3-4", "lines=0-1")),
        *((asked, 0, None) for asked in ("bytes=a-", "0-1", f"bytes={'9' * 5000}-")),
    ],
)
def test_a_range_gets_these_bytes_and_ends_no_connection(port, asked, first, end):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        for _ in range(2):
            connection.request("GET", "/data.bin", headers={"Range": asked})
            answer = connection.getresponse()
            body = answer.read()
    assert body == DATA[first:end]
    assert int(answer.headers["Content-Length"]) == len(body)
    status, place = (206, f"bytes {first}-{(end or 0) - 1}/1024") if end else (416, "bytes */1024")
    expected = (200, None) if end is None else (status, place)
    assert (answer.status, answer.headers["Content-Range"]) == expected


def test_a_range_is_of_the_file_itself_and_its_condition_is_not_guessed(port):
    assert ask(port, "/nothing.bin", Range="bytes=0-")[0] == 416
    status, headers, body = ask(port, "/", Range="bytes=1-5", Accept_Encoding="gzip")
    assert (status, headers["Content-Encoding"], body) == (206, None, b"title")
    whole = ask(port, "/", Range="bytes=1-5", If_Range='"x"', Accept_Encoding="gzip")
    assert (whole[0], gzip.decompress(whole[2])) == (200, PAGE.encode())
    status, headers, _ = ask(port, "/data.bin", "HEAD", Range="bytes=1-5")
    assert (status, headers["Content-Length"]) == (200, "1024")


OTHERS = {
    "a script, image or frame": {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "script"},
    "a frame": {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "iframe"},
    "a page at another port": {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Dest": "empty"},
    "by its origin": {"Origin": "https://elsewhere.example"},
    "no origin that has a name": {"Origin": "null"},
}


@pytest.mark.promise("serve")
@pytest.mark.parametrize("asks", OTHERS.values(), ids=OTHERS)
def test_another_page_does_not_learn_whether_there_is_a_file(port, asks):
    answers = {ask(port, path, **asks)[::2] for path in ("/", "/data.bin", "/missing")}
    assert len(answers) == 1
    assert answers.pop()[0] == 403


@pytest.mark.parametrize(
    "asks",
    [
        {"Sec_Fetch_Site": "none", "Sec_Fetch_Dest": "document"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "document"},  # a link was followed
        {"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Dest": "script"},
    ],
)
def test_a_reader_and_the_site_itself_are_answered(port, asks):
    assert ask(port, "/data.bin", Origin=f"http://127.0.0.1:{port}", **asks)[0] == 200


@pytest.mark.promise("serve")
@pytest.mark.parametrize(
    ("path", "asks"),
    [
        *(("/", {}), ("/", {"Accept_Encoding": "gzip"}), ("/data.bin", {"Range": "bytes=0-1"})),
        *(("/missing", {}), ("/a", {})),
    ],
)
def test_no_answer_may_be_shown_or_run_elsewhere(port, path, asks):
    headers = ask(port, path, **asks)[1]
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Access-Control-Allow-Origin"] is None


@pytest.mark.promise("serve")
@pytest.mark.parametrize(
    ("name", "asks"),
    [("large.bin", {"Range": "bytes=1-"}), ("large.json", {"Accept-Encoding": "gzip"})],
)
def test_a_large_file_is_never_in_memory(site, port, name, asks):
    with (site / name).open("wb") as file:
        file.truncate(200_000_000)
    tracemalloc.start()
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("GET", f"/{name}", headers=asks)
            answer, length = connection.getresponse(), 0
            while piece := answer.read(2**20):
                length += len(piece)
        assert length >= 199_999_999
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()
        (site / name).unlink()


@pytest.mark.promise("serve")
def test_clients_that_say_nothing_get_no_threads_without_end_and_give_way_to_a_reader(port):
    """As where a page in the browser has it connect to ever more names of this machine."""
    before = threading.active_count()
    with ExitStack() as opened:
        for number in range(MOST + 100):
            connection = socket.create_connection(("127.0.0.1", port), 10)
            opened.enter_context(connection)
            connection.sendall((b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: local")[number % 3])
        while threading.active_count() < before + MOST // 2:
            time.sleep(0.01)
        assert threading.active_count() <= before + MOST
        for path in ("/", "/data.bin", "/a/"):
            assert ask(port, path)[0] == 200


@pytest.mark.promise("serve")
def test_a_reader_on_a_slow_line_gets_all_of_a_file(site, port, monkeypatch):
    """Only without any progress it is given up, however long the whole takes."""
    monkeypatch.setattr(Handler, "timeout", 2)
    content = random.Random(0).randbytes(16_000_000)
    (site / "large.json").write_bytes(content)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
        connection.connect(("127.0.0.1", port))
        connection.sendall(b"GET /large.json HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
        got = bytearray()
        while piece := connection.recv(2**17):
            got += piece
            time.sleep(0.05)
    (site / "large.json").unlink()
    assert gzip.decompress(got.partition(b"\r\n\r\n")[2]) == content
