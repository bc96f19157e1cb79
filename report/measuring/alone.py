"""Measures models in this process; `cluster/` does the same on many machines."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from report.authored.guard import StepError
from report.datasets.write.processes import processors
from report.errors import ReportError, setup
from report.measuring import pieces
from report.measuring.forecast import Pace, fits_beside
from report.measuring.kind import Announce, Progress
from report.measuring.settings import preset_of
from report.models.find import known
from report.models.find.names import Source

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


MOST_LOADED = 4
"""Models that stay loaded at once."""


class Models:
    """Models that stay loaded while memory allows: articles of a publication share them, and with
    them what was computed once for a model, such as the mean contexts that stand for heads."""

    def __init__(self) -> None:
        self.there: list[tuple[object, LoadedModel]] = []

    @contextmanager
    def of(self, task: pieces.Task, announce: Announce) -> Iterator["LoadedModel"]:
        """The model of a task; where an error ends the block, it does not stay.

        raises: ReportError as `load_source`
        """
        model = task.source, task.options, task.parts.get("model")
        before = [loaded for each, loaded in self.there if each == model]
        self.there = [pair for pair in self.there if pair[0] != model]
        many = len(self.there) >= MOST_LOADED
        if self.there and not before and (many or not fits_beside(task.source, task.options)):
            self.there = []
        loaded = before.pop() if before else load_source(task.source, task.options, announce)
        try:
            yield loaded
        except StepError:  # nobody's mistake
            self.there.append((model, loaded))
            raise
        self.there.append((model, loaded))


def alone(
    tasks: dict[int, pieces.Task],
    progress: Progress,
    announce: Announce,
    models: Models | None = None,
) -> Iterator[tuple[int, Any, dict]]:
    """Measure in this process, one model after the other.

    tasks: by number; models: that stay loaded from one call to the next
    yields: number, what the kind's `write` takes, and entries of the manifest
    raises: ReportError if a package is missing, or the model or a text cannot be measured
    """
    models = models or Models()
    for number, task in tasks.items():
        with models.of(task, announce) as loaded:
            done = measure_with(loaded, task, progress, announce)
        yield number, *done


def load_source(source: Source, options: dict, announce: Announce) -> "LoadedModel":
    """Load a model; ReportError if it cannot be, or a package is missing.

    options: of `load_model`
    """
    try:
        from report.models.load.load import load_model
        from report.models.load.memory import at_most_threads
    except ModuleNotFoundError as error:
        raise ReportError(
            f"measuring needs the package {error.name!r}; run `{setup()}`."
        ) from error
    at_most_threads(processors())
    if preset := preset_of(source):
        announce(known.about(preset, options["layers"]))
    return load_model(source, announce=announce, **options)


def measure_with(
    loaded: "LoadedModel", task: pieces.Task, progress: Progress, announce: Announce
) -> tuple[Any, dict]:
    """Check a loaded model, and measure all pieces of a task with it.

    returns: what the kind's `write` takes, and entries of the manifest
    raises: ReportError if the model or a text cannot be measured
    """
    from report.models.load.sentences import supported

    with supported(task.source.name):
        return _measured(loaded, task, progress, announce)


def _measured(loaded, task, progress, announce):
    progress = Pace(progress, announce)
    gathering = pieces.Gathering(task)
    several = pieces.has_corpus(gathering.kind)
    for piece in gathering.pieces():
        progress.within(gathering.done, gathering.total if several else None)
        result = pieces.measure_piece(
            loaded, gathering.kind, task.inputs, piece, progress, announce
        )
        gathering.add(piece, result)
    return gathering.finished()
