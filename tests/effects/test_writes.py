"""What heads write: by the numbers of direct effects, and by a plain loop."""

import numpy as np
import pytest
import torch

from report.effects.asked import Asked
from report.effects.sentence import by_target
from report.effects.writes import SHOWN, writes_of_heads
from report.families.verify import in_float64
from report.models.attention.structure import structure
from tests.effects.asking import APART, entering, loaded, text


@pytest.mark.parametrize("name", APART)
def test_times_the_probability_it_is_the_direct_effect_by_target(name):
    with in_float64():
        model = loaded(name)
        found = writes_of_heads(model, text(), [(1, 2)], 12)[0]
        for place, source in enumerate(found.sources):
            token, other = found.promoted[place, 0], found.suppressed[place, 0]
            asked = [Asked(12, int(one), "mean") for one in (token, other)]
            effects = by_target(model, text(), asked).effects[:, 1, 2, source]
            signs = np.array([found.promoted_by[place, 0], found.suppressed_by[place, 0]])
            np.testing.assert_allclose(found.probability[place] * signs, effects, atol=1e-10)
            if source > 1:
                break  # three tokens are enough
    assert found.sources == tuple(range(13))
    assert found.promoted.shape == found.suppressed_by.shape == (13, SHOWN)
    assert (np.diff(found.promoted_by) <= 0).all() and (np.diff(found.suppressed_by) >= 0).all()
    assert (found.promoted_by[:, 0] > 0).all() and (found.suppressed_by[:, 0] < 0).all()


def test_each_logit_is_what_a_plain_loop_makes_of_it():
    with in_float64():
        model = loaded("qwen2/default")  # values have a bias, and two heads share one
        found = writes_of_heads(model, text(), [(1, 3)])[0]
        part = structure(model.model)[1]
        norm = model.model.model.norm
        (state, inputs), _ = entering(model.model, [norm, part.attention.v_proj], text())
        sigma = torch.sqrt((state[-1] ** 2).mean() + norm.variance_epsilon)
        matrix = part.attention.v_proj.weight.detach()[16:32]
        columns = part.output_projection.weight.detach()[:, 48:64]
        head = model.model.get_output_embeddings().weight.detach()
        for source in (0, 7):
            written = columns @ (matrix @ inputs[source])
            logits = [
                float(head[token] @ (norm.weight.detach() * written / sigma)) for token in range(99)
            ]
            logits = np.array(logits) - np.mean(logits)
            order = np.argsort(-logits)
            assert found.promoted[source].tolist() == order[:SHOWN].tolist()
            assert found.suppressed[source].tolist() == order[::-1][:SHOWN].tolist()
            np.testing.assert_allclose(found.promoted_by[source], logits[order[:SHOWN]], atol=1e-10)
            down = logits[order[::-1][:SHOWN]]
            np.testing.assert_allclose(found.suppressed_by[source], down, atol=1e-10)
