"""Updates of a layer's heads against the updates written out, from what the model computes."""

import pytest
import torch

from report import families
from report.errors import ReportError
from report.measurements.updates import HeadUpdate
from report.models.attention import updates as module
from report.models.attention.kernel import streaming_attention
from report.models.attention.recorder import Recorder
from report.models.attention.running import Run
from report.models.attention.updates import updates
from tests.close import require_close

pytestmark = pytest.mark.usefixtures("double")

IDS = [1, 7, 31, 5, 5, 80, 42, 9, 13, 77, 61, 2]


class UpdateRecorder(Recorder):
    """Keeps what a recorder is told about updates."""

    wants_factors = False

    def __init__(self):
        self.told = {}

    def attention(self, layer, factors, value):
        """See `Recorder`."""
        return streaming_attention(factors, value, layer=layer)

    def updates(self, layer, *told):
        """See `Recorder`."""
        self.told[layer] = [tensor.clone() for tensor in told]


def told(name, layer=1):
    """A layer's structure and (hidden state, context, attention output) of a tiny model."""
    loaded = families.loaded(name)
    recorder = UpdateRecorder()
    loaded.run([Run(IDS, recorder)])
    return loaded, loaded.structure[layer], recorder.told[layer]


def written_out(part, context):
    """Every head's update as it leaves the output projection, float64 [heads, T, hidden_size]."""
    weight = part.output_weight().double()
    size = context.shape[-1]
    return torch.stack(
        [
            context[head].double() @ weight[:, head * size : (head + 1) * size].T
            for head in range(part.heads)
        ]
    )


def require_same(magnitude, alignment, update, hidden):
    hidden = hidden.double()
    length = update.norm(dim=-1)
    summed = 2 * hidden.shape[-1]  # a projection, and a length
    require_close(magnitude, length / hidden.norm(dim=-1), summed)
    expected = torch.cosine_similarity(update, hidden.expand_as(update), dim=-1)
    require_close(alignment, expected, summed)


@pytest.mark.parametrize("name", ["llama/default", "gpt2", "falcon/alibi", "bert", "gptj"])
def test_updates_are_what_the_projection_makes_of_a_head(name):
    _, part, (hidden, context, output) = told(name)
    found = updates(part, 1, hidden, context, output)
    require_same(found.magnitude, found.alignment, written_out(part, context), hidden)
    assert found.raw_magnitude is found.raw_alignment is None


@pytest.mark.parametrize("name", ["gemma2", "glm4", "olmo2"])
def test_effective_updates_are_what_the_norm_leaves_of_a_head(name):
    _, part, (hidden, context, output) = told(name)
    found = updates(part, 1, hidden, context, output)
    raw = written_out(part, context)
    require_same(found.raw_magnitude, found.raw_alignment, raw, hidden)
    with torch.no_grad():
        normed = part.norm_after(output).double()
    ratio = normed / output.double()  # what each number of the sum is multiplied by
    require_same(found.magnitude, found.alignment, raw * ratio, hidden)


def test_a_residual_multiplier_counts():
    _, part, (hidden, context, output) = told("granite")
    assert part.residual_multiplier not in (0, 1)
    found = updates(part, 1, hidden, context, output)
    update = part.residual_multiplier * written_out(part, context)
    require_same(found.magnitude, found.alignment, update, hidden)


def test_a_layer_is_factorised_once_and_again_when_its_weights_change(monkeypatch):
    loaded, part, arguments = told("gemma2")
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


def test_no_weight_is_kept_alive_by_what_is_kept():
    """Where layers are read one at a time, their memory is used again."""
    _, part, arguments = told("gpt2")
    updates(part, 1, *arguments)
    _, kept = module._TRIANGLES[part]
    weight = part.output_projection.weight
    assert all(
        one.untyped_storage().data_ptr() != weight.untyped_storage().data_ptr()
        for one in kept
        if one is not None
    )
    assert not isinstance(kept, HeadUpdate)


def test_not_a_number_names_layer_and_head():
    _, part, (hidden, context, output) = told("llama/default")
    context[3, 5, 1] = torch.inf
    with pytest.raises(ReportError, match="layer 1, head 3: the update magnitude is NaN or infin"):
        updates(part, 1, hidden, context, output)
