"""What templates write about lists of layers."""

import pytest

from report.pages.filters import layers


@pytest.mark.parametrize(
    ("indices", "said"),
    [
        ([3], "layer 3"),
        ([0, 2], "layers 0 and 2"),
        ([0, 1], "layers 0 and 1"),
        ([0, 1, 2, 3, 5], "layers 0 to 3 and 5"),
        ([5, 1, 3], "layers 1, 3 and 5"),
    ],
)
def test_layers_are_listed_as_in_a_sentence(indices, said):
    assert layers(indices) == said
    assert layers(dict.fromkeys(indices)) == said
