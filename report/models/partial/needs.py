"""Which weights the first layers of a model need, found by running shapes, not by family names."""

import copy

from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves
from transformers import PreTrainedModel
from transformers.initialization import no_init_weights

from report.errors import ReportError
from report.models.attention.modes import run_base
from report.models.attention.running import output_of
from report.models.attention.structure import architecture, structure


def needs(model: PreTrainedModel, layers: int) -> tuple[list[str], list[list[str]]]:
    """The tensors that it takes to measure the first layers of a model.

    model: may be a skeleton; layers: how many layers are measured
    returns: (names used before the first layer, list of the names used in each layer), in the
        model's own names. Of the last layer only its attention counts: what runs before the output
        projection ends, and the norm after it, if any.
    raises: ReportError naming the architecture if its projection is not called
    """
    parts = structure(model)[:layers]
    path_of = {module: path for path, module in model.named_modules()}
    first, last = path_of[parts[0].module] + ".", path_of[parts[-1].module] + "."
    called = _called_until(model, path_of[parts[0].output_projection])
    for kept in filter(None, (parts[0].attention, parts[0].norm_after)):
        called |= {path_of[module] for module in kept.modules()}
    # Layers may differ in what is in a module (an empty norm, another kind of feed-forward).
    in_last = {last + path.removeprefix(first) for path in called if path.startswith(first)}
    names = list(model.state_dict())
    whole = [
        [name for name in names if name.startswith(path_of[part.module] + ".")]
        for part in parts[:-1]
    ]
    before = [name for name in names if _module(name) in called and not name.startswith(first)]
    return before, [*whole, [name for name in names if _module(name) in in_last]]


def _module(name):
    """The path of the module that a tensor belongs to."""
    return name.rpartition(".")[0]


class _Watch(TorchFunctionMode):
    """Notes which modules of a model are called, and which others' tensors are computed with."""

    def __init__(self, model):
        super().__init__()
        self.called = set()
        self.path_of = {
            id(tensor): path
            for path, module in model.named_modules()
            for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False))
        }
        for path, module in model.named_modules():
            module.register_forward_pre_hook(lambda *_, path=path: self.called.add(path))

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function.__name__ != "__get__":  # asking a tensor for its dtype or device is no use
            used = (self.path_of.get(id(leaf)) for leaf in tree_leaves((args, kwargs)))
            self.called.update(path for path in used if path is not None)
        return function(*args, **kwargs)


def _called_until(model, projection):
    """Paths of the modules that two tokens go through until `projection` has returned."""
    with FakeTensorMode(), no_init_weights():
        twin = type(model)(_with_one_layer(model.config)).eval()
        with _Watch(twin) as watch:
            output = output_of(twin.get_submodule(projection), lambda: run_base(twin, [1, 1]))
    if output is not None:
        return watch.called
    raise ReportError(
        f"architecture {architecture(model)}: '{projection}' is not called, so its first layers "
        "cannot be loaded alone; load the whole model"
    )


def _with_one_layer(config):
    """A copy of a config whose text model has one layer; lists with an entry a layer are cut."""
    config = copy.deepcopy(config)
    text = config.get_text_config(decoder=True)
    number = text.num_hidden_layers
    for name, value in list(vars(text).items()):
        if isinstance(value, list | tuple) and len(value) == number:
            setattr(text, name, value[:1])
    text.num_hidden_layers = 1
    return config
