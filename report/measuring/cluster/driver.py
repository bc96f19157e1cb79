"""Gives pieces to workers, adds up what comes back; stands in for `report.measuring.run.alone`."""

import threading
import time
from contextlib import ExitStack, contextmanager
from queue import Queue

from report.errors import ReportError
from report.measuring.cluster.connection import connected, require_address, require_ray
from report.measuring.cluster.scheduling import Schedule
from report.measuring.cluster.summary import Summary
from report.measuring.cluster.workforce import LostError, Workforce
from report.measuring.run import preset_of
from report.models.find import known

TURN = 0.5
"""Seconds that are waited for news at a time."""


@contextmanager
def on_cluster(address):
    """Within the context, the function that it yields measures on a cluster, as `alone` does here.

    address: as for `connection.connected`; the connection is made when it is first needed
    raises: UsageError if Ray is not installed or that is no address; ReportError if there is no
        such cluster
    """
    require_ray()
    require_address(address)
    with ExitStack() as stack:
        opened = []

        def run(tasks, progress, announce):
            if tasks and not opened:
                opened.append(stack.enter_context(connected(address)))
            if tasks:
                yield from Driver(opened[0], tasks, progress, announce).run()

        yield run


class Driver:
    """One run: the tasks of one article."""

    def __init__(self, ray, tasks, progress, announce):
        """arguments as of `report.measuring.run.alone`"""
        self.ray, self.tasks, self.progress, self.announce = ray, tasks, progress, announce
        first = next(iter(tasks.values()))
        self.spec = first.cluster
        self.schedule = Schedule(tasks, self.spec.retries)
        self.force = Workforce(ray, self.spec, first.options["device"], announce)
        self.summary = Summary(self.force.shares)
        self.said, self.stopped, self.finished = set(), threading.Event(), Queue()

    def run(self):
        """Measure everything, models at the same time; yields as `alone` does.

        Workers go on while what is yielded is being written.
        """
        for task in self.tasks.values():
            if preset := preset_of(task.source):
                self.announce(known.about(preset, task.options["layers"]))
        thread = threading.Thread(target=self._whole, daemon=True)
        thread.start()
        failed = []
        try:
            while (found := self.finished.get()) is not None:
                if isinstance(found, ReportError):
                    failed.append(found)
                elif isinstance(found, BaseException):
                    raise found
                else:
                    yield found
        finally:
            self.stopped.set()
            thread.join()
        for line in self.summary.lines:
            self.announce(line)
        if failed:
            raise failed[0]

    def _whole(self):
        """All of the run, in a thread of its own; what it finds is put into `finished`."""
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
            found = [self._hear(member) for member in self.force.heard(TURN)]
            self._give(references)  # before what was found is counted: nobody waits for that
            for attempt, result in filter(None, found):
                self._count(attempt, result)
            for number in unfinished - set(self.schedule.open):
                unfinished.remove(number)
                self._finish(number)
            self.progress("Measuring", *self.schedule.progress)

    def _give(self, references):
        """A piece for every idle worker; more workers where there is room."""
        for member in self.force.idle:
            attempt = self.schedule.next(member.held, self.force.held())
            if attempt is not None:
                self.force.begin(member, attempt, references[attempt.number])
        if not self.force.idle and self.schedule.waits:
            self.force.fill(self.schedule.at_most)

    def _hear(self, member):
        """(`Attempt`, `Result`) of a worker that was heard of, or None if it brought nothing."""
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
        self._note(member, attempt, answer)
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

    def _note(self, member, attempt, answer):
        """Write down what a worker did, and pass on what it said, once."""
        share = member.share
        share.device = answer.device or share.device
        share.load += answer.seconds.get("load", 0.0)
        share.forward += answer.seconds.get("forward", 0.0)
        if answer.result is not None and answer.result.tally is not None:
            share.texts += answer.result.tally.statistics.texts
            share.tokens += answer.result.tally.tokens
        for sentence in answer.said:
            if sentence not in self.said:
                self.said.add(sentence)
                self.announce(sentence)

    def _finish(self, number):
        try:
            self.finished.put((number, *self.schedule.gathered[number].finished()))
        except ReportError as error:  # of one model; the others go on
            self.finished.put(error)
