"""The commands for a built site: check and serve."""

import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from report.pages.policy import NAME, policy
from report.site.check import check_site
from report.site.sums import write_sums
from tests.cli.saying import assert_matches
from tests.commands import ROOT, report

HEAD = f'<meta charset="utf-8"><meta http-equiv="{NAME}" content="{policy()}">'


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text(f"{HEAD}<title>Home</title>")
    (folder / "404.html").write_text(f"{HEAD}<title>Nothing here</title>")
    write_sums(folder)
    return folder


@pytest.mark.parametrize("command", ["serve", "check"])
def test_there_must_be_a_site(run, tmp_path, command):
    done = run(command, tmp_path / "none")
    assert done.code == 1
    assert_matches(r"no built site here \(index\.html missing\); run `make site`", done.error)


def test_check_says_what_was_found_right_or_wrong(run, site):
    done = run("check", site)
    assert (done.code, check_site(site)) == (0, {"pages": 2})
    assert "all right (2 pages)" in done.said
    (site / "index.html").write_text(f"{HEAD}<a href='gone/'>x</a>")
    write_sums(site)
    process = report("check", site)  # its list has a line for each problem
    assert process.returncode == 1
    assert "1 problem:\n  index.html: gone/ leads nowhere" in process.stderr


def test_a_port_in_use_is_told_with_another(run, site):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", site, "--port", port)
    assert done.code == 2
    assert_matches(rf"port {port} is in use; choose another, e\.g\. .*{port + 1}", done.error)


def test_serve_shows_the_site_and_its_own_page_for_what_is_missing(site):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "report", "serve", str(site), "--port", str(port)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background jobs ignore Ctrl-C, and their children would.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert f"Serving http://127.0.0.1:{port}/" in process.stderr.readline()
        address = f"http://127.0.0.1:{port}/"
        assert b"Home" in urllib.request.urlopen(address).read()
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(address + "missing/")
        assert caught.value.code == 404
        assert b"Nothing here" in caught.value.read()
    finally:
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in rest


@pytest.mark.parametrize("command", ["serve", "explore"])
@pytest.mark.parametrize("port", ["65536", "-1", "some"])
def test_a_port_that_no_machine_has_is_refused(command, port):
    done = report(command, "--port", port)
    assert done.returncode == 2
    assert "Invalid value for '--port'" in done.stderr
    assert "defect" not in done.stderr
