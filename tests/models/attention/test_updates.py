"""A layer is factorised once; its numbers are compared in tests/families/test_parity.py."""

import pytest
import torch

from report import families
from report.errors import ReportError
from report.models.attention import updates as module
from report.models.attention.kernel import streaming_attention
from report.models.attention.recorder import Recorder
from report.models.attention.running import Run
from report.models.attention.updates import updates

pytestmark = pytest.mark.usefixtures("double")

IDS = [1, 7, 31, 5, 5, 80, 42, 9, 13, 77, 61, 2]


class UpdateRecorder(Recorder):
    """Keeps what a recorder hears of updates."""

    wants_factors = False

    def __init__(self):
        self.heard = {}

    def attention(self, layer, factors, value):
        """See `Recorder`."""
        return streaming_attention(factors, value, layer=layer)

    def updates(self, layer, *tensors):
        """See `Recorder`."""
        self.heard[layer] = [tensor.clone() for tensor in tensors]


def of_layer(name, layer=1):
    """A layer's structure and (hidden state, context, attention output) of a tiny model."""
    loaded, recorder = families.loaded(name), UpdateRecorder()
    loaded.run([Run(IDS, recorder)])
    return loaded, loaded.structure[layer], recorder.heard[layer]


def test_a_layer_is_factorised_once_and_again_when_its_weights_change(monkeypatch):
    loaded, part, arguments = of_layer("gemma2")
    made = []
    original = module.triangle
    monkeypatch.setattr(module, "triangle", lambda *args: made.append(1) or original(*args))
    for _ in range(3):
        before = updates(part, 1, *arguments)
    assert len(made) == 2  # raw and effective
    with torch.no_grad():
        part.output_projection.weight.mul_(2)
    after = updates(part, 1, *arguments)
    assert len(made) == 4
    torch.testing.assert_close(after.raw_magnitude, 2 * before.raw_magnitude)
    with torch.no_grad():
        part.norm_after.weight.add_(1)
    updates(part, 1, *arguments)
    assert len(made) == 6
    assert loaded.structure[1] is part


def test_not_a_number_names_layer_and_head():
    _, part, (hidden, context, output) = of_layer("llama/default")
    context[3, 5, 1] = torch.inf
    with pytest.raises(ReportError, match="layer 1, head 3: the update magnitude is NaN or infin"):
        updates(part, 1, hidden, context, output)
