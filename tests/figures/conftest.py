import pytest

from tests.figures import hand_made


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A hand-made study."""
    return hand_made.study(tmp_path_factory.mktemp("study") / "datasets" / "hand" / "0123456789ab")
