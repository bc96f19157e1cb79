"""A sound shard of any kind passes; one whose numbers do not fit together is refused in words."""

import numpy as np
import pytest

from report.datasets.verify.published import verify_attention
from report.errors import ReportError
from tests.figures import hand_made


def shard(kind):
    return hand_made.one_head(np.random.default_rng(2), 0, 1, hand_made.KINDS[kind])


@pytest.mark.parametrize("kind", hand_made.KINDS)
def test_sound_shards_pass(kind):
    verify_attention(shard(kind))


def add(name, place, amount):
    def damage(data):
        data[name][place] += amount

    return damage


def put(name, place, value):
    def damage(data):
        data[name][place] = value

    return damage


DAMAGES = {
    "a normalizer": (
        "rotary",
        add("log_normalizer", 4, 0.01),
        "probabilities of token 4 do not add up",
    ),
    "the sink": ("sink", lambda d: d.update(sink=9.0), "token 0 do not add up"),
    "no sink": ("sink", lambda d: d.pop("sink"), "token 0 do not add up"),
    "the softcap": ("softcap", lambda d: d.pop("softcap"), "do not add up"),
    "a window": (
        "window",
        lambda d: d["visible"]["first"].__setitem__(9, 4),
        "term 'content' has 147 values, not 146",
    ),
    "no ranges": ("encoder", lambda d: d.pop("visible"), "has 576 values, not 300"),
    "a range outside": (
        "encoder",
        lambda d: d["visible"]["last"].__setitem__(3, 24),
        "token 3 sees targets 0 to 24",
    ),
    "a later target": ("rotary", put("largest_targets", 11, 5), "targets of token 1 are not 2"),
    "an unseen target": ("window", put("largest_targets", 220, 1), "token 20 are not 7 that it"),
    "a target twice": (
        "encoder",
        lambda d: d["largest_targets"].__setitem__(1, d["largest_targets"][0]),
        "targets of token 0 are not 11 that it sees",
    ),
    "a target too many": ("rotary", put("largest_targets", 1, 0), "token 0 are not 1 that it"),
    "a marker too many": ("window", put("marker_count", 20, 8), "token 20 has more markers"),
    "a lost row": ("rotary", lambda d: d["marker_count"].pop(), "marker_count has 23 values"),
    "a lost target": ("rotary", lambda d: d["largest_targets"].pop(), "263 values, not 264"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_does_not_fit_is_refused(name):
    kind, damage, said = DAMAGES[name]
    data = shard(kind)
    damage(data)
    with pytest.raises(ReportError, match=f"layer 0 head 1: .*{said}"):
        verify_attention(data)
