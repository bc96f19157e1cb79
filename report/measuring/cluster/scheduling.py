"""Which piece is measured next, and what happens to one that was not measured."""

from collections import deque
from dataclasses import dataclass

from report.measuring.pieces import Gathering


@dataclass(eq=False)
class Attempt:
    """A `Piece` with a worker, or on its way to one, and how often it was tried before."""

    number: int
    """Of its task."""
    piece: object
    tried: int = 0


class Schedule:
    """The pieces of several tasks. A piece is in one place at a time: to come, waiting to be tried
    again, or with a worker; only the last one that had it may `done` it."""

    def __init__(self, tasks, retries):
        self.retries, self.again = retries, 0
        self.gathered = {number: Gathering(task) for number, task in tasks.items()}
        self._coming = {n: each.pieces(apart=True) for n, each in self.gathered.items()}
        self._waiting = {n: deque() for n in tasks}
        self._out = {n: set() for n in tasks}

    @property
    def open(self):
        """Numbers of tasks of which something is not done, list."""
        return [n for n in self.gathered if self._out[n] or self._has(n)]

    @property
    def waits(self):
        """Whether there is a piece that no worker has."""
        return any(self._has(n) for n in self.gathered)

    def next(self, held, workers):
        """The `Attempt` for a worker, or None if there is nothing to give.

        held: number of the task whose model it has, or None
        workers: dict of a task's number to how many workers hold its model
        """
        if held is not None and self._has(held):
            return self._give(held)
        waiting = [n for n in self.gathered if self._has(n)]
        if not waiting:
            return None
        return self._give(min(waiting, key=lambda n: (workers.get(n, 0), n)))

    def done(self, attempt, result):
        """Count what a piece gave; texts that failed are tried again, if they may be."""
        self._back(attempt)
        tally, piece, gathered = result.tally, attempt.piece, self.gathered[attempt.number]
        if tally is not None and tally.failed and attempt.tried < self.retries:
            failed = tuple(each for each in piece.texts if each[0] in tally.failed)
            self._retry(attempt, piece.with_texts(failed))
            piece = piece.with_texts(tuple(t for t in piece.texts if t not in failed))
            tally.failed = {}
        gathered.add(piece, result)

    @property
    def at_most(self):
        """How many pieces there are, about; never fewer."""
        return sum(each.at_most for each in self.gathered.values())

    @property
    def progress(self):
        """(texts done, texts) of all tasks."""
        every = self.gathered.values()
        return sum(each.done for each in every), sum(each.total for each in every)

    def lost(self, attempt, reason, blamed=True, divisible=True):
        """A piece gave nothing: it is tried again, at last text by text.

        blamed: whether the piece may be what broke the worker
        divisible: whether one of its texts may be the reason
        returns: False if there is nothing left to try
        """
        self._back(attempt)
        piece = attempt.piece
        if not blamed:
            self._retry(attempt, piece, attempt.tried)
        elif attempt.tried < self.retries:
            self._retry(attempt, piece)
        elif not divisible or piece.article:
            return False
        elif len(piece.texts) > 1:
            for half in piece.halves():
                single = len(half.texts) == 1  # an innocent one has to have its chances
                self._retry(attempt, half, 0 if single else self.retries)
        else:
            self.gathered[attempt.number].give_up(piece, reason)
        return True

    def _has(self, number):
        """Whether something of a task can be given; reads on where nothing waits."""
        if not self._waiting[number]:
            piece = next(self._coming[number], None)
            if piece is not None:
                self._waiting[number].append(Attempt(number, piece))
        return bool(self._waiting[number])

    def _give(self, number):
        attempt = self._waiting[number].popleft()
        self._out[number].add(attempt)
        return attempt

    def _back(self, attempt):
        assert attempt in self._out[attempt.number], "a piece came back twice"
        self._out[attempt.number].remove(attempt)

    def _retry(self, attempt, piece, tried=None):
        self.again += 1
        tried = attempt.tried + 1 if tried is None else tried
        self._waiting[attempt.number].append(Attempt(attempt.number, piece, tried))
