"""Heads of tiny models of many families as files of queries and keys."""

import numpy as np

from report import families
from report.datasets import store
from report.datasets.formats import fitting
from report.datasets.write.attention import attention_datasets, group_of, rotation
from report.models.measure.passage import measure_passage

FAMILIES = ["llama", "qwen2", "gemma2", "gpt_oss", "mistral", "gpt_neox", "glm4", "modernbert"]
FAMILIES += ["gpt_neox times 50"]
"""Plain; with biases; a softcap; sinks and biases; a window; a part rotated; neighbours rotated; no
token hidden; scores beyond 65,504, as pythia-70m and Qwen 2 7B have."""

NOT_ROTATED = ["gpt2", "falcon", "bloom", "bert", "smollm3", "gptj"]
"""Learned positions; ALiBi; ALiBi and biases; an encoder; layers with a rotation and without; a
model of which only scores are known."""

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
    """The datasets of the heads of a group as a reader has them, with their keys; of a layer of
    which only scores are known, of all heads."""
    factors = measurement.factors[layer]
    if not hasattr(factors, "query"):
        found = [attention_datasets(measurement, layer, head) for head in range(factors.heads)]
        return [store.check(shard, "test") for [(shard, _)] in found]
    size = len(factors.query) // len(factors.key)
    heads = range(key_head * size, (key_head + 1) * size)
    turned = rotation(factors)
    of_keys, shards = fitting.encode(group_of(measurement, layer, key_head, heads, turned))
    store.check(of_keys, "test")
    return [store.check(shard, "test") | {"keys": of_keys} for shard in shards]
