"""Measure a text by its regions: what each gives to each, in every head."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.measurements.factors import Factors, Scores
from report.measurements.regions import SHARES, RegionSums, even
from report.models.attention.kernel import streaming_attention
from report.models.attention.recorder import Recorder
from report.models.attention.running import Run
from report.models.attention.self_check import checked
from report.models.measure.passage import require_measurable

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


class RegionRecorder(Recorder):
    """Collects what regions give to regions.

    between: float64 [layers, heads, regions, regions], see `RegionSums.between`
    shares: float64 [layers, heads, 3], see `RegionSums.to`
    even, even_shares: the same of even attention, without heads
    """

    wants_factors = False

    def __init__(self, loaded: "LoadedModel", region: Sequence[int]):
        """region: int [T], of each token"""
        layers, heads, number = loaded.measured_layers, loaded.structure[0].heads, max(region) + 1
        self.region = region
        self.between = np.zeros((layers, heads, number, number))
        self.shares = np.zeros((layers, heads, len(SHARES)))
        self.even = np.zeros((layers, number, number))
        self.even_shares = np.zeros((layers, len(SHARES)))

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Compute one layer's context and add up its attention by regions."""
        visible = factors.range()
        sums = RegionSums(self.region, factors.heads, visible.first.device)
        context = streaming_attention(factors, value, sums.add, layer)
        self.between[layer], self.shares[layer] = sums.between().cpu(), sums.to().cpu()
        self.even[layer], self.even_shares[layer] = even(self.region, visible)
        return context


def measure_regions(
    loaded: "LoadedModel", token_ids: list[int], region: Sequence[int]
) -> RegionRecorder:
    """What the regions of a text give to each other, in every head.

    region: int [T], of each token
    raises: ReportError as for a passage
    """
    require_measurable(loaded, token_ids)
    checked(loaded)
    recorder = RegionRecorder(loaded, region)
    loaded.run([Run(token_ids, recorder, loaded.identity["alibi_factor"])])
    return recorder
