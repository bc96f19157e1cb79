"""What the command line says while it works: sentences, and bars of progress."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from report.project import enclosing_project
from report.text import brief, lasting, printable, without_secrets

FIRST_PAUSE = 30
"""Seconds after which a log has its first line about progress."""

console = Console(stderr=True, highlight=False)

NOT_MEASURED = {
    "unchanged": "unchanged, not measured again",
    "kept": "not measured again: what measures is not installed, and nothing else changed",
    "frozen": "frozen datasets used",
}
"""What is said of datasets that are not measured; see `report.measuring.plan.Plan`."""


class Terminal:
    """What the steps of `report.pipeline` tell the reader of a terminal."""

    def say(self, sentence: str) -> None:
        """A line as it is: neither wrapped nor read as markup, since it may hold a path."""
        console.print(clean(sentence), markup=False, soft_wrap=True)

    def say_measured(self, article: str, datasets) -> None:
        """What happened to the datasets of a model, a `report.measuring.run.ModelDatasets`."""
        from report.measuring.frozen import measured_with

        key, frozen = datasets.folder.name, datasets.state == "frozen"
        about = f"measured ({key}): {'; '.join(datasets.reasons)}"
        if not datasets.ran:
            how = f": {measured_with(datasets.folder)}" if frozen else ""
            about = f"{NOT_MEASURED[datasets.state]} ({key}){how}"
        self.say(f"{article}: {about}")

    @contextmanager
    def bars(self) -> Iterator[Callable[[str, int, int], None]]:
        """Progress meanwhile: a line that updates on a terminal, a few lines in a log.

        yields: a function that is called with (what, done, total)
        """
        if not console.is_terminal:
            yield Lines(self.say)
            return
        with progress() as bars:
            tasks = {}

            def show(what, done, total):
                if what not in tasks:
                    tasks[what] = bars.add_task(what, total=total, visible=False)
                for other in tasks.keys() - {what}:
                    bars.update(tasks[other], visible=False)
                if done < bars.tasks[tasks[what]].completed:  # the next model
                    bars.reset(tasks[what])
                bars.update(tasks[what], completed=done, total=total, visible=True)

            yield show


class Lines:
    """Progress in a log: a line after half a minute, then after twice as long, and so on."""

    def __init__(self, say: Callable[[str], object], clock: Callable[[], float] = time.monotonic):
        """say: called with a line; clock: seconds from any beginning"""
        self.say, self.clock = say, clock
        self.begun: dict[str, tuple[float, int]] = {}
        """What is done -> when it began, and how much was done then."""
        self.last: dict[str, tuple[int, float]] = {}
        """What is done -> how much was done last, and seconds before its next line."""

    def __call__(self, what: str, done: int, total: int) -> None:
        """Count what is done; says something seldom."""
        now = self.clock()
        last, pause = self.last.get(what, (done, FIRST_PAUSE))
        if what not in self.begun or done < last:  # or of the next model
            self.begun[what], pause = (now, done), FIRST_PAUSE
        began, before = self.begun[what]
        seconds, counted = now - began, done - before
        speaks = counted > 0 and seconds >= pause
        self.last[what] = done, 2 * seconds if speaks else pause
        if not speaks:
            return
        rest = seconds / counted * (total - done)
        to_go = f", about {lasting(rest)} to go" if done < total else ""
        self.say(f"{what}: {done:,} of {total:,} after {lasting(seconds)}{to_go}")


def progress() -> Progress:
    """Bars of progress, with counts, the time so far and the time to go."""
    columns = TextColumn("{task.description:14}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console)


def say_error(error: Exception) -> None:
    """One line about what went wrong."""
    console.print(f"[red]error:[/] {escape(clean(str(error)))}", soft_wrap=True)


def clean(sentence: str) -> str:
    """A sentence as it is safe to show: it repeats no secret of an address, and whatever else it
    repeats is `brief` and does nothing to the terminal. Paths are as of `from_here`."""
    return printable(brief(without_secrets(from_here(sentence))))


def from_here(sentence: str) -> str:
    """A sentence with its paths as they are typed here.

    Those below the current folder, and below the publication that it lies in, become relative.
    """
    here, publication = Path.cwd(), enclosing_project()
    for folder in (here, publication.root if publication else here):
        if folder.name:  # all paths begin with the root of the system
            whole = rf"(?<![\w/.~-]){re.escape(str(folder))}/(?=\S)"
            up = os.path.relpath(folder, here)
            sentence = re.sub(whole, lambda _, up=up: "" if up == "." else f"{up}/", sentence)
    return sentence


def as_typed(path: str | Path) -> Path:
    """A path as it is typed here: relative if it lies below the current folder."""
    path = Path(path).resolve()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
