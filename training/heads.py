"""The head of a model in which a measure is largest."""

import numpy as np


def strongest(values: np.ndarray) -> dict[str, float]:
    """The largest of float [layers, heads] with its address: {"value", "layer", "head"}."""
    layer, head = np.unravel_index(np.argmax(values), values.shape)
    return {
        "value": round(float(values[layer, head]), 4),
        "layer": int(layer),
        "head": int(head),
    }
