"""Gives pieces to workers and adds up their results, in place of `report.measuring.alone.alone`.

Where no cluster answers, one sentence says so.
"""

import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from queue import Queue
from types import ModuleType
from typing import Any

from report.errors import ReportError, UsageError
from report.kinds import folders
from report.measuring.cluster.scheduling import Attempt, Schedule
from report.measuring.cluster.summary import Summary
from report.measuring.cluster.worker import Answer
from report.measuring.cluster.workforce import LostError, Member, Workforce
from report.measuring.forecast import Rest
from report.measuring.kind import Announce, Progress
from report.measuring.pieces import Result, Task, has_corpus
from report.measuring.run import Measurer
from report.measuring.settings import preset_of
from report.models.find import known

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no usage statistics
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # workers use the Python of their machine
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Defaults of environment variables that Ray reads when it is imported."""

ADDRESS = re.compile(r"(?P<host>[^\s/:]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})")
ANSWERS = 10
"""Seconds within which a machine must answer; Ray itself would try for minutes."""


def require_ray() -> ModuleType:
    """The module ray.

    raises: UsageError if it is not installed
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise UsageError(
            "--ray needs the package 'ray', which is not installed; run "
            "`pip install '.[measure,cluster]'` in the folder of the project, or leave --ray out."
        ) from error
    return ray


@contextmanager
def connected(address: str) -> Iterator[ModuleType]:
    """Within the context, this process is the driver of a Ray cluster; yields the module ray.

    address: "auto" for the cluster that this machine belongs to, "local" for a cluster on this
        machine that ends with the context and that no other machine reaches, or host:port
    raises: ReportError if there is no such cluster; UsageError if Ray is not installed
    """
    ray = require_ray()
    _require_answer(address)
    options = {"include_dashboard": False} if address == "local" else {}
    with _on_loopback(ray) if address == "local" else nullcontext():
        try:
            ray.init(address=address, log_to_driver=False, logging_level="critical", **options)
        except Exception as error:  # Ray raises many kinds
            said = " ".join(str(error).split())[:200].rstrip(".")
            raise _not_there(address, said) from error
    try:
        if address == "local":
            _require_loopback(ray)
        # Ray prints a line for every worker that died; the summary does that. (For debuggers.)
        ray._private.worker._worker_logs_enabled = False
        yield ray
    finally:
        ray.shutdown()


LOOPBACK = "127.0.0.1"
"""The address that only this machine reaches."""


@contextmanager
def _on_loopback(ray):
    """Within the context, Ray starts a cluster that other machines do not reach.

    Ray does so on systems where firewalls ask about every port (macOS), and takes no option for it:
    an address of this machine alone, such as `_node_ip_address`, is replaced by one for others.
    """
    constants = ray._private.ray_constants
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


def _require_loopback(ray):
    """Stop if the cluster that was started could be reached by others: Ray runs what they send."""
    listening = ray.util.get_node_ip_address()
    if listening != LOOPBACK:
        raise ReportError(
            f"this version of Ray ({ray.__version__}) would listen on {listening}, where other "
            "machines reach it; install the version in `locks/`, or leave --ray out"
        )


def require_address(address: str) -> re.Match | None:
    """The match of `ADDRESS`, or None for auto and local; UsageError for anything else."""
    if address in ("auto", "local"):
        return None
    match = ADDRESS.fullmatch(address)
    if not match or int(match["port"]) > 65535:
        raise UsageError(
            f"--ray {address!r} is no address; say auto, local, or host:port, such as 10.0.0.1:6379"
        )
    return match


def _require_answer(address):
    """Stop for an address where nothing listens."""
    match = require_address(address)
    if match is None:
        return
    host, port = match["host"].strip("[]"), int(match["port"])
    try:
        socket.create_connection((host, port), ANSWERS).close()
    except OSError as error:
        raise _not_there(address, error.strerror or str(error)) from error


def _not_there(address, said):
    where = "no cluster runs here" if address == "auto" else f"there is none at {address}"
    if address == "local":
        where = "it does not start here"
    return ReportError(
        f"cannot connect to a Ray cluster: {where} ({said}). Start one with `ray start --head`, "
        "give its address (--ray host:6379), or say --ray local to use this machine alone"
    )


TURN = 0.5
"""Seconds to wait for answers before the next look at idle workers and progress."""


@contextmanager
def on_cluster(address: str) -> Iterator[Measurer]:
    """Within the context, the function that it yields measures on a cluster.

    address: as for `connection.connected`; the connection is made when it is first needed
    raises: UsageError if Ray is not installed or that is no address; ReportError if there is no
        such cluster
    """
    require_ray()
    require_address(address)
    with ExitStack() as stack:
        modules = []  # ray, once it is connected

        def measure(tasks, progress, announce):
            if tasks and not modules:
                modules.append(stack.enter_context(connected(address)))
            if tasks:
                yield from Driver(modules[0], tasks, progress, announce).run()

        yield measure


class Driver:
    """One run: the tasks of one article."""

    def __init__(
        self, ray: ModuleType, tasks: dict[int, Task], progress: Progress, announce: Announce
    ):
        """tasks, progress, announce: as of `report.measuring.alone.alone`"""
        self.ray, self.tasks, self.progress, self.announce = ray, tasks, progress, announce
        first = next(iter(tasks.values()))
        self.spec = first.cluster
        self.schedule = Schedule(tasks, self.spec.retries)
        self.force = Workforce(ray, self.spec, first.options["device"], announce)
        self.summary = Summary(self.force.shares)
        self.reads_texts = has_corpus(folders.kind(first.kind))
        self.rest = Rest("text" if self.reads_texts else "model", announce)
        self.said, self.stopped, self.finished = set(), threading.Event(), Queue()

    def run(self) -> Iterator[tuple[int, Any, dict]]:
        """Measure all models at the same time; yields as `alone` does.

        Workers go on while a yielded result is being written.
        raises: ReportError if a model, a text or the cluster fails
        """
        for task in self.tasks.values():
            if preset := preset_of(task.source):
                self.announce(known.about(preset, task.options["layers"]))
        thread = threading.Thread(target=self._whole, daemon=True)
        thread.start()
        failed = []
        try:
            while (item := self.finished.get()) is not None:
                if isinstance(item, ReportError):
                    failed.append(item)
                elif isinstance(item, BaseException):
                    raise item
                else:
                    yield item
        finally:
            self.stopped.set()
            thread.join()
        for line in self.summary.lines:
            self.announce(line)
        if failed:
            raise failed[0]

    def _whole(self):
        """The whole run, in a thread of its own; results and errors are put into `finished`."""
        began = time.perf_counter()
        try:
            self._measure()
        except BaseException as error:
            self.finished.put(error)
        finally:
            self.force.close()
            self.summary.seconds = time.perf_counter() - began
            self.summary.again = self.schedule.again
            self.finished.put(None)

    def _measure(self):
        references = {n: self.ray.put(task) for n, task in self.tasks.items()}
        unfinished = set(self.tasks)
        self._give(references)
        while unfinished and not self.stopped.is_set():
            results = [self._hear(member) for member in self.force.heard(TURN)]
            self._give(references)  # before the results are counted, so that no worker waits
            for attempt, result in filter(None, results):
                self._count(attempt, result)
            self.rest.tell(self.schedule.left, len(self.force.members))
            for number in unfinished - set(self.schedule.open):
                unfinished.remove(number)
                self._finish(number)
            self.progress("Measuring", *self.schedule.progress)

    def _give(self, references):
        """Give a piece to every idle worker, and start more workers if there is room."""
        for member in self.force.idle:
            attempt = self.schedule.next(member.held, self.force.held())
            if attempt is not None:
                self.force.begin(member, attempt, references[attempt.number])
        if not self.force.idle and self.schedule.waits:
            self.force.fill(self.schedule.at_most)

    def _hear(self, member: Member) -> tuple[Attempt, Result] | None:
        """The attempt and result of a worker that was heard of, or None if it has no result."""
        attempt = member.attempt
        try:
            answer = self.force.answer(member)
        except LostError as error:
            if attempt is not None:
                self._lost(attempt, f"the worker was lost ({error})", blamed=not error.gone)
            return None
        if answer is None:  # it has started
            return None
        member.attempt = None
        self._note(member, answer)
        if answer.result is None:
            if answer.broken:
                self.force.dismiss(member)
            self._lost(attempt, answer.error, divisible=not answer.unfit)
            return None
        return attempt, answer.result

    def _count(self, attempt, result):
        began = time.perf_counter()
        self.schedule.done(attempt, result)
        self.summary.merging += time.perf_counter() - began

    def _lost(self, attempt, reason, blamed=True, divisible=True):
        if not self.schedule.lost(attempt, reason, blamed, divisible):
            raise ReportError(reason)

    def _note(self, member: Member, answer: Answer):
        """Record what a worker did, and announce each of its sentences once."""
        share = member.share
        share.device = answer.device or share.device
        share.load += answer.seconds.get("load", 0.0)
        share.forward += answer.seconds.get("forward", 0.0)
        result, measured = answer.result, 0
        if result is not None and result.tally is not None:
            measured = result.tally.texts
            share.texts += measured
            share.tokens += result.tally.tokens
        elif result is not None and not self.reads_texts:
            measured = 1
        self.rest.add(measured, answer.seconds.get("forward", 0.0))
        for sentence in answer.sentences:
            if sentence not in self.said:
                self.said.add(sentence)
                self.announce(sentence)

    def _finish(self, number):
        try:
            self.finished.put((number, *self.schedule.gathered[number].finished()))
        except ReportError as error:  # of this model; the others go on
            self.finished.put(error)
