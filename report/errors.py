"""Errors that a user can mend, each one sentence, and the commands that these tell to type.

`__main__` prints no traceback. The repository has a Makefile, an installed package a command.
"""

import json
import os
import re
import shlex
import signal
import sys
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

PACKAGE = Path(__file__).parent
INSTALLED = (PACKAGE / "mkdocs.yml").is_file()
"""Whether this is an installed package. In the repository, mkdocs.yml lies beside `report/`; a
wheel has it inside (pyproject.toml)."""
VERSION = "0.1.0"
NAME = "attention-focus-plots"
"""Name of the package, and of the command that it brings."""
PROGRAM = NAME if INSTALLED or Path(sys.argv[0]).name == NAME else "python -m report"
"""What starts the command line where this runs."""

TRACEBACK = "REPORT_TRACEBACK"
"""Variable of the environment; where it is set, an error is shown with its traceback."""


def end_quietly() -> None:
    """Let Ctrl-C end this process without a word: imports take a second, and would end in a
    traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


class ReportError(Exception):
    """Something from outside cannot be used.

    The message says what came, what is allowed and what to do.
    """

    exit_code = 1

    def __init__(self, message: object) -> None:
        # half a character, of a name or of a setting, can be neither printed nor written
        super().__init__(str(message).encode("utf-8", "backslashreplace").decode())


class UsageError(ReportError):
    """The command line or a study file is wrong; nothing was run."""

    exit_code = 2


class OwnFileError(ReportError):
    """A file of an author's own is wrong. The message names it, and no key of front matter."""


class DamagedError(ReportError):
    """A dataset is not as it was written, whoever reads it."""


OF_HUB = re.compile(r"(?i)HF_.*|HUGGING_?FACE_.*|(all|https?|no)_proxy")
"""Variables of the environment that the hub's library heeds."""


def of_hub(error: BaseException) -> ReportError:
    """The ReportError for an unexpected error of the hub's library: it lists the variables that are
    set, and has the error's own message only for a missing package, as others may hold a token."""
    reason = f": {error}" if isinstance(error, ImportError) else ""
    present = ", ".join(sorted(filter(OF_HUB.fullmatch, os.environ))) or "none is"
    return ReportError(
        f"the Hugging Face hub cannot be asked as this machine is set up ({type(error).__name__}"
        f"{reason}). Correct or unset what is wrong of the variables that are set ({present}): an "
        "endpoint or a proxy is http://HOST:PORT (a proxy socks5:// needs the package socksio), a "
        "timeout a whole number, a token letters and digits (`hf auth login` writes it anew)."
    )


def command(task: str, installed: bool | None = None, **options: object) -> str:
    """What to type for a task, to be quoted in a sentence.

    In the repository, for its own project, `make site STUDY=x`; else
    `attention-focus-plots site --study x`, or `python -m report`, with `--project` if it was given.

    task: a command of the program that the Makefile has as well
    installed: whether the reader has the installed package; None: as it is here
    options: name of the Makefile's variable in lower case -> value, or list of values; `site_url`
        is a variable of the environment for both
    """
    given = {
        name: [str(each) for each in value] if isinstance(value, list) else [str(value)]
        for name, value in options.items()
    }
    here = installed is None
    if not (_elsewhere() if here else installed):
        texts = {name: " ".join(values) for name, values in given.items()}
        quoted = {name: f'"{text}"' if " " in text else text for name, text in texts.items()}
        return " ".join(
            ["make", task, *(f"{name.upper()}={text}" for name, text in quoted.items())]
        )
    if here and project_option:
        given["project"] = [str(project_option[-1])]
    address = [f"SITE_URL={value}" for value in given.pop("site_url", [])]
    words = (f"--{name} {shlex.quote(value)}" for name, values in given.items() for value in values)
    return " ".join([*address, PROGRAM if here and not INSTALLED else NAME, task, *words])


project_option: list[Path] = []
"""The folder that `--project` names, as the only entry; empty without the option."""


def _elsewhere():
    """Whether `make` would not do: the Makefile is the repository's, for its own project."""
    folders = {Path.cwd(), *(path.resolve() for path in project_option)}
    return INSTALLED or folders != {PACKAGE.parent}


def setup(extra: str = "measure") -> str:
    """What to type to install a package that is missing; extra: the extra that asks for it."""
    if INSTALLED:
        return f"pip install '{NAME}[{extra}]'"
    root = PACKAGE.parent
    return "make setup" if Path.cwd() == root else f"make -C {shlex.quote(str(root))} setup"


def requirement() -> str | None:
    """What `pip install` takes to have this very program elsewhere, by pip's record (PEP 610).

    returns: the package with its extra `measure` and its version, or the address that it came from
        without user and password; None if it came from this machine's disk or is not installed
    """
    try:
        installed = metadata.distribution(NAME)
    except metadata.PackageNotFoundError:
        return None
    recorded = installed.read_text("direct_url.json")
    if recorded is None:
        return f"{NAME}[measure]=={installed.version}"
    record = json.loads(recorded)
    parts = urlsplit(record["url"])
    if parts.scheme == "file" or not parts.netloc or parts.query or "dir_info" in record:
        return None
    user, _, host = parts.netloc.rpartition("@")
    place = parts._replace(netloc=f"git@{host}" if user == "git" else host, fragment="").geturl()
    if source := record.get("vcs_info"):
        place = f"{source['vcs']}+{place}@{source['commit_id']}"
    if folder := record.get("subdirectory"):
        place += f"#subdirectory={folder}"
    return f"{NAME}[measure] @ {place}"
