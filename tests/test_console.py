"""Progress: one line that updates on a terminal, a few lines in a log."""

import ast
import io
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from report import console
from report.console import Lines, Terminal, from_here, say_error
from report.errors import ReportError
from tests.commands import ROOT, report
from tests.small import write_publication


def lines_of(steps):
    """What a log gets of steps (second, what, done, total)."""
    said, now = [], [0]
    lines = Lines(said.append, lambda: now[0])
    for now[0], *step in steps:
        lines(*step)
    return said


LOGS = {
    "soon done": ([(n, "Measuring", n, 29) for n in range(30)], []),
    "the last line promises nothing": (
        [(0, "Writing", 0, 2), (31, "Writing", 1, 2), (70, "Writing", 2, 2)],
        ["Writing: 1 of 2 after 31 s, about 31 s to go", "Writing: 2 of 2 after 70 s"],
    ),
    "done before": (
        [(0, "Measuring", 900, 1000), (40, "Measuring", 910, 1000)],
        ["Measuring: 910 of 1,000 after 40 s, about 6 min to go"],
    ),
    "in turns": (
        [(n, what, n, 200) for n in range(50) for what in ("Measuring", "Writing")],
        [f"{what}: 30 of 200 after 30 s, about 3 min to go" for what in ("Measuring", "Writing")],
    ),
    "the next model": ([(n, "Measuring", n % 20, 20) for n in range(200)], []),
    "other work": ([(29, "Measuring", 9, 9), (40, "Writing", 1, 9), (60, "Writing", 2, 9)], []),
}


@pytest.mark.parametrize(("steps", "expected"), LOGS.values(), ids=list(LOGS))
def test_a_log_has_a_line_now_and_then_of_what_takes_long(steps, expected):
    assert lines_of(steps) == expected


def test_a_long_run_has_few_lines_in_a_log():
    lines = lines_of((10 * n, "Measuring", n, 1000) for n in range(1001))
    assert lines[0] == "Measuring: 3 of 1,000 after 30 s, about 2 h 46 min to go"
    assert 5 <= len(lines) <= 12


@pytest.fixture
def shown(monkeypatch):
    """A function that shows steps on a terminal or in a log: all that was written."""

    def shown(steps, terminal):
        file = io.StringIO()
        made = Console(file=file, force_terminal=terminal, width=100, highlight=False)
        monkeypatch.setattr(console, "console", made)
        with Terminal().bars() as show:
            for step in steps:
                show(*step)
        return file.getvalue()

    return shown


STEPS = [(what, n, 3) for what in ("Measuring", "Writing") for n in range(4)]


def test_a_terminal_has_one_line_that_updates(shown):
    written = shown(STEPS, terminal=True)
    last = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written).rstrip().rsplit("\r", 1)[-1]
    assert "Writing" in last and "3/3" in last
    assert "Measuring" not in last
    assert written.count("\n") <= 1


def test_nothing_is_shown_where_nothing_is_done(shown):
    assert "0/" not in shown([], terminal=True)
    assert shown([], terminal=False) == shown(STEPS, terminal=False) == ""


def test_paths_are_said_as_they_are_typed_here(tmp_path, monkeypatch):
    root = write_publication(tmp_path / "my words (1)")
    said = f"{root}/a.md: '{root}/b c.md' (x={root}/d) in {root}: {tmp_path}/e, file://{root}/f"
    kept = f"in {root}: {tmp_path}/e, file://{root}/f"
    for folder, below in ((root, ""), (root / "site_src", "../")):
        monkeypatch.chdir(folder)
        assert from_here(said) == f"{below}a.md: '{below}b c.md' (x={below}d) {kept}"
    for folder in (tmp_path, "/"):
        monkeypatch.chdir(folder)
        assert from_here(f"{ROOT}/a.md") == f"{ROOT}/a.md".removeprefix(f"{folder}/")


def test_nothing_is_said_in_any_other_way():
    """All that may repeat a text goes through `say`, `say_error` or `from_here`."""
    others = Counter()
    for path in (ROOT / "report").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("print", "console.print", "sys.stderr.write", "typer.echo"):
                safe = re.search(r"\b(clean|from_here)\(", ast.unparse(node))
                others[ast.unparse(node)] += not safe
    assert +others == Counter({"typer.echo(VERSION)": 1, "typer.echo(line)": 1})


@pytest.mark.promise("terminal")
@pytest.mark.parametrize("say", [Terminal().say, lambda text: say_error(ReportError(text))])
def test_what_is_said_does_nothing_to_a_terminal_and_tells_no_secret(say, capsys):
    say(
        "got '\x1b]0;owned\x07\x1b[31m\u202eabc\x9b2J\ud800 é 漢' of https://a:secret@b.c/d?t=secret."
    )
    said = capsys.readouterr().err
    assert not set(said) & set("\x1b\x07\x9b\u202e\ud800") - set("\n")
    assert "\\x1b[31m" in said
    assert "é 漢' of https://b.c/d?…." in said.replace("\n", " ")


@pytest.mark.promise("terminal")
@pytest.mark.parametrize("arguments", [["{}"], ["serve", "x", "{}"], ["check", "{}", "{}"]])
def test_of_a_wrong_argument_no_secret_and_no_control_character_is_said(arguments):
    given = "\x1b[31mhttps://a:secret@b.c/d?t=secret"
    done = report(*(each.format(given) for each in arguments))
    assert done.returncode == 2
    assert "https://b.c/d" in done.stderr
    assert "secret" not in done.stderr and "\x1b" not in done.stderr


@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", ["a://", "://a@", "://a?", "a@", "'"])
def test_a_text_of_many_addresses_is_said_in_linear_time(part):
    assert console.clean(part * 50_000)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a file without room")
def test_what_is_said_may_find_no_room():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "report", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot write what is said")
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_that_was_removed_is_told(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    done = report("why")
    assert done.returncode == 2
    assert done.stderr.startswith("error: the folder that this command is run in was removed")
