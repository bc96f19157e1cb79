"""What each token could give to every head: the values, also where attention shows only scores."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import torch
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from report.errors import ReportError
from report.models.attention.probe import architecture
from report.models.attention.softmax_spy import SOFTMAX
from report.models.attention.structure import route_of, structure

PRODUCTS = (
    *(torch.matmul, torch.bmm),
    *(torch.Tensor.matmul, torch.Tensor.bmm, torch.Tensor.__matmul__),
)


class Watched:
    """The values that a watch on products has seen.

    seen: layer -> float [heads, T, value_dim]
    """

    def __init__(self, model: PreTrainedModel):
        self.model = model
        self.seen = {}

    def of(self, layer: int, value: torch.Tensor | None) -> torch.Tensor:
        """The values of a layer: those a recorder was given, or else those that were seen.

        returns: float [heads or key_heads, T, value_dim]
        raises: ReportError if neither knows them
        """
        value = self.seen.get(layer) if value is None else value
        if value is None:
            raise ReportError(
                f"architecture {architecture(self.model)}, layer {layer}: it shows what its heads "
                "look at but not what they read there, so effects cannot be told by target token"
            )
        return value


@contextmanager
def values_of(model: PreTrainedModel, tokens: int) -> Iterator[Watched]:
    """Within the context, values are noted where a model computes its own softmax.

    tokens: of the text that is run
    """
    watched = Watched(model)
    with ExitStack() as undo:
        if route_of(model) == "softmax":
            spy = _Spy(watched.seen, structure(model)[0].heads, tokens)
            for layer, part in enumerate(structure(model)):
                begin = partial(spy.begin, layer)
                undo.enter_context(part.attention.register_forward_pre_hook(begin))
                undo.enter_context(part.attention.register_forward_hook(spy.end))
            undo.enter_context(spy)
        yield watched


class _Spy(TorchFunctionMode):
    """Sees what probabilities, which a softmax made, are multiplied with first."""

    def __init__(self, seen, heads, tokens):
        super().__init__()
        self.seen, self.cells = seen, (heads, tokens, tokens)
        self.layer, self.waiting = None, False

    def begin(self, layer, *_):
        """The attention of a layer begins."""
        self.layer = layer

    def end(self, *_):
        """It has ended."""
        self.layer, self.waiting = None, False

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if self.layer is not None:
            if function in SOFTMAX:
                self.waiting = True
            elif function in PRODUCTS and self.waiting and self._is_attention(args[0]):
                self.seen[self.layer] = args[1].flatten(0, -3).detach()
                self.waiting = False
        return function(*args, **kwargs or {})

    def _is_attention(self, tensor):
        return tensor.dim() > 2 and tuple(tensor.flatten(0, -3).shape) == self.cells
