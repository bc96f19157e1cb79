"""A sound shard of any kind passes; one whose numbers do not fit together is refused in words."""

import numpy as np
import pytest

from report.datasets.formats import rice
from report.datasets.verify.published import verify_attention
from report.errors import ReportError
from tests.figures import hand_made


def shard(kind):
    return hand_made.one_head(np.random.default_rng(2), 0, 1, hand_made.KINDS[kind])


@pytest.mark.parametrize("kind", hand_made.KINDS)
def test_sound_shards_pass(kind):
    verify_attention(shard(kind))


DAMAGES = {
    "no ranges": ("encoder", lambda d: d.pop("visible"), "the cells of term 'mixed' are not 300"),
    "a range outside": (
        "encoder",
        lambda d: d["visible"]["last"].__setitem__(3, 24),
        "token 3 sees targets 0 to 24",
    ),
    "another window": (
        "window",
        lambda d: d["visible"]["first"].__setitem__(9, 4),
        "the cells of term 'content' are not 146",
    ),
    "a target out of sight": (
        "rotary",
        lambda d: d.update(targets=rice.write(np.full((1, 209), 42 + 23))),
        "the largest targets of token 0 are not 1 that it sees",
    ),
    "a target twice": (
        "rotary",
        lambda d: d.update(targets=rice.write(np.full((1, 209), 42))),
        "the largest targets of token 1 are not 2 that it sees",
    ),
    "a marker too many": (
        "window",
        lambda d: d["marker_count"].__setitem__(20, 8),
        "token 20 has more markers",
    ),
    "a lost row": ("rotary", lambda d: d["marker_count"].pop(), "marker_count has 23 values"),
    "a lost target": ("rotary", lambda d: d.update(targets=""), "not of packed integers"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_does_not_fit_is_refused(name):
    kind, damage, said = DAMAGES[name]
    data = shard(kind)
    damage(data)
    with pytest.raises(ReportError, match=f"layer 0 head 1: .*{said}"):
        verify_attention(data)
