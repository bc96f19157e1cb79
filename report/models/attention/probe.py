"""Run a model's first layer on two tokens and note what runs: where its attention is, and how.

Modules are noted by name, since the names are the same in every layer. Where weights are not in
memory, a twin of the model is run instead, of fake tensors, which have shapes only.
"""

import copy
import logging
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode
from transformers import PretrainedConfig, PreTrainedModel
from transformers.initialization import no_init_weights
from transformers.pytorch_utils import Conv1D

from report.errors import ReportError
from report.models.attention.modes import evaluating, hooked, interface, run_base
from report.models.attention.softmax_spy import SOFTMAX
from report.models.load.memory import is_lack_of_memory


@dataclass(frozen=True)
class Found:
    """Names of the parts; those of attention, projection and norm are relative to a layer.

    layers: the ModuleList of the layers
    attention: the module that computed the attention
    output_projection: the first projection after it
    norm_after: the norm that took the projection's output as it was, or None
    heads: number of (query) heads
    route: "interface", "sdpa" or "softmax", by which the attention was computed
    """

    layers: str
    attention: str
    output_projection: str
    norm_after: str | None
    heads: int
    route: str


def architecture(model: PreTrainedModel) -> str:
    """The name of a model's architecture, for messages."""
    return f"'{model.config.model_type}' ({type(model).__name__})"


def text_config(model: PreTrainedModel) -> PretrainedConfig:
    """The config of the part of a model that reads text."""
    return model.config.get_text_config(decoder=True)


def probe(model: PreTrainedModel) -> Found:
    """What runs in the first layer of a model: `Found`.

    raises: ReportError naming the architecture if no attention is found in it
    The attention interface is tried first; a model that does not know it is run as it is.
    """
    if getattr(model.config, "is_encoder_decoder", False):
        raise _unsupported(model, "it reads one text and writes another")
    with ExitStack() as undo:
        run = model
        if any(parameter.is_meta for parameter in model.parameters()):
            undo.enter_context(_without_log("torch._subclasses.fake_tensor"))
            undo.enter_context(FakeTensorMode())
            with no_init_weights():
                run = type(model)(copy.deepcopy(model.config))
        for through_interface in (True, False):
            watch = _Watch(run)
            error = watch.run(through_interface)
            if watch.projection is not None:
                return watch.found()
    raise _unsupported(model, _cause(run, watch, error))


def _cause(model, watch, error):
    """Why nothing was found in the first layer of a model: the words of a message."""
    number = text_config(model).num_hidden_layers
    stacks = {len(one) for one in model.modules() if isinstance(one, nn.ModuleList)}
    if number not in stacks:
        return (
            f"its config states {number} layers, and it has no list of as many "
            f"({', '.join(map(str, sorted(stacks))) or 'none'}): its layers share weights, or are "
            "not built one by one"
        )
    stated = "".join(f" ({line})" for line in str(error).strip().splitlines()[:1])
    if watch.layers is None:
        return f"a text alone does not reach its first layer{stated}"
    layer = f"its first layer, a {type(model.get_submodule(watch.layers)[0]).__name__},"
    if error:
        return f"{layer} does not run on a text of two tokens{stated}"
    if watch.attention:
        return f"{layer} has no projection after its attention"
    return f"{layer} computes no softmax attention over the tokens of a text"


@contextmanager
def _without_log(name):
    """Without what a library logs of errors that are caught here."""
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _unsupported(model, reason):
    return ReportError(
        f"architecture {architecture(model)} is not supported: {reason}. The model is unchanged, "
        "but nothing can be measured on it; supported are decoders and encoders of layers that "
        "each compute one softmax attention"
    )


class _EndedError(Exception):
    """The first layer ended."""


class _Watch(TorchFunctionMode):
    """Notes the modules and functions that run inside the first layer."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.layers = None  # name of the ModuleList whose first layer runs
        self.active = []  # (module, name) that have begun and not ended, outermost first
        self.attention = None  # name, heads, route
        self.projection = self.output = self.norm = None
        self.before = []  # what entered modules before the attention

    def found(self):
        """The names of what was seen."""
        attention, heads, route = self.attention
        return Found(self.layers, attention, self.projection, self.norm, heads, route)

    def run(self, through_interface):
        """Run two tokens up to the end of the first layer.

        returns: the exception that came before, or ""
        """
        number = text_config(self.model).num_hidden_layers
        with ExitStack() as undo:
            undo.enter_context(evaluating(self.model))
            for path, module in self.model.named_modules():
                if isinstance(module, nn.ModuleList) and len(module) == number:
                    undo.enter_context(self._hooked(path, module[0]))
            if through_interface:
                undo.enter_context(interface(self.model, self._interface))
            undo.enter_context(self)
            try:
                run_base(self.model, torch.ones(2, dtype=torch.long))
            except _EndedError:
                return ""
            except Exception as error:  # whatever a model does that is not meant for this
                if is_lack_of_memory(error):
                    raise
                return error
        return ""

    def _hooked(self, path, layer):
        hooks = []
        for name, module in layer.named_modules():
            entering, leaving = self._entering(path, name), self._leaving(path, name)
            hooks.append(module.register_forward_pre_hook(entering, with_kwargs=True))
            hooks.append(module.register_forward_hook(leaving))
        return hooked(hooks)

    def _entering(self, path, name):
        def entering(module, args, kwargs):
            if self.layers is None and not name:
                self.layers = path
            if self.layers == path:
                self.active.append((module, name))
                first = args[0] if args else next(iter(kwargs.values()), None)
                if self.attention is None:
                    self.before.append(first)
                if "norm" in type(module).__name__.lower() and _same(first, self.output):
                    self.norm = name

        return entering

    def _leaving(self, path, name):
        def leaving(module, args, output):
            if self.layers != path:
                return
            self.active.pop()
            # a gate is projected from what the queries are projected from
            gate = any(_same(entered, one) for entered in args[:1] for one in self.before)
            if self.attention and self.projection is None and _is_projection(module) and not gate:
                self.projection, self.output = name, output
            if not name:
                raise _EndedError

        return leaving

    def _interface(self, module, query, key, value, *_, **__):
        self._note("interface", query, module)
        context = query.new_zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[-1])
        return context, None

    def _note(self, route, tensor, module=None):
        """Attention is being computed; `tensor` is [1, heads, T, ...] or [heads, T, ...]."""
        if self.layers is None or self.attention is not None or tensor.dim() < 3:
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


def _is_projection(module):
    return isinstance(module, nn.Linear | Conv1D)


def _has_projection(module):
    return any(_is_projection(part) for part in module.modules())


def _same(tensor, other):
    """Whether both are one tensor (dropout in evaluation mode hands on the tensor it got)."""
    return tensor is not None and tensor is other
