"""Under which names a checkpoint stores the tensors of a model, as transformers has it.

Checkpoints of one family differ in prefixes (saved with a head or without, as a part of a larger
model). Some store as several tensors what the model holds as one (experts). The rules are those of
transformers, so that a part of a model is read exactly as from_pretrained would read it.
"""

import copy
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from transformers import PreTrainedModel
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import (
    WeightConverter,
    WeightRenaming,
    dot_natural_key,
    rename_source_key,
)

from report.errors import ReportError
from report.models.attention.structure import text_config
from report.models.find.weights import NOT_TEXT, layer_of
from report.text import quoted

MADE = re.compile(
    r"inv_freq$|^(masked_bias|causal_mask|(cos|sin)_cached|(position|token_type)_ids)$"
)
"""What versions of transformers called tensors that a model computes from its config."""

NOT_OF_LAYERS = re.compile(
    r"(^|\.)(\w*pooler|mtp\w*|image_\w+|\w*(projector|connector)|embed_(audio|vision))\."
)
"""Parts beside the layers of text, that nothing which is measured passes through."""

FURTHER = "eh_proj"
"""What layers after the last hold that predict further tokens (DeepSeek's and those of its kin);
classes of transformers leave them out."""


@dataclass
class Stored:
    """How a checkpoint holds one tensor of a model, or several made of the same stored tensors.

    tensors: list of (name in the checkpoint, pattern of the converter that it matches)
    converter: what makes the model's tensors of them; None where the one stored tensor is it
    """

    converter: WeightConverter | None = None
    tensors: list[tuple[str, str | None]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names in the checkpoint."""
        return [name for name, _ in self.tensors]


def stored_names(
    model: PreTrainedModel, names: Iterable[str], renamed: dict[str, str] | None = None
) -> dict[str, Stored]:
    """Where a checkpoint holds the tensors of a model.

    model: may be a skeleton; names: of all tensors of the checkpoint
    renamed: dict of pattern to replacement, as the key_mapping of from_pretrained
    returns: dict of the model's own names to `Stored`, one object for all that are made together
    raises: ReportError if two names of the checkpoint stand for the same tensor
    """
    state = model.state_dict()
    held = _by_target(model, names, renamed)
    return {name: stored for name, stored in held.items() if name in state}


def unused_names(
    model: PreTrainedModel,
    shapes: dict[str, list[int] | None],
    renamed: dict[str, str] | None = None,
) -> tuple[list[str], list[str]]:
    """Tensors of a checkpoint that a model has no place for; transformers leaves them out without
    an error.

    model, renamed: as of `stored_names`
    shapes: dict of name in the checkpoint -> shape, None where its file is not here
    returns: (those of a part that the model has, of its text model or of further layers of it,
        those beside all of these, such as heads), their names in the checkpoint, sorted; without
        those that the model's class ignores, that every model makes for itself, that predict
        further tokens, or that are of a part which reads no text
    """
    state, ignored = model.state_dict(), model._keys_to_ignore_on_load_unexpected or ()
    base = next(path for path, module in model.named_modules() if module is model.base_model)
    parts, number = dict(model.named_modules()), text_config(model).num_hidden_layers
    further = {layer_of(name) for name in shapes if f".{FURTHER}." in name} - {None, *range(number)}
    inside, beside = [], []
    for target, stored in _by_target(model, shapes, renamed).items():
        if target in state:
            continue
        for name in stored.names:
            path = _longest_path(model, parts, target, name)
            if any(re.search(pattern, key) for pattern in ignored for key in (target, name)):
                continue
            if _makes_itself(parts, target, shapes[name]) or layer_of(name) in further:
                continue
            if NOT_TEXT.search(name) or NOT_OF_LAYERS.search(name):
                continue
            whole = target.rpartition(".")[0] == path != ""
            of_text = path != "" if base == "" else f"{path}.".startswith(f"{base}.")
            (inside if whole or of_text else beside).append(name)
    return sorted(inside), sorted(beside)


def _longest_path(model, parts, *names):
    """The innermost part of a model that one of a tensor's names leads to, "" for the model."""
    prefix, paths = f"{model.base_model_prefix}.", [""]
    for name in names:
        for path in (name, prefix + name, name.removeprefix(prefix)):
            while path and path not in parts:
                path = path.rpartition(".")[0]
            if path != prefix[:-1] or name.startswith(prefix):
                paths.append(path)
    return max(paths, key=len)


def _makes_itself(parts, name, shape):
    """Whether a tensor is one that a model makes for itself: a buffer of its own, or one that older
    versions of its class stored, masks (four sizes, or one number) among them."""
    path, _, leaf = name.rpartition(".")
    if path in parts and leaf in dict(parts[path].named_buffers(recurse=False)):
        return True
    return bool(MADE.search(leaf)) or (leaf == "bias" and (shape is None or len(shape) == 4))


def _by_target(model, names, renamed):
    """As `stored_names`, with names that the model does not have."""
    rules = get_model_conversion_mapping(model, renamed)
    renamings = [rule for rule in rules if isinstance(rule, WeightRenaming)]
    converters = [rule for rule in rules if isinstance(rule, WeightConverter)]
    state = dict.fromkeys(model.state_dict(), True)
    base = re.compile(rf"^({re.escape(model.base_model_prefix)}\.)*")
    stored_as, first = {}, {}

    def own_name(name, *transforms):
        return rename_source_key(name, *transforms, model.base_model_prefix, state)

    for name in sorted(names, key=dot_natural_key):  # experts in the order of their numbers
        target, pattern = own_name(name, renamings, converters)
        if target not in state:
            target, pattern = own_name(name, [], [])
        converter, piece, made = None, target, [target]
        if pattern is not None:
            converter = next(each for each in converters if pattern in each.source_patterns)
            piece = target, base.sub("", own_name(name, renamings, [])[0])
            kind, *others = converter.target_patterns
            made += [target.replace(kind, other) for other in others]
        stored = stored_as.get(target, Stored(converter))
        earlier = [stored_as.setdefault(each, stored) for each in made]
        twice = next((each.names[0] for each in earlier if each is not stored), None)
        if stored.converter is not converter or piece in first:
            twice = first.get(piece, next(iter(stored.names), None))
        if twice is not None and target in state:  # a copy of what is not read does no harm
            raise ReportError(
                f"the weights hold {quoted(target)} twice, as {quoted(twice)} and as "
                f"{quoted(name)}, and nothing says which counts; take one out of its file"
            )
        first[piece] = name
        stored.tensors.append((name, pattern))
    return stored_as


def converted(
    model: PreTrainedModel, name: str, stored: Stored, tensors: list[torch.Tensor]
) -> dict[str, torch.Tensor]:
    """The model's tensors that transformers makes of several stored ones.

    name: one of the model's names for it; tensors: the stored ones, in the order of `stored.names`
    returns: dict of the model's own names to tensors
    raises: ReportError if transformers cannot convert them
    """
    converter = copy.deepcopy(stored.converter)
    for (source, pattern), tensor in zip(stored.tensors, tensors, strict=True):
        converter.add_tensor(name, source, pattern, lambda tensor=tensor: tensor)
    try:
        made = converter.convert(name, model=model, config=model.config)
    except Exception as error:  # whatever its many conversions raise
        raise ReportError(
            f"'{name}' is stored as {len(tensors)} tensors that transformers cannot join "
            f"({type(error).__name__}: {error}); load the whole model"
        ) from error
    return {
        key: made_as[0] if isinstance(made_as, list) else made_as for key, made_as in made.items()
    }
