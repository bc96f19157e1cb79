"""Models whose weights are not all in memory: the first layers only, or one layer at a time.

Opening one reads names and shapes. Weights are read when texts are run: what comes before the
layers, the embedding rows of the tokens used and no others, the layers that are measured, and of
the last of these no matrices but its attention's. What was not read cannot be used.

Until then parameters are on torch's meta device (shapes, no memory), and so are the floating-point
buffers that checkpoints store. All other buffers (rotary frequencies, embedding scales, position
ids) are real, as the model makes them for itself.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel

from report.errors import ReportError
from report.models.attention.running import Run, run_whole
from report.models.attention.structure import architecture, structure
from report.models.find.weights import first_layers, layer_of
from report.models.load.memory import enough_memory
from report.models.partial.reader import Checkpoint
from report.models.partial.stored import Stored, converted, stored_names


def needs(model: PreTrainedModel, layers: int) -> tuple[list[str], list[list[str]]]:
    """The tensors that it takes to measure the first layers of a model.

    model: may be a skeleton; layers: how many layers are measured
    returns: (names used before the first layer, list of the names used in each layer), in the
        model's own names, as of `first_layers`. The last layer has no matrices but those of its
        attention.
    """
    parts, held = structure(model)[:layers], model.state_dict()
    path_of = {module: path for path, module in model.named_modules()}
    names = first_layers(held, layers)
    of_layers = [
        [name for name in names if name.startswith(f"{path_of[part.module]}.")] for part in parts
    ]
    last = parts[-1]
    attention = tuple(f"{path_of[part]}." for part in (last.attention, last.output_projection))
    of_layers[-1] = [
        name for name in of_layers[-1] if name.startswith(attention) or held[name].dim() < 2
    ]
    return [name for name in names if layer_of(name) is None], of_layers


ALWAYS_FLOAT32 = "_keep_in_fp32_modules_strict"
"""Where a class of transformers names the parameters that are never rounded to 16 bits."""


def skeleton(
    model_class: type,
    config: PretrainedConfig,
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
    **options,
) -> PreTrainedModel:
    """A model in evaluation mode without weights; its own buffers are on `device`.

    model_class: of transformers, an automatic one or not
    options: as its `from_config` takes them (attn_implementation; trust_remote_code)
    Calling a part whose weights were not assigned raises a ReportError that names them.
    """
    build = getattr(model_class, "_from_config", None) or model_class.from_config
    with _parameters_without_memory():
        model = build(config, dtype=dtype, **options)
    for path, module in model.named_modules():
        for name, buffer in module.named_buffers(recurse=False):
            stored = name not in module._non_persistent_buffers_set
            without = stored and buffer.is_floating_point()
            module._buffers[name] = buffer.to("meta" if without else device)
        if module._parameters or module._buffers:
            module.register_forward_pre_hook(_guard(path))
    for name, parameter in model.named_parameters():
        if any(part in name for part in getattr(model, ALWAYS_FLOAT32, None) or ()):
            assign(model, name, parameter.float())
    return model.eval()


def assign(model: PreTrainedModel, name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Put a tensor in place of the parameter or buffer of that name; returns what was there."""
    path, _, leaf = name.rpartition(".")
    module = model.get_submodule(path)
    if leaf in module._parameters:
        before = module._parameters[leaf]
        if not isinstance(tensor, nn.Parameter):
            tensor = nn.Parameter(tensor, requires_grad=False)
        module._parameters[leaf] = tensor
    else:
        before, module._buffers[leaf] = module._buffers[leaf], tensor
    return before


@contextmanager
def _parameters_without_memory():
    """Within the context, parameters of new modules are on the meta device; buffers are real."""
    register = nn.Module.register_parameter

    def on_meta(module, name, parameter):
        if parameter is not None and not parameter.is_meta:
            parameter = nn.Parameter(parameter.to("meta"), requires_grad=False)
        register(module, name, parameter)

    nn.Module.register_parameter = on_meta
    try:
        yield
    finally:
        nn.Module.register_parameter = register


def _guard(path):
    """A hook that stops a module from running without its weights."""

    def require_weights(module, _):
        tensors = (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
        lacking = [name for name, tensor in tensors if tensor.is_meta]
        if lacking and "forward" not in vars(module):  # somebody else computes it
            raise ReportError(
                f"'{path}.{lacking[0]}' is needed but not in memory, as this model was loaded in "
                "part; measure fewer layers, or load the whole model"
            )

    return require_weights


LARGEST = 1e19
"""Weights are below it: the square of more, which norms compute, is no number in float32."""


def open_partial(
    checkpoint: Checkpoint,
    model_class: type,
    config: PretrainedConfig,
    *,
    layers: int | None = None,
    layer_by_layer: bool = False,
    device: str | torch.device = "cpu",
    renamed: dict[str, str] | None = None,
    **options,
) -> "Partial":
    """Open a model of which not all weights will be in memory; none is read yet.

    checkpoint: reads the weights; files that hold nothing needed may be missing
    model_class, config, options: as `skeleton` takes them, its dtype included
    layers: how many layers, from the first, are measured; None for all
    layer_by_layer: keep the weights of one layer in memory at a time
    renamed: dict of pattern to replacement, as the key_mapping of from_pretrained
    returns: Partial
    raises: ReportError if a needed tensor is missing or has another shape than the config says
    """
    model = skeleton(model_class, config, device=device, **options)
    number = config.get_text_config(decoder=True).num_hidden_layers
    before, in_layers = needs(model, layers or number)
    stored = stored_names(model, checkpoint.files, renamed)
    table, *tied = _names_of_embedding(model)
    before = [name for name in before if name not in (table, *tied)]
    shared = next((name for name in tied if name in stored), None)
    if table not in stored and shared:  # the checkpoint holds the head that shares its weight
        stored[table] = stored[shared]
    device = torch.device(device)
    opened = Partial(model, checkpoint, stored, table, before, in_layers, layer_by_layer, device)
    opened.require_complete()
    return opened


@dataclass
class Partial:
    """A model in part, and what reads its weights.

    model: with all its layers, but without weights while no text runs
    checkpoint: its `bytes_read` counts what was read so far
    stored: dict of the model's own names to `Stored`
    table: name of the embedding of tokens
    before: names of the tensors used before the first layer, `table` left out
    layers: names of the tensors of each layer that is measured
    zeros: names of those that were read and are nothing but zeros, see `require_sound`
    """

    model: torch.nn.Module
    checkpoint: Checkpoint
    stored: dict[str, Stored]
    table: str
    before: list[str]
    layers: list[list[str]]
    layer_by_layer: bool
    device: torch.device
    zeros: set[str] = field(default_factory=set)
    _own: dict[str, torch.Tensor] = field(init=False)
    _weights: set[str] = field(init=False)
    _held: dict[str, torch.Tensor] = field(default_factory=dict)
    _spare: dict[tuple, list[torch.Tensor]] = field(default_factory=dict)

    def __post_init__(self):
        self._own = self.model.state_dict()  # the tensors without memory
        self._weights = {name for name, _ in self.model.named_parameters(remove_duplicate=False)}

    @property
    def names(self) -> list[str]:
        """Names of all tensors that are read, without the embedding."""
        return [*self.before, *(name for layer in self.layers for name in layer)]

    def planned(self, token_ids: Iterable[int] = ()) -> dict[str, int | None]:
        """What it takes to run texts of these tokens.

        returns: {"tensors", "bytes", "of"}: number of tensors, the embedding counted as one; bytes
            of them in the checkpoint; bytes of the whole checkpoint, None if nobody says
        """
        used = [self.stored[name] for name in self.names if name in self.stored]
        names = {name for stored in used for name in stored.names}
        table = self.checkpoint.entry(self._stored_name(self.table))
        rows = len(set(token_ids)) * (table.bytes // table.shape[0])
        return {
            "tensors": len(names) + 1,
            "bytes": sum(self.checkpoint.entry(name).bytes for name in names) + rows,
            "of": self.checkpoint.total_bytes(),
        }

    def held_bytes(self) -> int:
        """Bytes of memory that the weights take, the embedding's few rows left out."""
        before, *layers = (
            sum(self._own[name].nbytes for name in {*names})
            for names in (self.before, *self.layers)
        )
        return before + (max(layers) if self.layer_by_layer else sum(layers))

    def require_complete(self) -> None:
        """Stop, before anything is read, for a tensor that is missing or does not fit.

        raises: ReportError naming the tensor
        """
        for name in (self.table, *self.names):
            tensor = self._own[name]
            if name not in self.stored:
                if tensor.is_meta:
                    self.checkpoint.entry(name)  # which says that it is missing
            elif self.stored[name].converter is None:
                self.checkpoint.require_shape(self._stored_name(name), tensor.shape)

    def run(
        self, runs: Iterable[Run], progress: Callable[..., None] | None = None
    ) -> list[torch.Tensor]:
        """As `running.run_whole`, over the measured layers; reads the weights that this takes.

        raises: ReportError as `running.run_whole`, or if weights cannot be read
        """
        self.hold(self.names)
        return run_whole(self.model, runs, len(self.layers), progress, self.rows)

    @contextmanager
    def rows(self, token_ids: list[int]) -> Iterator[None]:
        """Within the context, the embedding has the rows of these tokens and of no others.

        raises: ReportError for a token that the embedding has no row for; or, when the model looks
            up another token
        """
        embedding = self.model.get_input_embeddings()
        known = sorted(set(map(int, token_ids)))
        dtype = self._own[self.table].dtype
        table = self.checkpoint.read_rows(self._stored_name(self.table), known, dtype)
        if require_sound(self.table, table):
            self.zeros.add(self.table)
        ids = torch.tensor(known, device=self.device)

        def to_rows(_, args):
            if args[0].is_meta:  # the first tensor of the model, which it takes for its device
                raise ReportError(
                    f"architecture {architecture(self.model)} has other parts before the one that "
                    "reads text, so it cannot be run in part; load the whole model"
                )
            row = torch.searchsorted(ids, args[0]).clamp(max=len(known) - 1)
            if not torch.equal(ids[row], args[0]):
                raise ReportError("the model looks up tokens that are not in the text it was given")
            return (row, *args[1:])

        padding = embedding.padding_idx
        hook = embedding.register_forward_pre_hook(to_rows)
        try:
            embedding.padding_idx = None  # may be no row of this table; it has no effect here
            with self.assigned({self.table: table.to(self.device)}):
                yield
        finally:
            hook.remove()
            embedding.padding_idx = padding

    def read(self, names: Iterable[str]) -> dict[str, torch.Tensor]:
        """Read tensors, in the memory of tensors that were let go where there is some.

        returns: dict of the model's own names to tensors on the model's device
        raises: ReportError if one is missing, damaged or of another shape, or memory runs out
        """
        tensors = {}
        with enough_memory("reading weights"):
            for name in names:
                stored = self.stored.get(name)
                if name in tensors or stored is None:
                    continue  # it came with another tensor, or the model makes it for itself
                if stored.converter is None:
                    tensors[name] = self.checkpoint.read(
                        self._stored_name(name), self._memory(name)
                    )
                else:
                    tensors |= self._joined(name)
        for name, tensor in tensors.items():
            if require_sound(name, tensor, endless=name not in self._weights):
                self.zeros.add(name)
        return tensors

    @contextmanager
    def assigned(self, tensors: dict[str, torch.Tensor]) -> Iterator[None]:
        """Within the context, the model has these tensors; afterwards they are let go."""
        try:
            for name, tensor in tensors.items():
                assign(self.model, name, tensor)
            yield
        finally:
            for name in tensors:
                assign(self.model, name, self._own[name])

    def let_go(self, tensors: dict[str, torch.Tensor]) -> None:
        """Keep the memory of tensors for those that are read next."""
        for tensor in tensors.values():
            if tensor.dim() > 1:  # vectors are small, and a recorder may keep views of biases
                self._spare.setdefault((tensor.shape, tensor.dtype), []).append(tensor)

    def hold(self, names: Iterable[str]) -> None:
        """Read the tensors that are not held yet, and keep them; ReportError as `read`."""
        read = self.read([name for name in names if name not in self._held])
        for name, tensor in read.items():
            assign(self.model, name, tensor)
        self._held |= read

    def _memory(self, name):
        tensor = self._own[name]
        spare = self._spare.get((tensor.shape, tensor.dtype))
        return spare.pop() if spare else torch.empty_like(tensor, device=self.device)

    def _joined(self, name):
        stored, tensor = self.stored[name], self._own[name]
        tensors = [self.checkpoint.read(source, dtype=tensor.dtype) for source in stored.names]
        made = converted(self.model, name, stored, tensors)
        for key, tensor in made.items():
            if tensor.shape != self._own[key].shape:
                raise ReportError(
                    f"'{key}' comes as {list(tensor.shape)} out of the weights, the config asks "
                    f"for {list(self._own[key].shape)}; load the whole model"
                )
        return {key: tensor.to(self.device) for key, tensor in made.items()}

    def _stored_name(self, name):
        return self.stored[name].names[0]


def require_sound(name: str, tensor: torch.Tensor, endless: bool = False) -> bool:
    """Stop for a weight that no model can compute with.

    name: of the tensor, in the model; on any device, of any dtype of floating point
    endless: whether infinity may be meant: buffers hold limits, and what hides an expert
    returns: whether it is a matrix or a norm of nothing but zeros. A copy that was interrupted may
        leave it so; but so are pruned heads, projections that a training begins with, and the
        embedding of RoBERTa's token types: it is said, and not refused
    raises: ReportError naming the tensor, if a number in it is NaN; or infinite or beyond
        `LARGEST`, and not `endless`
    """
    if tensor.is_meta or not tensor.is_floating_point() or not tensor.numel():
        return False
    smallest, largest = (float(end) for end in torch.aminmax(tensor.detach()))
    most = math.inf if endless else math.nextafter(LARGEST, 0)
    if not (smallest >= -most and largest <= most):
        raise ReportError(
            f"the weight '{name}' holds numbers from {smallest:.3g} to {largest:.3g}, allowed is "
            f"up to {LARGEST:.0e} either way; its file is damaged, so fetch or save it again"
        )
    leaf = name.rpartition(".")[2]
    matrix = tensor.dim() > 1 and "bias" not in leaf
    return smallest == largest == 0 and not endless and (matrix or leaf == "weight")


def _names_of_embedding(model):
    """The names of the weight that embeds tokens, its own first."""
    embedding = model.get_input_embeddings()
    path = next(path for path, module in model.named_modules() if module is embedding)
    every = model.named_parameters(remove_duplicate=False)
    names = [name for name, parameter in every if parameter is embedding.weight]
    return sorted(names, key=lambda name: name != f"{path}.weight")
