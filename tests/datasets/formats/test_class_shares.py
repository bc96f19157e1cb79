"""Shares by class and the renderings, to files and back; and damage to them is found."""

from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets.formats import class_shares, columnar
from report.datasets.formats.token_classes import CLASSES
from report.errors import ReportError
from report.kinds.table.data import verify as verify_table
from tests.figures import hand_made, hand_table


@pytest.fixture
def study(tmp_path):
    return hand_table.study(tmp_path / "0123456789ab")


def test_what_is_read_back_is_what_was_written():
    rng = np.random.default_rng(1)
    found = {}
    for name in ("csv", "json"):
        given = rng.dirichlet(np.ones(len(CLASSES)), (3, 4))
        even = rng.dirichlet(np.ones(len(CLASSES)), 3)
        found[name] = SimpleNamespace(probability=given, even=even)
    decoded = columnar.decode(class_shares.encode(found))["heads"]
    assert len(decoded["layer"]) == 2 * len(CLASSES) * 3 * 4
    for number, (rendering, target, layer, head) in enumerate(
        zip(*(decoded[n] for n in ("rendering", "target", "layer", "head")), strict=True)
    ):
        kind = list(CLASSES).index(target)
        given, even = found[rendering].probability, found[rendering].even
        assert decoded["probability"][number] == pytest.approx(given[layer, head, kind], abs=6e-6)
        assert decoded["even"][number] == pytest.approx(even[layer, kind], abs=6e-6)
        lower = (given[layer, :, kind] < given[layer, head, kind]).sum()
        assert decoded["rank"][number] == lower


def test_what_goes_to_no_token_is_counted_and_classes_without_tokens_are_left_out():
    given = np.zeros((1, 2, len(CLASSES)))
    given[..., :2] = 0.25
    even = np.zeros((1, len(CLASSES)))
    even[:, 0] = 1
    shares = class_shares.encode({"csv": SimpleNamespace(probability=given, even=even)})
    decoded = columnar.decode(shares)["heads"]
    assert sorted(set(decoded["target"])) == ["first_token", "header", "other"]
    other = decoded["target"] == "other"
    np.testing.assert_allclose(decoded["probability"][other], 0.5, atol=1e-9)


@pytest.mark.parametrize("kind", hand_made.KINDS)
def test_a_sound_study_of_any_kind_is_verified(tmp_path, kind):
    data = hand_table.study(tmp_path / "a", kind)
    verify_table(data)
    for name in data.renderings:
        total = sum(data.shares(target, name) for target in data.targets)
        np.testing.assert_allclose(total, 1, atol=1e-4)
        even = sum(data.even(target, name) for target in data.targets)
        np.testing.assert_allclose(even, 1, atol=1e-4)
    assert ("other" in data.targets) == (kind == "sink")


def test_an_unknown_class_or_rendering_names_the_known_ones(study):
    with pytest.raises(ReportError, match="targets 'column' in rendering 'csv'; targets: first_to"):
        study.shares("column", "csv")
    with pytest.raises(ReportError, match="renderings: csv, json, sentences"):
        study.even("header", "xml")
