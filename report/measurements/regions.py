"""Attention between the regions of a text, and what each region receives from those after it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from report.measurements.block import Block
from report.measurements.visible import Visible

APART = 4
"""How many regions later those are, at least, from which received attention is counted."""

QUERIES = 4
"""How many of those there are, at least, where a region has a number: two of each half."""

LEAST = 6
"""Regions with a number of which unevenness and reliability are told, at least."""

SHARES = ("same", "first", "last")
"""What a token gives to its own region; to the first tokens of regions, without that of the text;
and to the last tokens of regions."""


class RegionSums:
    """Adds up, block by block, what the tokens of each region give to each region, in one layer."""

    def __init__(self, region: Sequence[int], heads: int, device: torch.device | None = None):
        """region: int [T], the region of each token, from 0 on, never falling"""
        self.region = torch.as_tensor(region, device=device)
        self.targets = targets(self.region)  # [T, regions + 2]
        number = self.targets.shape[1]
        self.total = torch.zeros(heads, number - 2, number, dtype=torch.float64, device=device)
        self.shares = torch.zeros(heads, len(SHARES), dtype=torch.float64, device=device)

    def add(self, block: Block) -> None:
        """Look at one `Block`."""
        keys = slice(block.first_key, block.first_key + block.probability.shape[-1])
        given = block.probability.double() @ self.targets[keys]  # [heads, rows, regions + 2]
        mine = self.region[block.rows]
        self.total[block.heads].index_add_(1, mine, given)
        rows = slice(int(block.start == 0), None)  # of the first token nothing is a choice
        same = given.gather(2, mine[None, :, None].expand(len(given), -1, 1))
        each = torch.cat([same, given[..., -2:]], -1)[:, rows]
        self.shares[block.heads] += each.sum(1)

    def between(self) -> torch.Tensor:
        """Once all blocks were added: what region i gives to region j, the mean over its tokens:
        float64 [heads, regions, regions]. A row sums to 1, or to what a sink leaves."""
        return self.total[..., :-2] / torch.bincount(self.region)[:, None]

    def to(self) -> torch.Tensor:
        """`SHARES`, means over all tokens but the first: float64 [heads, 3]."""
        return self.shares / (len(self.region) - 1)


def targets(region: torch.Tensor) -> torch.Tensor:
    """Whether each token is of each region; the first of one, but the text's; the last of one.

    region: int [T]; returns: float64 [T, regions + 2], 0 or 1
    """
    border = region.diff() > 0
    none, end = border.new_zeros(1), border.new_ones(1)
    ends = torch.stack([torch.cat([none, border]), torch.cat([border, end])], -1)
    return torch.cat([torch.nn.functional.one_hot(region.long()), ends], -1).double()


def even(region: Sequence[int], visible: Visible) -> tuple[np.ndarray, np.ndarray]:
    """The same of attention that is the same for all visible targets.

    returns: float64 ([regions, regions], [3]), as `RegionSums.between` and `RegionSums.to`
    """
    seen = visible.cpu().mask().double()
    sums = RegionSums(region, 1)
    probability = (seen / seen.sum(1, keepdim=True))[None]
    sums.add(Block(0, 0, 0, probability, probability, visible.first, visible.last))
    return sums.between()[0].numpy(), sums.to()[0].numpy()


@dataclass(frozen=True)
class Received:
    """What each region gets from those at least `APART` later, over what is to be expected.

    score: float64 [layers, heads, regions], 1: no more than its length and its distances explain.
        NaN for the first region, which holds the text's first token, and the last ones, which too
        few look back at
    halves: the same by even and by odd regions alone: [2, layers, heads, regions]
    unevenness: excess kurtosis of the score over regions, [layers, heads]; 0 as of a normal
        distribution; NaN where fewer than `LEAST` regions have a score
    of_halves: the same of each half
    reliability: correlation over regions of both halves (Pearson's, not stepped up), likewise
    """

    score: np.ndarray
    halves: np.ndarray
    unevenness: np.ndarray
    of_halves: np.ndarray
    reliability: np.ndarray


def received(between: np.ndarray, even: np.ndarray) -> Received:
    """What regions receive; between: float64 [layers, heads, n, n]; even: [layers, n, n]."""
    number = between.shape[-1]
    queries = np.arange(number)
    halves = np.stack([_score(between, even, queries % 2 == half) for half in (0, 1)])
    halves[..., number - APART - QUERIES + 1 :] = np.nan  # where too few look back
    score = np.where(np.isnan(halves).any(0), np.nan, _score(between, even, queries >= 0))
    return Received(
        score, halves, kurtosis(score), kurtosis(halves), correlation(halves[0], halves[1])
    )


def _score(between, even, rows):
    """Received over expected attention, of some of the regions that look.

    Expected is what even attention would give, times what the head gives more than it, or less, to
    all regions so many regions earlier. So a head that only looks so far back scores 1 everywhere.
    """
    number = between.shape[-1]
    given = np.zeros((*between.shape[:2], number))
    expected = np.zeros_like(given)
    for lag in range(APART, number):
        later = np.arange(1 + lag, number)  # and none of them looks at the first region
        later = later[rows[later]]
        there = between[..., later, later - lag]
        alike = even[:, None, later, later - lag]
        sums = alike.sum(-1, keepdims=True)
        factor = there.sum(-1, keepdims=True) / np.where(sums > 0, sums, 1)
        given[..., later - lag] += there
        expected[..., later - lag] += alike * factor
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, given / expected, np.nan)


def kurtosis(values: np.ndarray) -> np.ndarray:
    """Excess kurtosis along the last axis, of what is no NaN; NaN for fewer than `LEAST`."""
    away, number = _centred(values)
    second, fourth = ((away**power).sum(-1) / np.maximum(number, 1) for power in (2, 4))
    enough = (number >= LEAST) & (second > 0)
    return np.where(enough, fourth / np.where(enough, second, 1) ** 2 - 3, np.nan)


def correlation(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Pearson's correlation along the last axis, where both are no NaN; NaN as of `kurtosis`."""
    unknown = np.isnan(one + other)
    (one, number), (other, _) = (_centred(np.where(unknown, np.nan, each)) for each in (one, other))
    scale = np.sqrt((one**2).sum(-1) * (other**2).sum(-1))
    enough = (number >= LEAST) & (scale > 0)
    return np.where(enough, (one * other).sum(-1) / np.where(enough, scale, 1), np.nan)


def _centred(values):
    """Values less their mean, 0 for NaN; and how many are none, along the last axis."""
    known = ~np.isnan(values)
    number = known.sum(-1)
    mean = np.where(known, values, 0).sum(-1) / np.maximum(number, 1)
    return np.where(known, values - mean[..., None], 0), number
