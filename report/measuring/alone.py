"""Measures models in this process; `cluster/` does the same on many machines."""

from collections.abc import Iterator
from typing import Any

from report.errors import ReportError, setup
from report.measuring import pieces
from report.measuring.forecast import Pace
from report.measuring.kind import Announce, Progress
from report.measuring.settings import preset_of
from report.models.find import known


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
    try:
        from report.models.load import load
        from report.models.load.sentences import supported
    except ModuleNotFoundError as error:
        raise ReportError(
            f"measuring needs the package {error.name!r}; run `{setup()}`."
        ) from error
    if preset := preset_of(task.source):
        announce(known.about(preset, task.options["layers"]))
    with supported(task.source.name):
        return _measured(load.load_model, task, progress, announce)


def _measured(load_model, task, progress, announce):
    loaded = load_model(task.source, announce=announce, **task.options)
    progress = Pace(progress, announce)
    gathering = pieces.Gathering(task)
    several = pieces.has_corpus(gathering.kind)
    for piece in gathering.pieces():
        before = gathering.done

        def show(what, done, total, before=before):
            progress(what, *((before + done, gathering.total) if several else (done, total)))

        result = pieces.measure_piece(loaded, gathering.kind, task.inputs, piece, show, announce)
        gathering.add(piece, result)
    return gathering.finished()
