"""The actor on a machine of the cluster: it holds one model and measures pieces with it."""

import gc
import os
import socket
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from report.errors import ReportError
from report.kinds import folders
from report.measuring.changes import changes
from report.measuring.key import determined_by, version
from report.measuring.kind import Announce
from report.measuring.pieces import Piece, Result, Task, measure_piece
from report.models.find.names import Source

NAMED = ("model", "code", "libraries")
"""Parts of a key that depend on the machine, so that each worker computes its own."""


@dataclass
class Answer:
    """A worker's answer about one piece: its result, or why there is none."""

    result: Result | None = None
    error: str = ""
    """Why there is no result."""
    broken: bool = False
    """Whether the process may be unable to go on: an unexpected error, or no memory left."""
    unfit: bool = False
    """Whether the model could not be loaded there."""
    sentences: list[str] = field(default_factory=list)
    """For the command line, in their order."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Seconds of loading under "load", of measuring under "forward"."""
    device: str = ""
    """Names of the devices that the model is on."""


class Worker:
    """An actor. It loads the model of a task once, and keeps it until it gets another task."""

    def __init__(self, threads: int, gpus: float):
        """threads: for torch; gpus: how many Ray gives it"""
        self.threads, self.gpus = threads, gpus
        gc.set_threshold(10_000)  # as in report/__main__.py
        self.number = self.loaded = self.task = None

    def about(self) -> dict:
        """The place where it runs: dict of "node" (its id in Ray), "host" and "pid"."""
        import ray

        node = ray.get_runtime_context().get_node_id()
        return {"node": node, "host": socket.gethostname(), "pid": os.getpid()}

    def measure(self, number: int, task: Task, piece: Piece) -> Answer:
        """Measure a piece of a task; errors are in the answer, never raised.

        number: of the task; its model is loaded if the piece before was of another
        """
        answer = Answer(unfit=True)
        try:
            began = time.perf_counter()
            if self.number != number:
                self._take(number, task, answer.sentences.append)
            answer.seconds["load"] = time.perf_counter() - began
            answer.device, answer.unfit = self.loaded.identity["device"], False
            began = time.perf_counter()
            kind, announce = folders.kind(self.task.kind), answer.sentences.append
            result = measure_piece(
                self.loaded, kind, self.task.inputs, piece, lambda *_: None, announce
            )
            if result.per_model is not None and hasattr(kind, "sent"):
                result.per_model = kind.sent(result.per_model, self.threads)
            answer.result = result
            answer.seconds["forward"] = time.perf_counter() - began
        except ReportError as error:
            answer.error, answer.broken = str(error), str(error).startswith("out of memory")
        except Exception as error:  # a defect here or in a library, as one sentence
            answer.error, answer.broken = f"{type(error).__name__}: {error}".split("\n")[0], True
        return answer

    def _take(self, number: int, task: Task, announce: Announce):
        """Load the model of a task in place of the present one.

        raises: ReportError if torch or the model is not on this machine, if the worker is not like
            the machine of the command, or as `load_model`
        """
        self.number = self.loaded = self.task = None
        source = _here(task.source)
        try:
            from report.models.load import load, memory
        except ModuleNotFoundError as error:
            raise ReportError(
                f"the worker on {socket.gethostname()} has no package {error.name!r}; install the "
                "same there as here, see CLUSTER.md"
            ) from error
        memory.use_threads(self.threads)
        _require_same(source, task)
        options = task.options | {"device": self._device(task.options["device"], memory)}
        self.loaded = load.load_model(source, announce=announce, **options)
        self.number, self.task = number, task

    def _device(self, wanted, memory):
        """The device to load on: the CPU unless Ray gave a GPU; ReportError if torch lacks CUDA."""
        if not self.gpus:
            return "cpu"
        if not memory.has_cuda():
            raise ReportError(
                f"the worker on {socket.gethostname()} was given a GPU, which the torch there "
                "cannot use; install one with CUDA there, or say `cluster: {num_gpus: 0}`"
            )
        return wanted


def _here(source: Source) -> Source:
    """The source of a model with the path of its folder or file on this machine.

    raises: ReportError for a folder or file that is not there
    """
    from report.models.find import names

    if source.base is not None:
        source = replace(source, base=_here(source.base))
    if source.origin in ("embedded", "package"):
        return names.find(source.name)
    there = source.folder and Path(source.folder)
    settings = "adapter_config.json" if source.base else "config.json"
    if (source.origin == "folder" and not (there / settings).is_file()) or (
        source.origin == "file" and not there.is_file()
    ):
        what = "file" if source.origin == "file" else "folder"
        raise ReportError(
            f"the worker on {socket.gethostname()} has no {what} {source.folder}; put the model "
            "where all machines see it under the same path, or name one on the hub"
        )
    return replace(source, folder=source.folder and Path(source.folder))


def _require_same(source, task):
    """Stop if model, code or libraries differ from those in the key of the datasets: ReportError.

    The other parts of the key do not depend on the machine, so they are taken from the task.
    """
    here = determined_by(source, task.kind, {}, task.parts["settings"])
    shared = {name: value for name, value in task.parts.items() if name not in NAMED}
    libraries = {name: version(name) for name in task.parts["libraries"]}
    here = shared | {name: here[name] for name in NAMED} | {"libraries": libraries}
    different = changes(task.parts, here)
    if different:
        raise ReportError(
            f"the worker on {socket.gethostname()} is not like this machine "
            f"({'; '.join(different)}); install the same project and `locks/` there"
        )
