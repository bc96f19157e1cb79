"""What positions that a model adds to its embeddings put into what its first layer reads.

GPT-2 and BERT learn a vector for every place, XGLM computes one; it is added to the token's. What
enters the first layer, x, is then a sum, but for the norms on the way. A norm is linear too, if it
divides both parts by the standard deviation that it found of the whole sum:

    norm(t + p) = g (t - mean(t)) / std(t + p) + b  +  g (p - mean(p)) / std(t + p)

The last summand is the part of positions. All else is the part of the token: its embedding, that of
its type, and the norm's b, which is the same for all.

Nothing is known of a model by its family. Modules that give different places different vectors,
whatever the tokens, are found by a text of one token repeated. Their outputs are set to 0, norms as
they were, and what x then lacks is the part of positions. Later layers read what attention has
mixed, so their queries and keys are not split.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.utils.weak import WeakIdKeyDictionary
from transformers import PreTrainedModel

from report.measurements.precision import tolerance
from report.models.attention.modes import hooked
from report.models.attention.structure import structure

SUMMANDS = 2**14
"""Most terms that a number of x is a sum of; it sets the tolerance for rounding."""

_EMBEDDED = WeakKeyDictionary()
_PARTS = WeakIdKeyDictionary()
"""Hidden state that enters the first layer -> the part of positions in it."""


@dataclass(frozen=True)
class Embedded:
    """Whether a model adds positions to its embeddings.

    added: whether what enters the first layer tells places apart
    modules: those whose outputs are the positions; empty where they are not known, or where what
        they add cannot be told from the rest
    """

    added: bool
    modules: tuple[nn.Module, ...] = ()


def embedded(model: PreTrainedModel) -> Embedded:
    """What the first text that went through `watched` has shown."""
    return _EMBEDDED.get(model, Embedded(False))


def position_part(hidden: torch.Tensor) -> torch.Tensor | None:
    """The part of positions in what enters the first layer, as that; None where it is not known.

    hidden: float [1, T, hidden_size], the very tensor that entered
    """
    return _PARTS.get(hidden)


@contextmanager
def watched(model: PreTrainedModel) -> Iterator[None]:
    """Within the context, the part of positions is found for every text that enters a layer 0."""
    layers, base = [part.module for part in structure(model)], model.base_model
    inputs = []

    def begin(_, args, kwargs):
        inputs[:] = [(args, kwargs)]

    def enter(_, args, kwargs):
        if not inputs:  # the layer is called alone, with what entered before
            return
        hidden = args[0] if args else kwargs["hidden_states"]
        passes = _Passes(base, layers, *inputs.pop())
        if model not in _EMBEDDED and hidden.shape[1] > 1:
            _EMBEDDED[model] = _found(passes)
        if modules := embedded(model).modules:
            _PARTS[hidden] = hidden - passes.frozen_at(modules)

    hooks = [
        base.register_forward_pre_hook(begin, with_kwargs=True),
        layers[0].register_forward_pre_hook(enter, with_kwargs=True),
    ]
    with hooked(hooks):
        yield


def through_norm(
    part: torch.Tensor, hidden: torch.Tensor, entering: torch.Tensor, layer: nn.Module
) -> torch.Tensor | None:
    """The part of positions in what the first layer's attention reads, float [1, T, hidden_size].

    part, hidden: as it enters the layer, and of what; entering: what the attention reads, the same
        or a norm of it
    returns: None if something else than a norm lies between them
    """
    if entering is hidden:
        return part
    for norm in _norms(layer):
        if norm.normalized_shape == hidden.shape[-1:] and torch.equal(norm(hidden), entering):
            return _scaled(norm, part, _deviation(norm, hidden))
    return None


def _found(passes):
    """`Embedded`, from a text of one token repeated."""
    passes = passes.repeated()
    if passes is None:
        return Embedded(False)
    hidden, modules = passes.seen()
    if _alike(hidden):
        return Embedded(False)
    # is every place in these modules, and what they give only added?
    alone = _alike(passes.at(modules, 0))
    without, twice = (passes.frozen_at(modules, times) for times in (0, 2))
    added = _close(twice - hidden, hidden - without, hidden)
    return Embedded(True, modules if alone and added else ())


class _Passes:
    """Runs a model up to its first layer, again and again."""

    def __init__(self, base, layers, args, kwargs):
        self.base, self.layers, self.args, self.kwargs = base, layers, args, kwargs
        inside = {id(module) for layer in layers for module in layer.modules()}
        self.outside = [module for module in base.modules() if id(module) not in inside]

    def repeated(self):
        """The same with the text's first token at every place; None if it is given no tokens."""
        token_ids = self.kwargs.get("input_ids")
        if token_ids is None:
            return None
        padding = getattr(self.base.config.get_text_config(), "pad_token_id", None)
        ids = token_ids.flatten().tolist()  # padding has no place of its own in RoBERTa
        one = token_ids.new_tensor(next((one for one in ids if one != padding), ids[0]))
        return _Passes(
            self.base,
            self.layers,
            self.args,
            self.kwargs | {"input_ids": one.repeat(token_ids.shape)},
        )

    def seen(self):
        """What enters the first layer, and the modules that give places vectors of their own."""
        modules = []

        def look(module, args, kwargs, output):
            vectors = isinstance(output, torch.Tensor) and output.is_floating_point()
            given = [*args, *kwargs.values()]
            derived = any(isinstance(one, torch.Tensor) and one.dim() > 2 for one in given)
            if vectors and not derived and output.shape[-2:-1] > (1,) and not _alike(output):
                modules.append(module)

        leaves = [module for module in self.outside if not list(module.children())]
        with hooked([each.register_forward_hook(look, with_kwargs=True) for each in leaves]):
            return self._run(), tuple(modules)

    def at(self, modules, times):
        """What enters the first layer if positions count so many times."""
        with ExitStack() as hooks:
            for module in modules:
                hooks.enter_context(
                    module.register_forward_hook(lambda _, __, output: times * output)
                )
            return self._run()

    def frozen_at(self, modules, times=0):
        """The same, norms as they are with positions counted once."""
        norms = [module for module in self.outside if isinstance(module, nn.LayerNorm)]
        deviations = {}

        def watch(norm, args, _):
            deviations[norm] = _deviation(norm, args[0])

        def freeze(norm, args, _):
            return _scaled(norm, args[0], deviations[norm], biased=True)

        for hook, counted in ((watch, 1), (freeze, times)):
            with hooked([norm.register_forward_hook(hook) for norm in norms]):
                found = self.at(modules, counted)
        return found

    def _run(self):
        def stop(_, args, kwargs):
            raise _EnteredError(args[0] if args else kwargs["hidden_states"])

        try:
            with self.layers[0].register_forward_pre_hook(stop, with_kwargs=True, prepend=True):
                self.base.forward(*self.args, **self.kwargs)
        except _EnteredError as entered:
            return entered.args[0]


class _EnteredError(Exception):
    """The first layer is called: with this hidden state."""


def _norms(module):
    return [each for each in module.modules() if isinstance(each, nn.LayerNorm)]


def _deviation(norm, values):
    """What a norm divides each token's numbers by, float [..., 1]."""
    return (values.var(-1, unbiased=False, keepdim=True) + norm.eps).sqrt()


def _scaled(norm, values, deviation, biased=False):
    """A norm with a standard deviation that is given."""
    scaled = (values - values.mean(-1, keepdim=True)) / deviation
    if norm.weight is not None:
        scaled = norm.weight * scaled
    return scaled + norm.bias if biased and norm.bias is not None else scaled


def _alike(values):
    """Whether all tokens have the same, [..., T, size]."""
    return _close(values, values[..., :1, :].expand_as(values))


def _close(one, other, beside=None):
    largest = float((one if beside is None else beside).abs().max())
    allowed = max(tolerance(SUMMANDS), 4 * torch.finfo(one.dtype).eps)
    return float((one - other).abs().max()) <= allowed * largest
