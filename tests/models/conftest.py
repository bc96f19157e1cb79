"""Checkpoints to damage, and tests in float64."""

import shutil

import pytest

from report.families.double import in_float64


@pytest.fixture
def folder(falcon_folder, tmp_path):
    """A copy of the model's folder that a test may damage."""
    return shutil.copytree(falcon_folder, tmp_path / "copy")


@pytest.fixture
def double():
    """Everything in float64, models that are built in the test included: what is not the same to
    the last digits is a mistake. In float32 the same is compared in test_parity.py."""
    with in_float64():
        yield
