"""What runs on a machine of the cluster: holds one model at a time and measures pieces with it."""

import os
import socket
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from report.errors import ReportError
from report.measuring import key as keys
from report.measuring import kinds
from report.measuring.changes import changes
from report.measuring.pieces import measure_piece

NAMED = ("model", "code", "libraries")
"""Parts of a key that a worker computes for itself, as they are of its machine."""


@dataclass
class Answer:
    """What a worker says of one piece."""

    result: object = None
    """`Result`, or None if there is none."""
    error: str = ""
    """Why there is none."""
    broken: bool = False
    """Whether the process may be unfit for more: an error that nobody expected, or no memory."""
    unfit: bool = False
    """Whether the model could not be loaded there."""
    said: list = field(default_factory=list)
    """Sentences for the command line."""
    seconds: dict = field(default_factory=dict)
    """"load" and "forward"."""
    device: str = ""
    """Names of the devices that the model is on."""


class Worker:
    """An actor. It is told of a task once and keeps its model until another task comes."""

    def __init__(self, threads, gpus):
        """threads: that torch computes with; gpus: how many Ray gives it"""
        self.threads, self.gpus = threads, gpus
        self.number = self.loaded = self.task = None

    def about(self):
        """dict of where it runs: "node" (its id), "host", "pid"."""
        import ray

        node = ray.get_runtime_context().get_node_id()
        return {"node": node, "host": socket.gethostname(), "pid": os.getpid()}

    def measure(self, number, task, piece):
        """Measure a `Piece` of a `Task` with that number: `Answer`, never an exception."""
        answer = Answer(unfit=True)
        try:
            began = time.perf_counter()
            if self.number != number:
                self._take(number, task, answer.said.append)
            answer.seconds["load"] = time.perf_counter() - began
            answer.device, answer.unfit = self.loaded.identity["device"], False
            began = time.perf_counter()
            answer.result = measure_piece(
                self.loaded,
                kinds.kind(self.task.kind),
                self.task.inputs,
                piece,
                lambda *_: None,
                answer.said.append,
            )
            answer.seconds["forward"] = time.perf_counter() - began
        except ReportError as error:
            answer.error, answer.broken = str(error), str(error).startswith("out of memory")
        except Exception as error:  # a defect here or in a library: one sentence for the reader
            answer.error, answer.broken = f"{type(error).__name__}: {error}".split("\n")[0], True
        return answer

    def _take(self, number, task, announce):
        """Load the model of a task, in place of the one before."""
        self.number = self.loaded = self.task = None
        try:
            from report.models.load import load, placement
        except ModuleNotFoundError as error:
            raise ReportError(
                f"the worker on {socket.gethostname()} has no package {error.name!r}; install the "
                "same there as here, see the section on clusters in README.md"
            ) from error
        placement.use_threads(self.threads)
        source = _here(task.source)
        _require_same(source, task)
        options = task.options | {"device": self._device(task.options["device"], placement)}
        self.loaded = load.load_model(source, announce=announce, **options)
        self.number, self.task = number, task

    def _device(self, wanted, placement):
        if not self.gpus:
            return "cpu"
        if not placement.has_cuda():
            raise ReportError(
                f"the worker on {socket.gethostname()} was given a GPU, which the torch there "
                "cannot use; install one with CUDA there, or say `cluster: {num_gpus: 0}`"
            )
        return wanted


def _here(source):
    """A model where it is on this machine.

    raises: ReportError if it was a folder that is not here
    """
    from report.models.find import names

    if source.origin == "embedded":
        return names.find(source.name)
    if source.origin == "folder" and not (Path(source.folder) / "config.json").is_file():
        raise ReportError(
            f"the worker on {socket.gethostname()} has no folder {source.folder}; put the model "
            "where all machines see it under the same path, or name one on the hub"
        )
    return replace(source, folder=source.folder and Path(source.folder))


def _require_same(source, task):
    """Stop where model, code or libraries are not those that the key of the datasets names."""
    here = keys.determined_by(source, task.kind, {}, task.parts["settings"])
    kept = {name: value for name, value in task.parts.items() if name not in NAMED}
    libraries = {name: keys.version(name) for name in task.parts["libraries"]}
    here = kept | {name: here[name] for name in NAMED} | {"libraries": libraries}
    different = changes(task.parts, here)
    if different:
        raise ReportError(
            f"the worker on {socket.gethostname()} is not like this machine "
            f"({'; '.join(different)}); install the same project and `locks/` there"
        )
