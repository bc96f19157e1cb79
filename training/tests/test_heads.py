"""The strongest head of values written by hand."""

import numpy as np

from training.heads import strongest


def test_the_strongest_head_is_named_by_layer_and_head():
    assert strongest(np.array([[0.1, 0.2], [0.1, 0.7], [0.3, 0.6]])) == {
        "value": 0.7,
        "layer": 1,
        "head": 1,
    }
