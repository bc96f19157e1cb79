"""Read a checkpoint as if an adapter had been merged into it.

A layer over what reads the weights: whole models, models in part and layer by layer all read
through it, so all have the same numbers, whatever packages are installed. A weight W with the
matrices A [rank, inputs] and B [outputs, rank] becomes W + s B A, where s is alpha / rank, or
alpha / sqrt(rank) (rsLoRA, https://arxiv.org/abs/2312.03732). DoRA gives the weights of each
output a length of their own (https://arxiv.org/abs/2402.09353). Computed in float64, rounded once.

Whatever of an adapter fits no weight is refused by name, and so is what is missing: PEFT leaves it
out, with a warning. Names are compared as transformers compares a checkpoint's with a model's.
"""

import math
import re
import time
from dataclasses import dataclass
from functools import cached_property

import regex
import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from report.models.find.adapters import WEIGHTS, Adapter
from report.models.find.weights import NOT_TEXT, read_header, require_numbers
from report.models.partial.reader import Checkpoint
from report.models.partial.stored import stored_names
from report.text import quoted


@dataclass
class Change:
    """What an adapter does to one stored tensor.

    instead: name, in the adapter's file, of a tensor that takes its place; None for none
    factors: names of A [rank, inputs] and B [outputs, rank]; None for none
    scale: what B A is multiplied with
    turned: whether the weight is [inputs, outputs]
    magnitude: name of the lengths [outputs] of DoRA; None for none
    """

    instead: str | None = None
    factors: tuple[str, str] | None = None
    scale: float = 1
    turned: bool = False
    magnitude: str | None = None


class AdaptedCheckpoint:
    """As the `Checkpoint` that it is made of, but with an adapter's changes.

    ranks: of the adapter's matrices, sorted; changes: dict of the checkpoint's name of a tensor to
        its `Change`
    """

    def __init__(self, base: Checkpoint, adapter: Adapter, changes: dict[str, Change]):
        self._base, self._file = base, AdapterFile(adapter.folder)
        self.changes = changes
        pairs = [change.factors for change in changes.values() if change.factors]
        self.ranks = sorted({self._file.entry(a).shape[0] for a, _ in pairs})

    def __getattr__(self, name):
        return getattr(self._base, name)

    def read(
        self, name: str, out: torch.Tensor | None = None, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """As `Checkpoint.read`; a changed tensor is float32 where no dtype is asked for."""
        if name not in self.changes:
            return self._base.read(name, out, dtype)
        numbers = self._changed(name, None)
        if out is None:
            return numbers.to(dtype or torch.float32)
        self._base.require_shape(name, out.shape)
        return out.copy_(numbers)

    def read_rows(
        self, name: str, rows: list[int], dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """As `Checkpoint.read_rows`."""
        if name not in self.changes:
            return self._base.read_rows(name, rows, dtype)
        return self._changed(name, rows).to(dtype or torch.float32)

    def _changed(self, name: str, rows: list[int] | None) -> torch.Tensor:
        """A changed tensor, or some rows of it, float32; rows are asked of embeddings alone."""
        change, double = self.changes[name], torch.float64
        held = self._base if change.instead is None else self._file
        source = change.instead or name
        if rows is None:
            numbers = held.read(source, dtype=double)
        else:
            numbers = held.read_rows(source, rows, double)
        if change.factors:
            a, b = (self._file.read(factor, dtype=double) for factor in change.factors)
            a = a if rows is None else a[:, rows]
            product = (b @ a).mul_(change.scale)
            numbers += product.T if change.turned else product
        if change.magnitude:
            norms = numbers.norm(dim=0 if change.turned else 1)
            factor = self._file.read(change.magnitude, dtype=double).flatten() / norms
            numbers *= factor if change.turned else factor[:, None]
        return numbers.float()


class AdapterFile(Checkpoint):
    """The tensors of an adapter."""

    @cached_property
    def files(self) -> dict[str, str]:
        return dict.fromkeys(read_header(self.folder / WEIGHTS), WEIGHTS)


PREFIX = "base_model.model."
"""Of all names in an adapter's file."""

PART = re.compile(
    r"(?P<module>.+)\.(?P<part>lora_(embedding_)?[AB]|lora_magnitude_vector)(\.weight)?"
)
FACTORS = {nn.Linear: ("lora_A", "lora_B"), Conv1D: ("lora_A", "lora_B")}
FACTORS |= {nn.Embedding: ("lora_embedding_A", "lora_embedding_B")}
MAGNITUDE = "lora_magnitude_vector"
BASE = ".base_layer."
"""In the name of a tensor that takes the place of one in a module with matrices of its own."""

PATIENCE, PATIENCE_WITH_ALL = 1, 30
"""Seconds that a pattern may take to match a name, and all of them together all names."""
LONGEST_PATTERN, MOST_TIMES = 2000, 10_000
"""Patterns that are longer, or repeat something more often, can take all memory."""


def adapted(
    checkpoint: Checkpoint,
    adapter: Adapter,
    model: PreTrainedModel,
    renamed: dict[str, str] | None = None,
) -> AdaptedCheckpoint:
    """What reads a checkpoint with an adapter merged into it.

    model: that the checkpoint is of, its weights may have no memory
    renamed: as of `stored_names`
    raises: ReportError naming a tensor of the adapter that fits no weight or is missing, or for
        nothing but zeros
    """
    require_numbers(adapter.folder / WEIGHTS)
    changes = _Changes(checkpoint, adapter, model, renamed).by_stored_name()
    return AdaptedCheckpoint(checkpoint, adapter, changes)


class _Changes:
    """Finds out which tensor of a checkpoint each tensor of an adapter changes."""

    def __init__(self, checkpoint, adapter, model, renamed):
        self.checkpoint, self.adapter, self.model = checkpoint, adapter, model
        self.file, self.stated = AdapterFile(adapter.folder), adapter.stated
        self.spent = 0.0  # seconds, on patterns
        self.modules = dict(model.named_modules())
        self.shared = {name for pair in model.all_tied_weights_keys.items() for name in pair}
        self.own = model.state_dict()
        self.parts, self.whole = self._sorted()
        asked = {f"{module}.weight" for module in self.parts}
        asked |= {name.replace(BASE, ".") for name in self.whole}
        own = stored_names(model, asked, renamed)
        self.own_of = {one: name for name, each in own.items() for one in each.names}
        self.converted = {name for name, each in own.items() if each.converter}
        self.stored = stored_names(model, checkpoint.files, renamed)

    def by_stored_name(self) -> dict[str, Change]:
        changes = {}
        for name in self.whole:
            own = self._own_name(name, name.replace(BASE, "."))
            if own is None:
                continue
            if (BASE in name) != (name.replace(BASE, ".").rpartition(".")[0] in self.parts):
                raise self._refused(name, "fits no weight")
            self._require_shape(name, self.own[own].shape)
            changes.setdefault(self.stored[own].names[0], Change()).instead = PREFIX + name
        for module, parts in self.parts.items():
            own = self._own_name(f"{module}.{next(iter(parts))}", f"{module}.weight")
            if own is not None:
                change = changes.setdefault(self.stored[own].names[0], Change())
                self._add_factors(change, module, parts, own)
        if not changes:
            raise self.adapter.refused("its file changes no weight")
        self._require_complete()
        return changes

    def _sorted(self):
        """(dict of module -> {part: name in the file}, names of whole tensors), without PREFIX."""
        parts, whole = {}, []
        for full in sorted(self.file.files):
            name = full.removeprefix(PREFIX)
            if name == full:
                raise self._refused(full, f"does not begin with {PREFIX}")
            found = PART.fullmatch(name)
            if found:
                held = parts.setdefault(found["module"], {})
                if found["part"] in held:
                    raise self._refused(full, f"is there twice, as {quoted(held[found['part']])}")
                held[found["part"]] = full
            else:
                whole.append(name)
        return parts, whole

    def _own_name(self, name, wanted):
        """The model's own name of a weight; None for one of a part that reads no text."""
        own = self.own_of.get(wanted)
        if own is None and NOT_TEXT.search(name):
            return None
        if own is None:
            raise self._refused(name, f"fits no weight of a {type(self.model).__name__}")
        if own in self.shared:
            raise self._refused(
                name, "changes a weight that two parts of the model share, for one of them"
            )
        stored = self.stored.get(own)
        if own in self.converted or stored is None or stored.converter is not None:
            raise self._refused(name, "changes a weight that is not stored as one tensor")
        return own

    def _add_factors(self, change, module, parts, own):
        """Add to a `Change` the matrices and lengths of a module, which have to fit it."""
        target = self.modules[own.removesuffix(".weight")]
        dora = bool(self.stated.get("use_dora"))
        factors = next((two for kind, two in FACTORS.items() if isinstance(target, kind)), ())
        if isinstance(target, nn.Embedding) and dora:  # a row of it has a part of every length
            raise self._refused(module, "is an embedding, of which DoRA is not merged")
        wanted = (*factors, MAGNITUDE) if dora else factors
        if not factors or set(parts) != set(wanted):
            raise self._refused(
                module,
                f"is of the class {type(target).__name__}, of which "
                f"{' and '.join(wanted) or 'nothing'} is merged, and its file holds "
                f"{' and '.join(sorted(parts))}",
            )
        change.turned = not isinstance(target, nn.Linear)
        sizes = self.own[own].shape
        inputs, outputs = sizes if change.turned else sizes[::-1]
        rank = self._by_pattern("rank_pattern", module, self.stated["r"])
        alpha = self._by_pattern("alpha_pattern", module, self.stated["lora_alpha"])
        change.scale = alpha / (math.sqrt(rank) if self.stated.get("use_rslora") else rank)
        change.factors = tuple(parts[factor] for factor in factors)
        shapes = [(rank, inputs), (outputs, rank), (outputs,)]
        for name, shape in zip([parts[part] for part in wanted], shapes, strict=False):
            self._require_shape(name, shape)
        change.magnitude = parts.get(MAGNITUDE)

    def _require_shape(self, name, wanted):
        entry = self.file.entry(PREFIX + name.removeprefix(PREFIX))
        held = list(entry.shape)
        if held != list(wanted):
            raise self._refused(name, f"has the shape {held}, and should have {list(wanted)}")
        if not entry.dtype.is_floating_point:
            raise self._refused(name, f"holds whole numbers ({entry.dtype}) and no scales for them")

    def _require_complete(self):
        """Stop for a module that either the settings or the file lack."""
        held = {self.own_of.get(name.replace(BASE, ".")) for name in self.whole}
        modules = {self.own_of.get(f"{module}.weight"): module for module in self.parts}
        prefixes, biases = _prefixes(modules), self.stated.get("bias")
        for path, module in self.modules.items():
            saved = self._is_saved(path)
            there = f"{path}.weight" in modules
            name = modules.get(f"{path}.weight") or _like(path, *prefixes)
            targeted = not saved and name is not None and self._is_targeted(name, module)
            if targeted != there:
                lack = "is one of target_modules, and its matrices are missing"
                raise self._refused(path, lack if targeted else "is none of target_modules")
            for leaf in (*module._parameters, *module._buffers):
                own = f"{path}.{leaf}"
                bias = "bias" in leaf and (biases == "all" or (biases == "lora_only" and targeted))
                if (saved or bias) and own in self.own and own not in held:
                    raise self._refused(own, "is missing, though its settings name it")

    def _is_saved(self, path):
        """Whether a module, or one that it lies in, is one of `modules_to_save`."""
        parts = path.split(".")
        above = [".".join(parts[: number + 1]) for number in range(len(parts))]
        return any(
            each.endswith(end) for each in above for end in self.stated.get("modules_to_save") or ()
        )

    def _is_targeted(self, name, module):
        """Whether the settings ask for matrices of a module; name: as the adapter's file has it."""
        if not isinstance(module, tuple(FACTORS)):
            return False
        targets, layers = self.stated["target_modules"], self.stated.get("layers_to_transform")
        if self._is_named(name, self.stated.get("exclude_modules") or []):
            return False
        if targets == "all-linear":
            return not isinstance(module, nn.Embedding) and (
                module is not self.model.get_output_embeddings()
            )
        if not self._is_named(name, targets):
            return False
        if isinstance(targets, str) or layers is None or layers == []:
            return True
        patterns = self.stated.get("layers_pattern") or []
        patterns = [patterns] if isinstance(patterns, str) else patterns
        patterns = [rf"(?:.*?\.)?(?:{one})" for one in patterns] or [r".*?\.[^.]*"]
        found = [self._match(rf"{one}\.(\d+)\..*", name) for one in patterns]
        layer = next((int(match[1]) for match in found if match), None)
        return layer == layers if isinstance(layers, int) else layer in layers

    def _is_named(self, name, names):
        """Whether a pattern fits a module, or one of several names is its own or ends it."""
        if isinstance(names, str):
            return self._match(names, name) is not None
        return any(f".{name}".endswith(f".{one}") for one in names)

    def _by_pattern(self, key, name, usual):
        """The value of the first pattern of a setting that fits a module, else the usual one."""
        patterns = self.stated.get(key) or {}
        fitting = (one for one in patterns if self._match(rf"(.*\.)?({one})", name))
        return patterns.get(next(fitting, None), usual)

    def _match(self, pattern, name):
        begun = time.monotonic()
        try:
            times = math.prod(map(int, re.findall(r"([0-9]+)\}", pattern)))
            long = self.spent > PATIENCE_WITH_ALL
            if len(pattern) > LONGEST_PATTERN or times > MOST_TIMES or long:
                raise ValueError
            return regex.fullmatch(pattern, name, timeout=PATIENCE)
        except (regex.error, TimeoutError, ValueError, RecursionError) as error:
            raise self.adapter.refused(f"its pattern {quoted(pattern)} cannot be used") from error
        finally:
            self.spent += time.monotonic() - begun

    def _refused(self, name, what):
        return self.adapter.refused(f"{quoted(name)} {what}")


def _prefixes(modules):
    """What names of the model begin with, and those of the adapter's file instead, as lists.

    modules: dict of the model's own name of a changed weight to the module in the file
    """
    pairs = ((own.removesuffix(".weight"), module) for own, module in modules.items() if own)
    own, theirs = (name.split(".") for name in next(pairs, ("", "")))
    while own and theirs and own[-1] == theirs[-1]:
        own.pop()
        theirs.pop()
    return own, theirs


def _like(path, own, theirs):
    """A module's path as the adapter's file has it; None for one outside the model of that file.

    own, theirs: as of `_prefixes`
    """
    parts = path.split(".")
    return ".".join(theirs + parts[len(own) :]) if parts[: len(own)] == own else None
