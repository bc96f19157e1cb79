"""The layers of a model's text part and the modules in them that are measured."""

from collections.abc import Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from report.errors import ReportError
from report.models.attention.own_forwards import OWN_FORWARDS
from report.models.attention.probe import architecture, probe, text_config
from report.models.attention.rotation import Learned

ANY_LENGTH = ("default", "linear", "llama3", "yarn", "proportional")
"""Ways to rotate in which a token's angles do not depend on how long the text is. Others
("dynamic", "longrope") change all of them when it passes what the config states."""

_FOUND = WeakKeyDictionary()
_STRUCTURES = WeakKeyDictionary()


@dataclass(eq=False)
class LayerStructure:
    """One layer and its parts.

    module: the layer; its first input is the hidden state
    attention: the module inside that computes the attention
    output_projection: the projection (Linear or Conv1D) of the joined contexts of all heads
    norm_after: the norm that takes the projection's output before it is added to the hidden state
        (sandwich norm: Gemma 2 and 3, OLMo 2, GLM 4), else None
    residual_multiplier: what the attention's output is multiplied by when it is added (Granite)
    heads: number of (query) heads
    measures_updates: whether what enters the projection is the heads' contexts, and what leaves it
        is added to the hidden state; False once the self-check found otherwise
    learned: what `rotation` found out about the attention, kept from text to text
    learned_from: `state_of` its parameters at that time; when it changes, `learned` is renewed
    The modules stay the same objects as long as the structure is used; their weights may be put in
    and taken out.
    """

    module: nn.Module
    attention: nn.Module
    output_projection: nn.Module
    norm_after: nn.Module | None
    residual_multiplier: float
    heads: int
    measures_updates: bool = True
    learned: Learned | None = None
    learned_from: list[tuple[int, int]] | None = None

    def keep_learned(self) -> None:
        """Hold on to what was learned: the weights that were just read are the same as before."""
        self.learned_from = state_of(self.attention.parameters())

    def output_weight(self) -> torch.Tensor:
        """The output projection's weight, float [hidden_size, heads * value_dim]."""
        weight = self.output_projection.weight.detach()
        return weight.T if isinstance(self.output_projection, Conv1D) else weight

    def norm_weight(self) -> torch.Tensor:
        """What the norm after the projection multiplies each dimension by, float [hidden_size].

        Found by asking the norm, as some norms multiply by 1 + weight.
        """
        with torch.no_grad():
            return self.norm_after(torch.ones_like(self.output_weight()[:, 0]))

    def norm_scale(self, attention_output: torch.Tensor) -> torch.Tensor:
        """The t of each token in norm(x) = t * norm_weight * x, float32 [T].

        attention_output: float [T, hidden_size], the projection's output x
        """
        with torch.no_grad():
            normed = self.norm_after(attention_output).float()
        weighted = attention_output.float() * self.norm_weight().float()
        # of all dimensions together, so that rounding to half precision averages out
        return (normed * weighted).sum(-1) / (weighted * weighted).sum(-1)


def state_of(parameters: Iterable[torch.Tensor]) -> list[tuple[int, int]]:
    """Where parameters lie and how often they were changed: equal as long as they are the same."""
    return [(parameter.data_ptr(), parameter._version) for parameter in parameters]


def structure(model: PreTrainedModel) -> list[LayerStructure]:
    """The layers of a model's decoder or encoder, first to last: list of LayerStructure.

    It ends before the first layer that lacks an attention like that of the first layer, as models
    have that mix attention with other things; see `require_layers`.
    raises: ReportError naming the architecture if the first layer has none that can be measured
    """
    if model not in _STRUCTURES:
        names = _found(model)
        _STRUCTURES[model] = parts = []
        for module in model.get_submodule(names.layers):
            part = _layer(module, names)
            if part is None:
                break
            parts.append(part)
    return _STRUCTURES[model]


def route_of(model: PreTrainedModel) -> str:
    """How a model's attention is reached: "interface", "own forward", "sdpa" or "softmax"."""
    own = text_config(model).model_type in OWN_FORWARDS
    return "own forward" if own else _found(model).route


def require_layers(model: PreTrainedModel, number: int) -> None:
    """Stop if not the first `number` layers of a model can be measured.

    raises: ReportError naming the layers that can be measured
    """
    parts = structure(model)
    if number > len(parts):
        raise ReportError(
            f"architecture {architecture(model)}: layer {len(parts)} has no "
            f"'{_found(model).output_projection}' as the layers before it have, so only these can "
            f"be measured; ask for the layers 0-{len(parts) - 1}"
        )


def _found(model):
    if model not in _FOUND:
        _FOUND[model] = probe(model)
    return _FOUND[model]


def _layer(module, names):
    try:
        attention = module.get_submodule(names.attention)
        projection = module.get_submodule(names.output_projection)
        norm = None if names.norm_after is None else module.get_submodule(names.norm_after)
    except AttributeError:
        return None
    multiplier = getattr(module, "residual_multiplier", 1.0)
    return LayerStructure(module, attention, projection, norm, multiplier, names.heads)


def angles_follow_length(model: PreTrainedModel) -> bool:
    """Whether a token is rotated otherwise the longer its text is, see `ANY_LENGTH`: then no text
    may be run in parts, nor filled up."""
    rope = getattr(text_config(model), "rope_parameters", None) or {}
    layers = [each for each in rope.values() if isinstance(each, dict)] or [rope]
    return not all(each.get("rope_type", "default") in ANY_LENGTH for each in layers)
