"""What the command line says while it works: sentences, and bars of progress."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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
        console.print(sentence, markup=False, soft_wrap=True)

    def say_measured(self, article: str, found) -> None:
        """What happened to the datasets of a model, a `report.measuring.run.ModelDatasets`."""
        self.say(f"{article}: {_happened(found)}")

    @contextmanager
    def bars(self) -> Iterator[Callable[[str, int, int], None]]:
        """A bar for everything that reports progress meanwhile.

        yields: a function that is called with (what, done, total)
        """
        with progress() as shown:
            tasks = {}

            def show(what, done, total):
                if what not in tasks:
                    tasks[what] = shown.add_task(what, total=total)
                shown.update(tasks[what], completed=done, total=total)

            yield show


def progress() -> Progress:
    """Bars of progress, with counts and times."""
    columns = TextColumn("{task.description:14}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, TimeElapsedColumn(), console=console)


def say_error(error: Exception) -> None:
    """One line about what went wrong."""
    console.print(f"[red]error:[/] {escape(str(error))}", soft_wrap=True)


def shown(path: str | Path) -> Path:
    """A path as it is typed here: relative if it lies below the current folder."""
    path = Path(path).resolve()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _happened(found):
    from report.measuring.frozen import measured_with

    key = found.folder.name
    if found.ran:
        return f"measured ({key}): {'; '.join(found.reasons)}"
    with_what = f": {measured_with(found.folder)}" if found.state == "frozen" else ""
    return f"{NOT_MEASURED[found.state]} ({key}){with_what}"
