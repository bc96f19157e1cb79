"""Browsers are found in one place, and a missing one is one sentence."""

import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import browsers, firefox
from tests.commands import ROOT
from tests.conftest import IN_FIREFOX


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Nothing but the commands that the test makes: a function of their names."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def make(*names):
        for name in names:
            (tmp_path / name).write_text("#!/bin/sh\n")
            (tmp_path / name).chmod(0o755)
        return tmp_path

    return make


@pytest.mark.parametrize("commands", [browsers.CHROMIUM, browsers.FIREFOX])
def test_any_command_of_a_browser_will_do_and_a_missing_one_is_one_sentence(installed, commands):
    with pytest.raises(browsers.MissingBrowserError) as missing:
        browsers.path_of(commands)
    assert re.fullmatch(rf".*{commands[0]}.*; run `make browser`", str(missing.value))
    for command in reversed(commands):
        folder = installed(command)
        assert Path(browsers.path_of(commands)) == folder / command


def test_a_test_fails_without_a_traceback(installed, tmp_path):
    wanted = "'chromium-headless-shell'", browsers.or_failed(), browsers.chromium()
    for command, *contexts in (wanted, ("'firefox-esr'", firefox.started(tmp_path))):
        with pytest.raises(pytest.fail.Exception) as failed, ExitStack() as stack:
            for context in contexts:
                stack.enter_context(context)
        assert command in failed.value.msg
        assert failed.value.msg.endswith("; run `make browser`")
        assert failed.value.pytrace is False


@pytest.mark.parametrize("command", ["pages.py --quick", "page_peers.py open bertviz page.html"])
def test_a_benchmark_ends_with_one_sentence(command, tmp_path):
    """At once: sites that take minutes to build would be for nothing."""
    program, *arguments = command.split()
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / program, *arguments],
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "no command 'chromium-headless-shell' or 'chromium' or 'chromium-browser' to open pages "
        "with; run `make browser`"
    ]


def test_nothing_else_looks_for_a_browser_or_starts_one():
    """Two ways to find one had drifted apart: benchmarks did not know the tests' browser."""
    paths = [path for part in ("tests", "benchmarks") for path in (ROOT / part).rglob("*.py")]
    others = [path for path in paths if path.name not in ("browsers.py", "test_browsers.py")]
    assert len(others) == len(paths) - 2
    ways = ("chromium.launch", 'which("chromium', 'which("firefox', "chromium-headless-shell")
    assert [path for path in others if any(way in path.read_text("utf-8") for way in ways)] == []


def test_all_tests_in_firefox_are_in_one_process():
    paths = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    found = [path for path in paths if "firefox" in path.read_text("utf-8")]
    assert {path.relative_to(ROOT).as_posix() for path in found} == {*IN_FIREFOX}


NEEDS = """
import subprocess, sys
from multiprocessing import Process
import pytest

@pytest.fixture
def browser():
    raise AssertionError

@pytest.fixture(scope="module")
def program():
    return subprocess.run([sys.executable, "-c", ""])

def test_little(): pass
def test_browser(browser): pass
def test_browser_as_it_runs(request): request.getfixturevalue("browser")
def test_program(program): pass
def test_program_again(program): pass
def test_process(): Process(target=print).start()
def test_model():
    from report.families import tiny
    tiny("llama")
def test_picture():
    import vl_convert
    vl_convert.vegalite_to_svg({})
"""


def test_the_fast_tier_leaves_out_what_needs_more(tmp_path):
    (tmp_path / "test_needs.py").write_text(NEEDS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    code = "import pytest, sys; from tests.fast import Fast; pytest.main(sys.argv[1:], [Fast()])"
    command = [sys.executable, "-c", code, "-qrs", "-c", tmp_path / "pytest.ini", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "1 passed, 6 skipped, 1 deselected" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("starts a process") == 3 and "makes a model" in done.stdout
    assert "draws a picture" in done.stdout
