"""Help for every command, and what is no command."""

import pytest

from report import __main__, __version__
from tests.commands import report

COMMANDS = (
    *"new explore site render measure why freeze models check compare bundle publish serve".split(),
)


def test_every_command_is_listed_with_what_it_does(run):
    shown = run("--help").said
    assert all(command in shown for command in COMMANDS)
    registered = {command.callback.__name__ for command in __main__.app.registered_commands}
    assert registered == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_each_option(run, command):
    shown = run(command, "--help")
    assert shown.code == 0
    callback = getattr(__main__, command)
    assert " ".join(callback.__doc__.split())[:40] in " ".join(shown.said.split())
    for line in shown.said.splitlines():
        if line.startswith("│ --"):  # an option without an explanation ends after its type
            assert len(line.strip("│ ").split("  ")) > 1, line


def test_the_version_is_the_package_s():
    done = report("--version", process=True)
    assert (done.returncode, done.stdout.strip()) == (0, __version__)


@pytest.mark.parametrize("arguments", [["sit"], ["site", "--modle", "x"], ["serve", "--port", "0"]])
def test_what_is_no_command_or_option_ends_with_code_2_and_no_traceback(arguments):
    done = report(*arguments)
    assert done.returncode == 2
    assert "Usage" in done.stderr
    assert "Traceback" not in done.stderr
