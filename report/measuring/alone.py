"""Measures models in this process; `cluster/` does the same on many machines."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from report.datasets.write.processes import processors
from report.errors import ReportError, setup
from report.measuring import pieces
from report.measuring.forecast import Pace
from report.measuring.kind import Announce, Progress
from report.measuring.settings import preset_of
from report.models.find import known
from report.models.find.names import Source

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


def alone(
    tasks: dict[int, pieces.Task], progress: Progress, announce: Announce
) -> Iterator[tuple[int, Any, dict]]:
    """Measure in this process, one model after the other.

    tasks: by number
    yields: number, what the kind's `write` takes, and entries of the manifest
    raises: ReportError as `measure_task`
    """
    for number, task in tasks.items():
        yield number, *measure_task(task, progress, announce)


def measure_task(task: pieces.Task, progress: Progress, announce: Announce) -> tuple[Any, dict]:
    """Load the model of a task, check it, and measure all pieces in this process.

    returns: what the kind's `write` takes, and entries of the manifest
    raises: ReportError if a package is missing, or the model or a text cannot be measured
    """
    loaded = load_source(task.source, task.options, announce)
    return measure_with(loaded, task, progress, announce)


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
    """`measure_task` with a model that was loaded before."""
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
