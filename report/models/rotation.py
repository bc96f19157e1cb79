"""Queries and keys without rotation, and the biases inside them, of any attention module."""


class Splitter:
    """Fills in what `Factors` splits a score by; a context manager around a forward pass."""

    def __init__(self, chosen, recorder):
        self.chosen = chosen
        self.wanted = getattr(recorder, "wants_factors", True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def completed(self, layer, factors):
        """The factors of a layer with what can be found filled in."""
        return factors
