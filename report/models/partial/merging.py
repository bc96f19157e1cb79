"""Read a checkpoint as if an adapter had been merged into it.

A layer over what reads the weights: whole models, models in part and layer by layer all read
through it, so all have the same numbers, whatever packages are installed. A weight W with the
matrices A [rank, inputs] and B [outputs, rank] becomes W + s B A, where s is alpha / rank, or
alpha / sqrt(rank) (rsLoRA, https://arxiv.org/abs/2312.03732). DoRA gives the weights of each
output a length of their own (https://arxiv.org/abs/2402.09353). Computed in float64, rounded once.

Whatever of an adapter fits no weight is refused by name, and so is what is missing: PEFT leaves it
out, with a warning. Names are compared as transformers compares a checkpoint's with a model's.

A tensor has up to three names: one in the adapter's file (here without `PREFIX`), one in the model
(a key of its state_dict), and one in the checkpoint (`Stored.names`).
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
    """The change that an adapter makes to one tensor of a checkpoint; names are whole ones of the
    adapter's file, with `PREFIX`.

    instead: name of a tensor that takes its place; None for none
    factors: names of A [rank, inputs] and B [outputs, rank]; None for none
    scale: factor of B A
    turned: whether the weight is [inputs, outputs]
    magnitude: name of the lengths [outputs] of DoRA; None for none
    """

    instead: str | None = None
    factors: tuple[str, str] | None = None
    scale: float = 1
    turned: bool = False
    magnitude: str | None = None


class AdaptedCheckpoint:
    """A `Checkpoint` with an adapter's changes; all else is that of the one it is made of.

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
        """As `Checkpoint.read`; a changed tensor is float32 without `out` and `dtype`."""
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
        """A changed tensor, or some rows of it, float32.

        rows: only of an embedding, whose A is [rank, rows of the embedding]; None: all
        """
        change, double = self.changes[name], torch.float64
        source = self._base if change.instead is None else self._file
        source_name = change.instead or name
        if rows is None:
            numbers = source.read(source_name, dtype=double)
        else:
            numbers = source.read_rows(source_name, rows, double)
        if change.factors:
            a, b = (self._file.read(factor, dtype=double) for factor in change.factors)
            a = a if rows is None else a[:, rows]
            product = (b @ a).mul_(change.scale)
            numbers += product.T if change.turned else product
        if change.magnitude:  # of no embedding, so all rows are here
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
    """The checkpoint with an adapter merged into it.

    model: the one that the checkpoint is of; its weights may have no memory
    renamed: as of `stored_names`
    raises: ReportError naming a tensor of the adapter that fits no weight or is missing, or for
        nothing but zeros
    """
    require_numbers(adapter.folder / WEIGHTS)
    changes = _Changes(checkpoint, adapter, model, renamed).by_stored_name()
    return AdaptedCheckpoint(checkpoint, adapter, changes)


class _Changes:
    """Finds out which tensor of a checkpoint each tensor of an adapter changes.

    parts: module in the adapter's file -> {part, such as "lora_A": its whole name}
    whole: names in the adapter's file, without PREFIX, of tensors that take the place of others
    model_names: name of a changed weight, as the adapter's file has it -> its name in the model
    stored: name in the model -> `Stored` in the checkpoint
    shared: names in the model of weights that two of its parts share
    """

    def __init__(self, checkpoint, adapter, model, renamed):
        self.checkpoint, self.adapter, self.model = checkpoint, adapter, model
        self.file, self.stated = AdapterFile(adapter.folder), adapter.stated
        self.spent = 0.0  # seconds, on patterns
        self.modules = dict(model.named_modules())
        self.shared = {name for pair in model.all_tied_weights_keys.items() for name in pair}
        self.weights = model.state_dict()
        self.parts, self.whole = self._sorted()
        targets = {f"{module}.weight" for module in self.parts}
        targets |= {name.replace(BASE, ".") for name in self.whole}
        # as if the adapter's file were a checkpoint of the whole weights that it changes
        as_stored = stored_names(model, targets, renamed)
        self.model_names = {
            target: name for name, stored in as_stored.items() for target in stored.names
        }
        self.converted = {name for name, stored in as_stored.items() if stored.converter}
        self.stored = stored_names(model, checkpoint.files, renamed)

    def by_stored_name(self) -> dict[str, Change]:
        """The changes: dict of the checkpoint's name of a tensor to its `Change`.

        raises: ReportError as `adapted`
        """
        changes = {}
        for name in self.whole:
            weight = self._model_name(name, name.replace(BASE, "."))
            if weight is None:
                continue
            if (BASE in name) != (name.replace(BASE, ".").rpartition(".")[0] in self.parts):
                raise self._refused(name, "fits no weight")
            self._require_shape(name, self.weights[weight].shape)
            changes.setdefault(self.stored[weight].names[0], Change()).instead = PREFIX + name
        for module, parts in self.parts.items():
            weight = self._model_name(f"{module}.{next(iter(parts))}", f"{module}.weight")
            if weight is not None:
                change = changes.setdefault(self.stored[weight].names[0], Change())
                self._add_factors(change, module, parts, weight)
        if not changes:
            raise self.adapter.refused("its file changes no weight")
        self._require_complete()
        return changes

    def _sorted(self):
        """`parts` and `whole` of the adapter's file; ReportError for a name without PREFIX, or a
        part that is there twice."""
        parts, whole = {}, []
        for full in sorted(self.file.files):
            name = full.removeprefix(PREFIX)
            if name == full:
                raise self._refused(full, f"does not begin with {PREFIX}")
            match = PART.fullmatch(name)
            if match:
                of_module = parts.setdefault(match["module"], {})
                if match["part"] in of_module:
                    twin = of_module[match["part"]]
                    raise self._refused(full, f"is there twice, as {quoted(twin)}")
                of_module[match["part"]] = full
            else:
                whole.append(name)
        return parts, whole

    def _model_name(self, name, target):
        """The model's name of a weight; None for one of a part that reads no text.

        name: in the adapter's file, for messages; target: the weight that it changes, there too
        raises: ReportError for a weight that is none of the model's, is shared, or is not stored as
            one tensor
        """
        weight = self.model_names.get(target)
        if weight is None and NOT_TEXT.search(name):
            return None
        if weight is None:
            raise self._refused(name, f"fits no weight of a {type(self.model).__name__}")
        if weight in self.shared:
            raise self._refused(
                name, "changes a weight that two parts of the model share, for one of them"
            )
        stored = self.stored.get(weight)
        if weight in self.converted or stored is None or stored.converter is not None:
            raise self._refused(name, "changes a weight that is not stored as one tensor")
        return weight

    def _add_factors(self, change, module, parts, weight):
        """Add to a `Change` the matrices and lengths of a module.

        module, parts: as in `parts`; weight: its name in the model
        raises: ReportError if they do not fit the weight
        """
        target = self.modules[weight.removesuffix(".weight")]
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
        sizes = self.weights[weight].shape
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
        shape = list(entry.shape)
        if shape != list(wanted):
            raise self._refused(name, f"has the shape {shape}, and should have {list(wanted)}")
        if not entry.dtype.is_floating_point:
            raise self._refused(name, f"holds whole numbers ({entry.dtype}) and no scales for them")

    def _require_complete(self):
        """Stop for a module that either the settings or the file lack."""
        replaced = {self.model_names.get(name.replace(BASE, ".")) for name in self.whole}
        modules = {self.model_names.get(f"{module}.weight"): module for module in self.parts}
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
                tensor = f"{path}.{leaf}"
                bias = "bias" in leaf and (biases == "all" or (biases == "lora_only" and targeted))
                if (saved or bias) and tensor in self.weights and tensor not in replaced:
                    raise self._refused(tensor, "is missing, though its settings name it")

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
        patterns = [rf"(?:.*?\.)?(?:{pattern})" for pattern in patterns] or [r".*?\.[^.]*"]
        matches = [self._match(rf"{pattern}\.(\d+)\..*", name) for pattern in patterns]
        layer = next((int(match[1]) for match in matches if match), None)
        return layer == layers if isinstance(layers, int) else layer in layers

    def _is_named(self, name, names):
        """Whether a pattern matches a module's whole path, or one of several names ends it."""
        if isinstance(names, str):
            return self._match(names, name) is not None
        return any(f".{name}".endswith(f".{end}") for end in names)

    def _by_pattern(self, key, name, usual):
        """The value of the first pattern of a setting that fits a module, else the usual one."""
        patterns = self.stated.get(key) or {}
        fitting = (each for each in patterns if self._match(rf"(.*\.)?({each})", name))
        return patterns.get(next(fitting, None), usual)

    def _match(self, pattern, name):
        """The match of an adapter's pattern and a whole name, or None; ReportError for a pattern
        that is malformed, or could take too long or all memory."""
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
    """The parts that names begin with (in the model, in the adapter's file); the rest is the same.

    modules: dict of the model's name of a changed weight to the module in the file
    """
    pairs = ((name.removesuffix(".weight"), module) for name, module in modules.items() if name)
    in_model, in_file = (name.split(".") for name in next(pairs, ("", "")))
    while in_model and in_file and in_model[-1] == in_file[-1]:
        in_model.pop()
        in_file.pop()
    return in_model, in_file


def _like(path, in_model, in_file):
    """A module's path as the adapter's file has it; None for one outside the model of that file.

    in_model, in_file: as of `_prefixes`
    """
    parts = path.split(".")
    begins = parts[: len(in_model)] == in_model
    return ".".join(in_file + parts[len(in_model) :]) if begins else None
