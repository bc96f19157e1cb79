"""Where a model's layers keep their attention, found by running one layer, not by family names.

A forward pass of two tokens is stopped at the end of the first layer. What ran on the way says
where the parts are: the module that computed attention and by which route it did (see `capture`),
the first projection after it, and the norm, if any, that took the projection's output as it was.
The same names are then looked up in every layer. Where weights are not in memory, a twin of the
model without any (of fake tensors, which have shapes only) is run in place of it.
"""

import copy
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.initialization import no_init_weights
from transformers.masking_utils import sdpa_mask
from transformers.pytorch_utils import Conv1D

from report.errors import ReportError

INTERFACE = "report_measured"
"""The name under which attention is reached through the attention interface of transformers."""
OWN_FORWARD = ("falcon", "bloom", "mpt")
"""model_type of the families with a file of their own in report/models/."""


@dataclass(eq=False)
class LayerStructure:
    """One layer of the text model and its parts.

    module: the layer; its first input is the hidden state
    attention: the module inside that computes the attention
    output_projection: the projection (Linear or Conv1D) of the joined contexts of all heads
    norm_after: the norm that takes the projection's output before it is added to the hidden state
        (sandwich norm: Gemma 2 and 3, OLMo 2, GLM 4), else None
    residual_multiplier: what the attention's output is multiplied by when it is added (Granite)
    heads: number of (query) heads
    learned: what `rotation` found out about the layer, kept for the next text
    The modules stay the same objects as long as the structure is used; their weights may change.
    """

    module: nn.Module
    attention: nn.Module
    output_projection: nn.Module
    norm_after: nn.Module | None
    residual_multiplier: float
    heads: int
    learned: object = None

    def output_weight(self):
        """The output projection's weight, float [hidden_size, heads * value_dim]."""
        weight = self.output_projection.weight.detach()
        return weight.T if isinstance(self.output_projection, Conv1D) else weight

    def norm_weight(self):
        """What the norm after the projection multiplies each dimension by, float [hidden_size].

        Found by asking the norm, as some norms multiply by 1 + weight.
        """
        ones = torch.ones_like(self.output_weight()[:, 0])
        return self.norm_after(ones)

    def norm_scale(self, attention_output):
        """t_i in norm(x_i) = t_i * norm_weight * x_i, float [T].

        attention_output: float [T, hidden_size], the projection's output x
        """
        weighted = attention_output * self.norm_weight()
        normed = self.norm_after(attention_output)
        return (normed * weighted).sum(-1) / (weighted * weighted).sum(-1)


@dataclass(frozen=True)
class _Found:
    """Names of the parts, those of attention, projection and norm relative to a layer."""

    layers: str
    attention: str
    output_projection: str
    norm_after: str | None
    heads: int
    route: str


_FOUND = WeakKeyDictionary()
_STRUCTURES = WeakKeyDictionary()


def structure(model):
    """The layers of a model's decoder (or encoder), first to last: list of LayerStructure.

    raises: ReportError naming the architecture if its layers or their attention are not found
    """
    if model not in _STRUCTURES:
        found = _found(model)
        _STRUCTURES[model] = [
            _layer(model, index, module, found)
            for index, module in enumerate(model.get_submodule(found.layers))
        ]
    return _STRUCTURES[model]


def route_of(model):
    """How a model's attention is reached: "interface", "own forward", "sdpa" or "softmax"."""
    if text_config(model).model_type in OWN_FORWARD:
        return "own forward"
    return _found(model).route


def text_config(model):
    """The config of the part of a model that reads text."""
    return model.config.get_text_config(decoder=True)


def architecture(model):
    """The name of a model's architecture, for messages."""
    return f"'{model.config.model_type}' ({type(model).__name__})"


def configs(model):
    """Every config object that a part of the model looks at, those of its parts included."""
    found = {}
    waiting = [module.config for module in model.modules() if hasattr(module, "config")]
    while waiting:
        config = waiting.pop()
        if id(config) in found or not hasattr(config, "_attn_implementation_internal"):
            continue
        found[id(config)] = config
        waiting += [getattr(config, name, None) for name in config.sub_configs]
    return list(found.values())


@contextmanager
def interface(model, function):
    """Within the context, attention of `model` goes through `function`, its masks as for sdpa.

    function: as the attention interface of transformers takes it
    The mask has to be registered too: an unknown name gets none, and a sliding window is lost.
    """
    before = [(config, config._attn_implementation_internal) for config in configs(model)]
    name = f"{INTERFACE}_{id(function)}"
    try:
        AttentionInterface.register(name, function)
        AttentionMaskInterface.register(name, sdpa_mask)
        for config, _ in before:
            config._attn_implementation_internal = name
        yield
    finally:
        for config, implementation in before:
            config._attn_implementation_internal = implementation
        AttentionInterface._global_mapping.pop(name, None)
        AttentionMaskInterface._global_mapping.pop(name, None)


@contextmanager
def evaluating(model):
    """Within the context, the model is in evaluation mode; every module's own mode comes back."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _layer(model, index, module, found):
    try:
        parts = [module.get_submodule(name) for name in (found.attention, found.output_projection)]
        norm = None if found.norm_after is None else module.get_submodule(found.norm_after)
    except AttributeError:
        raise ReportError(
            f"architecture {architecture(model)}: layer {index} has no '{found.attention}' as "
            "layer 0 has; only models whose layers all have the same kind of attention are measured"
        ) from None
    multiplier = getattr(module, "residual_multiplier", 1.0)
    return LayerStructure(module, *parts, norm, multiplier, found.heads)


def _found(model):
    if model not in _FOUND:
        _FOUND[model] = _probe(model)
    return _FOUND[model]


def _probe(model):
    """Run the first layer, through the attention interface if the model knows it, else as it is."""
    with ExitStack() as undo:
        run = model
        if any(parameter.is_meta for parameter in model.parameters()):
            undo.enter_context(FakeTensorMode())
            with no_init_weights():
                run = type(model)(copy.deepcopy(model.config))
        for through_interface in (True, False):
            watch = _Watch(run)
            error = watch.run(through_interface)
            if watch.complete:
                return watch.found()
    reason = f": {error}" if error else ""
    raise ReportError(
        f"architecture {architecture(model)} is not supported: no attention between queries and "
        f"keys of one text was seen in its first layer{reason}; measured are decoders and encoders "
        "whose layers each compute one softmax attention"
    )


class _EndedError(Exception):
    """The first layer ended."""


class _Watch(TorchFunctionMode):
    """Notes what runs inside a model's first layer: modules, attention, projection, norm."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.active = []  # (module, path), outermost first
        self.lists = None  # path of the ModuleList whose first layer runs
        self.attention = self.projection = self.norm = None
        self.output = None

    @property
    def complete(self):
        return self.attention is not None and self.projection is not None

    def run(self, through_interface):
        """Run two tokens as far as needed; returns the error that stopped it, or None."""
        number = text_config(self.model).num_hidden_layers
        with ExitStack() as undo:
            undo.enter_context(evaluating(self.model))
            for path, module in self.model.named_modules():
                if isinstance(module, nn.ModuleList) and len(module) == number:
                    undo.enter_context(self._hooked(path, module[0]))
            if through_interface:
                undo.enter_context(interface(self.model, self._interface))
            undo.enter_context(self)
            undo.enter_context(torch.no_grad())
            try:
                ids = torch.ones(1, 2, dtype=torch.long, device=self.model.device)
                self.model.base_model(input_ids=ids, use_cache=False)
            except _EndedError:
                return None
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                return error
            except (NotImplementedError, RuntimeError) as error:
                return error
        return None

    def found(self):
        """The names of what was seen."""
        attention, heads, route = self.attention
        return _Found(self.lists, attention, self.projection, self.norm, heads, route)

    @contextmanager
    def _hooked(self, path, layer):
        hooks = []
        for name, module in layer.named_modules():
            hooks.append(
                module.register_forward_pre_hook(self._entering(path, name), with_kwargs=True)
            )
            hooks.append(module.register_forward_hook(self._leaving(path, name)))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _entering(self, path, name):
        def entering(module, args, kwargs):
            if self.lists is None and not name:
                self.lists = path
            if self.lists != path:
                return
            self.active.append((module, name))
            first = args[0] if args else next(iter(kwargs.values()), None)
            if "norm" in type(module).__name__.lower() and _same(first, self.output):
                self.norm = name

        return entering

    def _leaving(self, path, name):
        def leaving(module, _, output):
            if self.lists != path:
                return
            self.active.pop()
            if self.attention and self.projection is None and _is_projection(module):
                self.projection, self.output = name, output
            if not name:
                raise _EndedError

        return leaving

    def _interface(self, module, query, key, value, *_, **__):
        self._note("interface", query, module)
        context = query.new_zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[-1])
        return context, None

    def _note(self, route, tensor, module=None):
        """Attention is computed now; `tensor` is [1, heads, T, ...] or [heads, T, ...]."""
        if self.lists is None or self.attention is not None or tensor.dim() < 3:
            return
        for active, name in reversed(self.active):
            if active is module or (module is None and _has_projection(active)):
                self.attention = name, tensor.shape[-3], route
                return

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is nn.functional.scaled_dot_product_attention:
            self._note("sdpa", args[0] if args else kwargs["query"])
        elif function in SOFTMAX:
            self._note("softmax", args[0] if args else kwargs["input"])
        return function(*args, **kwargs)


SOFTMAX = (nn.functional.softmax, torch.softmax, torch.Tensor.softmax)


def _is_projection(module):
    return isinstance(module, nn.Linear | Conv1D)


def _has_projection(module):
    return any(_is_projection(part) for part in module.modules())


def _same(tensor, other):
    """Whether both are one tensor (dropout in evaluation mode hands on the tensor it got)."""
    return tensor is not None and tensor is other
