"""What was drawn of an article already, so that a process that renders it again draws only what
changed."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any


class Drawn:
    """Results by name, each with the objects that it was made of.

    It is made again if one of them is another object now. They are compared by identity, because
    datasets and figures are large; so who changes one must put another in its place.
    """

    def __init__(self) -> None:
        self.results: dict[Hashable, tuple[Sequence[object], Any]] = {}
        self.used: set[Hashable] = set()

    def get(self, name: Hashable, of: Sequence[object], make: Callable[[], Any]) -> Any:
        """The result of that name; made if there is none of just these objects."""
        self.used.add(name)
        known, result = self.results.get(name, (None, None))
        if known is None or [*map(id, known)] != [*map(id, of)]:
            self.forget(name)  # what fails half-way has no result
            result = make()
            self.results[name] = [*of], result
        return result

    def forget(self, name: Hashable) -> None:
        """Have it made again the next time."""
        self.results.pop(name, None)

    def finish(self) -> None:
        """Let go of what was not asked for since the last time."""
        self.results = {name: self.results[name] for name in self.used & self.results.keys()}
        self.used = set()
