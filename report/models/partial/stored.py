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
    """
    return {
        name: stored
        for name, stored in _by_target(model, names, renamed).items()
        if name in model.state_dict()
    }


def unused_names(
    model: PreTrainedModel, names: Iterable[str], renamed: dict[str, str] | None = None
) -> list[str]:
    """Tensors of a checkpoint that belong to a part of the model which does not use them: a bias,
    say, of a projection that has none. transformers leaves them out without an error.

    model, names, renamed: as of `stored_names`
    returns: their names in the checkpoint, sorted; without those that the model's class ignores,
        and without tensors that every model makes for itself
    """
    own, ignored = model.state_dict(), model._keys_to_ignore_on_load_unexpected or ()
    parts = dict(model.named_modules())
    found = []
    for name, stored in _by_target(model, names, renamed).items():
        path, _, leaf = name.rpartition(".")
        part = parts.get(path)
        known = name in own or any(re.search(pattern, name) for pattern in ignored)
        if part is not None and path and not known and leaf not in dict(part.named_buffers()):
            found += stored.names
    return sorted(found)


def _by_target(model, names, renamed):
    """As `stored_names`, with names that the model does not have."""
    rules = get_model_conversion_mapping(model, renamed)
    renamings = [rule for rule in rules if isinstance(rule, WeightRenaming)]
    converters = [rule for rule in rules if isinstance(rule, WeightConverter)]
    own = dict.fromkeys(model.state_dict(), True)
    stored_as = {}

    def own_name(name, *transforms):
        return rename_source_key(name, *transforms, model.base_model_prefix, own)

    for name in sorted(names, key=dot_natural_key):  # experts in the order of their numbers
        target, pattern = own_name(name, renamings, converters)
        if target not in own:
            target, pattern = own_name(name, [], [])
        if pattern is None:
            stored_as[target] = Stored(None, [(name, None)])
            continue
        converter = next(one for one in converters if pattern in one.source_patterns)
        stored = stored_as.setdefault(target, Stored(converter))
        stored.tensors.append((name, pattern))
        for other in converter.target_patterns[1:]:
            stored_as[target.replace(converter.target_patterns[0], other)] = stored
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
