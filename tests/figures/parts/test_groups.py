"""Groups of heads: those that are there are found, those of chance are not, and names are true."""

from types import SimpleNamespace

import numpy as np
import pytest

from report.figures import heads_by_two
from report.figures.parts import groups
from tests.figures import hand_atlas

CHANCE = np.random.default_rng(7)
LAYERS, HEADS = 10, 6
PLANTED = np.arange(LAYERS * HEADS) % 3
"""The group of each head."""


class Measured(SimpleNamespace):
    """Data of an atlas, as far as groups read them; values: measure -> [source, heads]."""

    layers, heads = LAYERS, HEADS

    def of_heads(self, column, measure, source):
        assert column == measure
        return self.values[measure][int(source == "control")].reshape(LAYERS, HEADS)

    __hash__ = object.__hash__


def measured(values):
    return Measured(values=values, words=dict.fromkeys(values))


def planted():
    """Group 0 is high in the first half of ten measures, group 1 in the second, 2 in none."""
    values = {}
    for n in range(10):
        high = (n < 5) == (PLANTED == 0)
        high &= PLANTED < 2
        noise = CHANCE.normal(size=(2, LAYERS * HEADS))
        values[f"m{n}"] = noise + 6 * high * np.array([[1], [n % 2]])
    return values


def test_groups_that_are_there_are_found():
    found, chance = groups.groups(measured(planted()))
    expected = [{divmod(int(h), HEADS) for h in np.flatnonzero(n == PLANTED)} for n in range(3)]
    assert [set(each.heads) for each in found if set(each.heads) in expected] == expected
    assert all(each.likeness > 1.5 * chance for each in found)
    assert [each.number for each in found] == [1, 2, 3]


def test_names_are_true_and_controls_are_of_the_same_heads():
    values = planted()
    found, _ = groups.groups(measured(values))
    for group in found:
        here = [layer * HEADS + head for layer, head in group.heads]
        assert group.traits
        for trait in group.traits:
            on_texts, on_control = values[trait.measure]
            place = [(sum(on_texts < on_texts[h]) + 0.5) / 60 for h in here]
            middle = np.median(on_texts)
            above = sum(on_texts[h] > middle for h in here)
            assert trait.place == pytest.approx(np.mean(place))
            assert trait.number == (above if trait.high else len(here) - above)
            assert trait.number >= 0.8 * len(here)
            by_loop = [(sum(on_control < on_control[h]) + 0.5) / 60 for h in here]
            assert trait.control == pytest.approx(np.mean(by_loop))
        for one, other in zip(group.traits, group.traits[1:], strict=False):
            places = [groups.places(values[each.measure][0]) for each in (one, other)]
            assert abs(np.corrcoef(places)[0, 1]) <= groups.SAME


def test_what_is_shuffled_has_no_groups():
    """As many as chance lets through, one of twenty-one at most, in ten atlases of noise."""
    shown = 0
    for _ in range(10):
        noise = {f"m{n}": CHANCE.normal(size=(2, LAYERS * HEADS)) for n in range(10)}
        shown += len(groups.groups(measured(noise))[0])
    assert shown <= 3


def test_only_the_order_of_values_counts():
    values = planted()
    found, chance = groups.groups(measured(values))
    bent = {name: np.exp(each / 3) for name, each in values.items()}
    assert groups.groups(measured(bent)) == (found, chance)


def test_k_means_and_silhouettes_are_those_of_plain_loops():
    profiles = np.stack([groups.places(each[0]) for each in planted().values()], 1)
    labels = groups.clusters(profiles, 4)
    middles = [profiles[labels == n].mean(0) for n in range(labels.max() + 1)]
    for profile, label in zip(profiles, labels, strict=True):
        assert label == np.argmin([((profile - middle) ** 2).sum() for middle in middles])
    for head, value in enumerate(groups.silhouettes(profiles, labels)):
        away = [np.linalg.norm(profiles[head] - other) for other in profiles]
        means = [
            np.mean([d for h, d in enumerate(away) if labels[h] == n and h != head])
            for n in range(len(middles))
        ]
        own = means.pop(labels[head])
        assert value == pytest.approx((min(means) - own) / max(own, min(means)))


def test_measures_that_do_not_apply_and_few_heads_are_left_out(tmp_path):
    values = planted()
    found = groups.groups(measured(values))
    lacking = np.full((2, LAYERS * HEADS), 0.5)
    lacking[0, 3] = np.nan
    others = {"constant": np.full((2, LAYERS * HEADS), 0.5), "lacking": lacking}
    assert groups.groups(measured(values | others)) == found
    few = measured({name: each[:, :6] for name, each in values.items()})
    few.layers, few.of_heads = 1, lambda _, name, source: few.values[name][:1]
    assert groups.groups(few)[0] == ()


def test_rows_say_the_group_of_each_head(tmp_path):
    data = hand_atlas.study(tmp_path)
    found, _ = groups.groups(data)
    number = {label: each.number for each in found for label in each.labels}
    rows = heads_by_two.rows(data)["rows"]
    assert number
    assert [row["group"] for row in rows] == [number.get(row["named"]) for row in rows]
