"""Heads of tiny models of many families as queries and keys, however short their passage is."""

import numpy as np

from report import families
from report.datasets import store
from report.datasets.formats import fitting
from report.datasets.write.attention import group_of, rotation
from report.models.measure.passage import measure_passage

FAMILIES = ["llama", "qwen2", "gemma2", "gpt_oss", "mistral", "gpt_neox", "glm4", "modernbert"]
FAMILIES += ["gpt_neox times 50"]
"""Plain; with biases; a softcap; sinks and biases; a window; a part rotated; neighbours rotated; no
token hidden; scores beyond 65,504, as pythia-70m and Qwen 2 7B have."""

NOT_ROTATED = ["gpt2", "falcon", "bloom", "bert", "smollm3"]
"""Learned positions; ALiBi; ALiBi and biases; an encoder; layers with a rotation and without."""

LENGTH = 60


def measured(family):
    """What was measured of a tiny model on random tokens."""
    family, _, factor = family.partition(" times ")
    loaded = families.loaded(family, seed=3)
    for name, weight in loaded.model.named_parameters():
        if factor and "query_key_value" in name:
            weight.data *= float(factor)
    rng = np.random.default_rng(0)
    return measure_passage(loaded, rng.integers(1, 40, LENGTH).tolist())


def datasets(measurement, layer, key_head=0):
    """The datasets of the heads of a group as a reader has them, with their keys."""
    factors = measurement.factors[layer]
    size = len(factors.query) // len(factors.key)
    heads = range(key_head * size, (key_head + 1) * size)
    turned = rotation(factors)
    of_keys, shards = fitting.encode(group_of(measurement, layer, key_head, heads, turned))
    store.check(of_keys, "test")
    return [store.check(shard, "test") | {"keys": of_keys} for shard in shards]
