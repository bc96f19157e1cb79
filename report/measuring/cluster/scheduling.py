"""Which piece is measured next, and what happens to a piece that gave no result."""

from collections import deque
from dataclasses import dataclass

from report.measuring.pieces import Gathering, Piece, Result, Task


@dataclass(eq=False)
class Attempt:
    """A piece that a worker has or will get."""

    number: int
    """Number of its task."""
    piece: Piece
    tried: int = 0
    """How often it was tried before."""


class Schedule:
    """The pieces of several tasks.

    A piece is in one place at a time: still to come, waiting to be tried again, or with a worker.
    Only the last attempt may be `done`.
    """

    def __init__(self, tasks: dict[int, Task], retries: int):
        self.retries, self.again = retries, 0
        self.gathered = {number: Gathering(task) for number, task in tasks.items()}
        self._coming = {n: task.pieces(apart=True) for n, task in self.gathered.items()}
        self._waiting = {n: deque() for n in tasks}
        self._out = {n: set() for n in tasks}

    @property
    def open(self) -> list[int]:
        """Numbers of tasks that are not done."""
        return [n for n in self.gathered if self._out[n] or self._has(n)]

    @property
    def waits(self) -> bool:
        """Whether there is a piece that no worker has."""
        return any(self._has(n) for n in self.gathered)

    def next(self, held: int | None, workers: dict[int, int]) -> Attempt | None:
        """The attempt for a worker, or None if nothing is left to give.

        held: number of the task whose model the worker has, or None
        workers: number of a task -> how many workers hold its model
        """
        if held is not None and self._has(held):
            return self._give(held)
        waiting = [n for n in self.gathered if self._has(n)]
        if not waiting:
            return None
        return self._give(min(waiting, key=lambda n: (workers.get(n, 0), n)))

    def done(self, attempt: Attempt, result: Result) -> None:
        """Count a result; texts that failed are tried again if they have retries left."""
        self._back(attempt)
        tally, piece, gathered = result.tally, attempt.piece, self.gathered[attempt.number]
        if tally is not None and tally.failed and attempt.tried < self.retries:
            failed = tuple(text for text in piece.texts if text[0] in tally.failed)
            self._retry(attempt, piece.with_texts(failed))
            piece = piece.with_texts(tuple(text for text in piece.texts if text not in failed))
            tally.failed = {}
        gathered.add(piece, result)

    @property
    def at_most(self) -> int:
        """The most pieces that all tasks have, if none fails."""
        return sum(task.at_most for task in self.gathered.values())

    @property
    def progress(self) -> tuple[int, int]:
        """Units of work of all tasks: how many are done, and how many there are."""
        tasks = self.gathered.values()
        return sum(task.done for task in tasks), sum(task.total for task in tasks)

    @property
    def left(self) -> int:
        """How many texts of all tasks are not measured yet; models, where none reads texts."""
        return sum(task.left for task in self.gathered.values())

    def lost(
        self, attempt: Attempt, reason: str, blamed: bool = True, divisible: bool = True
    ) -> bool:
        """Try a piece again that gave no result; finally it is halved until the text is found.

        blamed: whether the piece may have broken the worker
        divisible: whether a single text may be the reason
        returns: False if nothing is left to try
        """
        self._back(attempt)
        piece = attempt.piece
        if not blamed:
            self._retry(attempt, piece, attempt.tried)
        elif attempt.tried < self.retries:
            self._retry(attempt, piece)
        elif not divisible or piece.per_model:
            return False
        elif len(piece.texts) > 1:
            for half in piece.halves():
                single = len(half.texts) == 1  # may be innocent, so it gets all its retries
                self._retry(attempt, half, 0 if single else self.retries)
        else:
            self.gathered[attempt.number].give_up(piece, reason)
        return True

    def _has(self, number):
        """Whether a task has a piece to give; reads further texts if no piece waits."""
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
