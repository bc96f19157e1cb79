"""What portraits of heads are made of: how far heads look, and at which token they look most."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from report.measurements.block import Block
from report.measurements.factors import Factors, Scores
from report.measurements.head_statistics import HeadStatistics
from report.measurements.portraits import STARTS, TextPortrait
from report.measures import Measure
from report.models.attention.kernel import ROWS, streaming_attention
from report.models.measure.passage import TextRecorder

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


class PortraitRecorder(TextRecorder):
    """Collects, beside the statistics of one text, what each head looks at in it."""

    def __init__(
        self,
        loaded: "LoadedModel",
        token_ids: Sequence[int],
        rows: int = ROWS,
        measures: Sequence[Measure] | None = None,
        *,
        done: Callable[[TextPortrait], object],
    ):
        """done: called with the `TextPortrait` once the text has been run"""
        super().__init__(loaded, token_ids, rows, measures)
        self.done = done
        layers, heads = loaded.measured_layers, loaded.structure[0].heads
        self.token_ids, bins = list(token_ids), len(STARTS) + 1
        each = layers, heads, self.tokens
        self.strength = torch.zeros(each)
        self.target = torch.full(each, -1, dtype=torch.int32)
        self.received = torch.zeros(each, dtype=torch.float64)
        self.even_received = torch.zeros((layers, 1, self.tokens), dtype=torch.float64)
        self.distances = torch.zeros((layers, heads, bins), dtype=torch.float64)
        self.even_distances = torch.zeros((layers, 1, bins), dtype=torch.float64)

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Compute one layer's context, and look at every block of its attention."""
        summed = self.sums.layer(layer, value)

        def add(block: Block) -> None:
            summed(block)
            self._look(layer, block)

        return streaming_attention(factors, value, add, layer, self.rows)

    def measurement(self) -> HeadStatistics:
        """The sums, once the text has been run; all else that was collected goes to `done`."""
        found = ("strength", "target", "received", "even_received", "distances", "even_distances")
        self.done(TextPortrait(self.token_ids, *(getattr(self, name).numpy() for name in found)))
        return super().measurement()

    def _look(self, layer, block):
        left_out = int(block.start == 0)  # the first token, which in most models sees itself alone
        rows = slice(block.rows.start + left_out, block.rows.stop)
        probability = block.probability[:, left_out:]
        if not probability.shape[1]:
            return
        device, keys = probability.device, probability.shape[-1]
        query = torch.arange(rows.start, rows.stop, device=device)[:, None]
        key = torch.arange(block.first_key, block.first_key + keys, device=device)
        bins = torch.bucketize((query - key).abs(), torch.tensor(STARTS, device=device), right=True)
        bins = bins.masked_fill(key == 0, 0)
        at = layer, block.heads
        self._sum(self.received, self.distances, at, key, bins, probability)
        if block.first_head == 0:
            first, last = (end[left_out:, None] for end in (block.first, block.last))
            seen = (key >= first) & (key <= last)
            even = (seen / seen.sum(-1, keepdim=True))[None]
            whole = layer, slice(None)
            self._sum(self.even_received, self.even_distances, whole, key, bins, even)
        beyond = int(block.first_key == 0)  # the first token is where heads rest
        if keys > beyond:
            most, place = probability[..., beyond:].max(-1)
            self.strength[(*at, rows)] = most.float().cpu()
            place = (place + block.first_key + beyond).where(most > 0, -1)
            self.target[(*at, rows)] = place.int().cpu()

    @staticmethod
    def _sum(received, distances, at, key, bins, probability):
        probability = probability.double()
        received[(*at, slice(int(key[0]), int(key[-1]) + 1))] += probability.sum(1).cpu()
        none = probability.new_zeros(len(probability), distances.shape[-1])
        summed = none.index_add(1, bins.flatten(), probability.flatten(1))
        distances[at] += summed.cpu()
