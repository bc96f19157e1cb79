"""Groups of heads with like profiles, named by the measures in which they differ from all heads.

A profile is a head's place among all heads in each measure, from 0 to 1. Heads are put into groups
by k-means from heads that are far apart, so that nothing is drawn by chance. How alike the heads of
a group are is its mean silhouette. Chance is the largest of any group where the same is done to the
same places, those of each measure shuffled over heads.
source: silhouettes, Rousseeuw 1987; starting points, Gonzalez 1985
"""

import functools
from dataclasses import dataclass

import numpy as np

from report.figures.parts.heads import Head, HeadFindings, head_label, ranks
from report.kinds.atlas import beside
from report.kinds.atlas.data import AtlasData

NUMBERS = range(3, 9)
"""Numbers of groups that are tried; the one with the largest mean silhouette is taken."""

LEAST = 4
"""Heads of a group, at least on average."""

DIGITS = 9
"""Of a difference of places, so that equal ones are equal."""

SHUFFLES = 20

ROUNDS = 100
"""Of k-means, at most."""

SIDE = 0.8
"""The share of a group's heads that must be above the middle of all heads, or below it, in a
measure that names it."""

TRAITS, SAME = 3, 0.8
"""Measures that name a group, and the rank correlation of two over all heads from which on the
second says nothing new."""


@dataclass(frozen=True)
class Trait:
    """A measure in which the heads of a group differ from all heads."""

    measure: str
    place: float
    """Their mean place among all heads, from 0, the lowest, to 1."""
    control: float
    """The same where heads are sorted by their control; NaN where that says nothing of a head."""
    number: int
    """How many of them are on that side of the middle of all heads."""

    @property
    def high(self) -> bool:
        """Whether they have much of it."""
        return self.place > 0.5


@dataclass(frozen=True)
class Group:
    """Heads with like profiles, more so than by chance."""

    number: int
    """From 1, those of low layers first."""
    heads: tuple[tuple[int, int], ...]
    likeness: float
    """Mean silhouette, from -1 to 1."""
    traits: tuple[Trait, ...]
    """Those in which they differ most first; none where no measure tells them from all heads."""

    @property
    def labels(self) -> list[str]:
        """The names of its heads."""
        return [head_label(*head) for head in self.heads]


@functools.lru_cache(maxsize=4)
def groups(data: AtlasData) -> tuple[tuple[Group, ...], float]:
    """The groups that are more alike than by chance, and what chance gives; () where a model has
    too few heads, or no group is."""
    columns, profiles = _profiles(data)
    if not columns:
        return (), np.nan
    numbers = [number for number in NUMBERS if number * LEAST <= len(profiles)]
    if not numbers:
        return (), np.nan
    tried = [clusters(profiles, number) for number in numbers]
    labels = max(tried, key=lambda each: silhouettes(profiles, each).mean())
    chance = by_chance(profiles, labels.max() + 1)
    likeness = _by_group(silhouettes(profiles, labels), labels)
    apart = [np.flatnonzero(labels == n) for n, mean in enumerate(likeness) if mean > chance]
    layers = [(here // data.heads).mean() for here in apart]
    sorted_ = [apart[n] for n in np.argsort(layers, kind="stable")]
    controls = {name: _control(HeadFindings(data), name) for name in columns}
    return tuple(
        Group(
            number,
            tuple(divmod(int(each), data.heads) for each in here),
            float(likeness[labels[here[0]]]),
            _traits(profiles, columns, controls, here),
        )
        for number, here in enumerate(sorted_, 1)
    ), chance


@functools.lru_cache(maxsize=4)
def _profiles(data):
    """The measures that apply to every head and differ; heads' places in them [head, measure]."""
    of = HeadFindings(data)
    columns = {name: of.values(name).ravel() for name in data.words}
    columns = {name: each for name, each in columns.items() if np.ptp(each) > 0}  # NaN is not
    return [*columns], np.stack([places(each) for each in columns.values()], 1) if columns else None


def nearest(data: AtlasData, layer: int, head: int, number: int = 10) -> list[Head]:
    """The heads most like one: those whose places among all differ least from its own.

    returns: each with that difference, mean over the measures that apply to every head, from 0, of
        heads with the same places in all, to 1; of equal ones those of low layers first
    """
    columns, profiles = _profiles(data)
    if not columns:
        return []
    here = layer * data.heads + head
    apart = abs(profiles - profiles[here]).mean(1).round(DIGITS)
    near = [int(each) for each in np.argsort(apart, kind="stable") if each != here]
    return [Head(*divmod(each, data.heads), float(apart[each])) for each in near[:number]]


def places(values: np.ndarray) -> np.ndarray:
    """The place of each value among all, from 0, the lowest, to 1; ties have their mean place."""
    return (ranks(values) - 0.5) / len(values)


def clusters(profiles: np.ndarray, number: int) -> np.ndarray:
    """The group of each head, int [heads], from 0; profiles: float [heads, measures].

    The first middle is the head that is farthest from the mean of all, each next one the head that
    is farthest from all middles.
    """
    far = ((profiles - profiles.mean(0)) ** 2).sum(1)
    middles = profiles[[far.argmax()]]
    while len(middles) < number:
        middles = np.concatenate([middles, profiles[[_apart(profiles, middles).min(1).argmax()]]])
    labels = _apart(profiles, middles).argmin(1)
    for _ in range(ROUNDS):
        before = labels
        middles = np.stack(
            [profiles[labels == n].mean(0) if n in labels else middles[n] for n in range(number)]
        )
        labels = _apart(profiles, middles).argmin(1)
        if (labels == before).all():
            break
    return np.unique(labels, return_inverse=True)[1]


def _apart(first, second):
    """Squared distances of profiles, float [len(first), len(second)]."""
    squared = (first**2).sum(1)[:, None] + (second**2).sum(1) - 2 * first @ second.T
    return np.maximum(squared, 0)


def silhouettes(profiles: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """How much nearer each head is to its group than to the nearest other one, float [heads]; 0 for
    a head alone in its group."""
    is_in = np.eye(labels.max() + 1)[labels]
    number, heads = is_in.sum(0), np.arange(len(labels))
    sums = np.sqrt(_apart(profiles, profiles)) @ is_in
    within = sums[heads, labels] / np.maximum(number[labels] - 1, 1)
    means = sums / number
    means[heads, labels] = np.inf
    other = means.min(1)
    largest = np.maximum(within, other)
    known = (number[labels] > 1) & np.isfinite(other) & (largest > 0)
    return np.where(known, (other - within) / np.where(known, largest, 1), 0)


def _by_group(values, labels):
    return np.bincount(labels, values) / np.bincount(labels)


def by_chance(profiles: np.ndarray, number: int) -> float:
    """The largest mean silhouette of any group where the places of each measure are shuffled."""
    chance = np.random.default_rng(0)
    most = -1.0
    for _ in range(SHUFFLES):
        shuffled = chance.permuted(profiles, axis=0)
        labels = clusters(shuffled, number)
        most = max(most, float(_by_group(silhouettes(shuffled, labels), labels).max()))
    return most


def _control(of, name):
    """Places of heads by their control, [heads]; NaN where it is that of other heads."""
    values = of.values(name, "control").ravel()
    of_others = beside.CONTROLS.get(name) == beside.CONTROLS[beside.LOST.name]
    return values * np.nan if of_others or np.isnan(values).any() else places(values)


def _traits(profiles, names, controls, here):
    """What names the heads `here`, indices."""
    means, together = profiles[here].mean(0), np.corrcoef(profiles.T)
    sides = ((profiles[here] - 0.5) * np.sign(means - 0.5) > 0).sum(0)
    chosen = []
    for n in np.argsort(-abs(means - 0.5), kind="stable"):
        new = all(abs(together[n, other]) <= SAME for other in chosen)
        if new and sides[n] >= SIDE * len(here) and len(chosen) < TRAITS:
            chosen.append(n)
    return tuple(
        Trait(name, float(means[n]), float(controls[name][here].mean()), int(sides[n]))
        for n in chosen
        for name in [names[n]]
    )
