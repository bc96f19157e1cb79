"""Checkpoints to damage."""

import shutil

import pytest


@pytest.fixture
def folder(falcon_folder, tmp_path):
    """A copy of the model's folder that a test may damage."""
    return shutil.copytree(falcon_folder, tmp_path / "copy")
