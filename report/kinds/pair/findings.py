"""What an article about two prompts may say: which heads matter, at which token, and by whom."""

import numpy as np

from report.errors import ReportError
from report.figures.parts.heads import Head
from report.kinds.pair.data import Edge, PairData, Receiver
from report.kinds.passage.data import Token


def context(data: PairData) -> dict:
    """What templates of articles about two prompts use: `find`."""
    return {"find": Findings(data)}


class Findings:
    """Numbers of a pair: shares of the way from the corrupted run, 0, to the clean one, 1.

    Those of a set of pairs are means over pairs.
    """

    def __init__(self, data: PairData) -> None:
        self.data = data

    def head(self, layer: int, head: int) -> Head:
        """A head by its place, with what it restores at all tokens."""
        return Head(layer, head, float(self.data.of_heads("restored")[layer, head]))

    def sorted(self, what: str = "restored") -> list[Head]:
        """All heads by the size of what patching them, or ablating them, does, largest first.

        what: "restored", "lost", "zero" or "mean"
        """
        values = self.data.of_heads(what)
        heads = [Head(layer, head, float(v)) for (layer, head), v in np.ndenumerate(values)]
        return sorted(heads, key=lambda head: -abs(head.value))

    @property
    def strongest(self) -> Head:
        """The head that restores most."""
        return max(self.sorted(), key=lambda head: head.value)

    def value(self, what: str, at: Head | Receiver) -> float:
        """What patching or ablating one head does, by `what` as of `sorted`."""
        return float(self.data.of_heads(what)[at.layer, at.head])

    def error(self, what: str, at: Head | Receiver) -> float:
        """The standard error of `value` over pairs.

        raises: ReportError if there is one pair
        """
        errors = self.data.errors_of_heads(what)
        if errors is None:
            raise ReportError(
                "a single pair has no standard error; give it `fills`, or do not use `find.error`."
            )
        return float(errors[at.layer, at.head])

    def token(self, at: Head, way: str = "restored") -> Token:
        """The token of the clean prompt at which patching a head alone does most."""
        values = np.abs(self.data.at_tokens(way)[at.layer, at.head])
        return self.data.clean.tokens[self.data.start + int(values.argmax())]

    def there(self, at: Head, way: str = "restored") -> float:
        """What it does there."""
        index = self.token(at, way).index - self.data.start
        return float(self.data.at_tokens(way)[at.layer, at.head, index])

    def receiver(self, at: Head) -> Receiver:
        """What was measured of paths into a head.

        raises: StopIteration if nothing was
        """
        return next(each for each in self.data.receivers if each.place == (at.layer, at.head))

    def into(self, at: Head, by: str | None = None) -> list[Edge]:
        """Edges into a head, the largest first; by: "Q", "K" or "V", None: all."""
        edges = [edge for edge in self.data.edges if edge.receiver == (at.layer, at.head)]
        edges = [edge for edge in edges if by in (None, edge.by)]
        return sorted(edges, key=lambda edge: -abs(edge.value))

    def edge(self, sender: Head, at: Head, by: str) -> float:
        """The edge from a head into another; 0 if it is too small to be kept."""
        place = sender.layer, sender.head
        values = (e.value for e in self.into(at, by) if (e.sender.layer, e.sender.head) == place)
        return next(values, 0.0)

    @property
    def floor(self) -> float:
        """The largest edge into a random head of the same layers; 0 if none was kept."""
        return max((abs(edge.value) for edge in self.data.matched_edges), default=0.0)

    @property
    def between(self) -> list[Edge]:
        """Edges from head to head, of those whose edges were measured, above the floor; the largest
        first."""
        receivers = {each.place for each in self.data.receivers if not each.matched}
        edges = [
            edge
            for edge in self.data.edges
            if abs(edge.value) > self.floor and (edge.sender.layer, edge.sender.head) in receivers
        ]
        return sorted(edges, key=lambda edge: -abs(edge.value))


NAMES = {"data": PairData, "find": Findings}
"""Name in templates -> class of what it stands for."""
