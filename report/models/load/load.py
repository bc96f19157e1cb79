"""Load a language model, or the part of it that a study needs, and say exactly what was loaded."""

import copy
import functools
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.initialization import no_init_weights
from transformers.pytorch_utils import Conv1D

from report.errors import ReportError
from report.models.attention.running import Run, run_whole
from report.models.attention.structure import LayerStructure, structure
from report.models.find import names, weights
from report.models.find.adapters import adapter_in, merged
from report.models.gguf.file import is_gguf
from report.models.load.identity import context, identity, vocabulary
from report.models.load.memory import device_named, enough_memory, is_lack_of_memory, placement
from report.models.load.sentences import heard, one_sentence, supported
from report.models.load.settings import from_pretrained, read_settings
from report.models.load.stated import layers_stated
from report.models.partial.layers import run_layer_by_layer
from report.models.partial.merging import adapted
from report.models.partial.model import Partial, open_partial, require_sound
from report.models.partial.reader import (
    Checkpoint,
    PackedCheckpoint,
    open_checkpoint,
    stored_plainly,
)
from report.models.partial.stored import stored_names, unused_names
from report.models.quantised.parts import UNMISTAKABLE
from report.text import count, quoted

WRAPPERS = (r"_orig_mod\.", r"^module\.")
"""What torch.compile and DistributedDataParallel put into the names of a model's tensors."""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass
class LoadedModel:
    """A model in evaluation mode, its tokenizer, and what identifies both.

    identity: name, source ("embedded", "folder" or "hub"), revision (40 hex digits or None),
        family, tokenizer_sha256, dtype, device, num_hidden_layers, layers_measured,
        num_attention_heads, hidden_size, head_dim, vocabulary (rows of the embedding), parameters,
        context (most tokens a text may have, None where positions do not end), made_for (see
        `identity.made_for`), training_step (after which it
        was saved, None if nothing beside it says), alibi_factor,
        special_tokens_added (their texts, in the order of the passage); of weights that were
        unpacked, stored_as (the formats of the matrices, such as "Q4_K_M: Q4_K, Q6_K"), of others
        stored_dtype (of the matrices in the files, that of most numbers first); of a GGUF
        file, defaults (what was taken where it says nothing, as phrases); of weights that an
        adapter was merged into, adapter (see `Adapter.facts`); never a path
    folder: where its files are
    partial: what runs a model whose weights are not all in memory (see `partial`), or None
    zeros: names of weights that were read and are nothing but zeros (see `model.require_sound`)
    checked: the numbers of the self-check once it ran
    replacements: texts -> what heads are ablated with, once it was computed of them
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    identity: dict[str, Any]
    folder: Path
    partial: Partial | None = None
    zeros: set[str] = field(default_factory=set)
    checked: dict[str, Any] | None = None
    replacements: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @property
    def measured_layers(self) -> int:
        """How many layers, from the first, are measured."""
        return self.identity["layers_measured"]

    @property
    def weight_bytes(self) -> int:
        """Bytes of memory that its weights take while it is run."""
        if self.partial is not None:
            return self.partial.held_bytes()
        return sum(tensor.nbytes for tensor in self.model.parameters())

    def run(
        self, runs: Iterable[Run], progress: Callable[..., None] | None = None
    ) -> list[torch.Tensor]:
        """Run texts one by one, or layer by layer, as `running.run_whole` says.

        progress: called with (texts done, texts or None where their number is not known)
        returns: list of float [T, hidden_size], one a run
        raises: ReportError if not every measured layer came through a recorder exactly once, if
            weights cannot be read, or as `supported`
        """
        with supported(self.identity["name"]):
            if self.partial is None:
                return run_whole(self.model, runs, self.measured_layers, progress)
            if self.partial.layer_by_layer:
                return run_layer_by_layer(self.partial, list(runs), progress)
            return self.partial.run(runs, progress)

    def announce_bytes(self, token_ids: Iterable[int], announce: Callable[[str], None]) -> None:
        """Say in one sentence what a model in part reads of its checkpoint; nothing of a whole one.

        token_ids: all that it will read; announce: called with the sentence
        """
        if self.partial is None:
            return
        planned, layers = self.partial.planned(token_ids), self.measured_layers
        way = ", one layer in memory at a time" if self.partial.layer_by_layer else ""
        number = f"{layers} layer{'s' if layers > 1 else ''}"
        total = f" of {planned['of'] / 1e6:,.1f}" if planned["of"] else ""
        announce(f"Reading {planned['bytes'] / 1e6:,.1f}{total} MB of weights: {number}{way}.")

    @cached_property
    def structure(self) -> list[LayerStructure]:
        """The layers, first to last: list of LayerStructure."""
        return structure(self.model)

    @cached_property
    def weights_sha256(self) -> str:
        """Checksum of the weights as stored; it reads all that is measured, so only on demand."""
        all_measured = self.measured_layers == self.identity["num_hidden_layers"]
        return weights.weights_sha256(self.folder, None if all_measured else self.measured_layers)


@dataclass(frozen=True)
class Loading:
    """How a model is loaded.

    layers: how many layers, from the first, are measured; only what these need is read; None: all
    dtype: "float32", whatever the checkpoint is stored in, or "bfloat16"
    device: "cpu", "cuda", "cuda:1", or "auto": CUDA where there is one, several if one is too small
    trust_remote_code: the name of the model whose own code may run; other models' is refused
    alibi_factor: how often ALiBi counts; 2 recreates figures made through a bug of transformers
    layer_by_layer: keep the weights of one layer in memory at a time; None: if all would not fit
    tokenizer: options of the tokenizer, see `report.inputs.specs.TokenizerSpec`
    raises: ReportError for another dtype
    """

    layers: int | None = None
    dtype: str = "float32"
    device: str = "auto"
    trust_remote_code: str | None = None
    alibi_factor: float = 1
    layer_by_layer: bool | None = None
    tokenizer: dict[str, bool] | None = None

    def __post_init__(self):
        if self.dtype not in DTYPES:
            raise ReportError(f"dtype {self.dtype!r} is not known; choose {' or '.join(DTYPES)}")


def load_model(
    name: str | Path | names.Source, *, announce: Callable[[str], None] = print, **options: Any
) -> LoadedModel:
    """Load a model: an embedded one, one in a folder, or one on the hub.

    name: str or Path as `names.find` takes it, or the Source that it returned
    announce: called with one sentence before anything is downloaded, for each value that a file
        lacks and that was taken from elsewhere, and with what the libraries warn of
    options: the fields of `Loading`, by name
    returns: LoadedModel
    raises: ReportError if there is no such model, something is missing from it, its weights exist
        only in pickle files, are incomplete, damaged or do not fit, its architecture is unknown or
        not supported, or transformers warns that its results would be wrong (see `warned`)
    """
    source = name if isinstance(name, names.Source) else names.find(name)
    with heard(source.name, announce), supported(source.name):
        return _load(source, Loading(**options), announce)


def without_weights(
    source: names.Source, announce: Callable[[str], None], **options: Any
) -> LoadedModel | None:
    """What can be known of a model before its weights are there: how it cuts texts, and how long
    they may be. Of the model's identity, "name", "context" and "vocabulary" are given.

    source, announce, options: as of `load_model`
    returns: LoadedModel that cannot be run; None where its own code, or its weights alone, tell it
    raises: ReportError as `load_model`
    """
    loading = Loading(**options)
    with heard(source.name, announce), supported(source.name):
        settings = read_settings(source, loading.trust_remote_code, loading.tokenizer)
        layers = layers_stated(settings.config.to_dict()).values()
        if settings.own_code or max(layers, default=0) > DEEP:
            return None
        about = settings.model_class, settings.config, settings.name, _build_options(settings)
        model = without_memory(*about)
        facts = {"name": source.title, "context": context(model), "vocabulary": vocabulary(model)}
        return LoadedModel(model, settings.tokenizer, facts, source.folder)


def _load(source, loading, announce):
    where, dtype = device_named(loading.device), DTYPES[loading.dtype]
    settings = read_settings(source, loading.trust_remote_code, loading.tokenizer)
    number = settings.number_of_layers(loading.layers)
    first = functools.partial(weights.first_layers, count=number)
    wanted = None if loading.layers is None else first
    folder = source.model.folder
    if folder is None:
        from report.models.find import hub

        revision = source.model.revision
        folder = hub.fetch_weights(settings.name, revision, wanted, settings.own_code, announce)
    settings = replace(settings, renamed=settings.renamed | _wrapped(folder))
    adapter = _adapter(settings, folder)
    with enough_memory("loading the weights"):
        require_layers_held(settings.config, folder, settings.name)
        held = open_checkpoint(folder).shapes(whole=False)
        size = weights.parameters(folder, held, wanted) * dtype.itemsize
        how = placement(size, loading.device, where, loading.layer_by_layer)
        partly = loading.layers is not None or how == "layer by layer"
        about = settings.model_class, settings.config, folder, settings.name, settings.renamed
        empty = require_shapes(*about, whole=not partly, **_build_options(settings))
        _require_all_used(settings, folder, empty, announce)
        checkpoint = open_checkpoint(folder)
        if adapter is not None:
            checkpoint = adapted(checkpoint, adapter, empty, settings.renamed)
        load = _open_partial if partly else _load_whole
        model, opened, zeros = load(settings, checkpoint, number, how, dtype, where)
        _require_known_parts(settings, model)
        if empty is None:
            _require_all_used(settings, folder, model, announce)
        with one_sentence(f"model '{settings.name}': its files do not say what it is"):
            facts = identity(source, folder, model, settings.tokenizer)
    _require_same_vocabulary(settings, facts["vocabulary"])
    for phrase in facts.get("defaults", ()):
        announce(f"{settings.name}: its file does not state {phrase}")
    facts |= {
        "device": devices(model, where),
        "layers_measured": number,
        "alibi_factor": loading.alibi_factor,
        **({"tokenizer": loading.tokenizer} if loading.tokenizer else {}),
    }
    if adapter is not None:
        facts["adapter"] = adapter.facts(source, checkpoint.ranks, len(checkpoint.changes))
        announce(merged(facts["name"], facts["adapter"]))
    return LoadedModel(model.eval(), settings.tokenizer, facts, folder, opened, zeros)


def _wrapped(folder):
    """How names change of tensors that were saved of a compiled or a distributed model: dict of
    pattern -> replacement."""
    names = weights.weight_map(folder)
    return {wrapper: "" for wrapper in WRAPPERS if any(re.search(wrapper, name) for name in names)}


def devices(model: PreTrainedModel, device: torch.device) -> str:
    """Names of the devices that a model's weights are on: all of its map, if it was spread."""
    spread = set(getattr(model, "hf_device_map", {}).values()) or {device}
    return ", ".join(
        sorted(f"cuda:{place}" if isinstance(place, int) else str(place) for place in spread)
    )


def _adapter(settings, folder):
    """The adapter that is merged into a model, or None; folder: of the model's weights."""
    source = settings.source
    adapter = adapter_in(source.folder if source.base else folder, source.name)
    if adapter is not None and settings.own_code:
        raise adapter.refused("the model brings its own code, which may use it in its own way")
    return adapter


def _require_all_used(settings, folder, model, announce):
    """Stop for weights that are left out where they matter, and say which are where they do not.

    model: None where it has to be loaded first
    """
    if model is None:
        return
    beside = require_all_used(model, folder, settings.name, settings.renamed)
    if beside and not all(weights.AFTER_LAYERS.search(name) for name in beside):
        announce(
            f"{settings.name}: {count(len(beside), 'tensor')} beside the layers are left out, as "
            f"a {type(model).__name__} has no place for them; the first is {quoted(beside[0])}"
        )


def _require_known_parts(settings, model):
    """Stop for parts that another installed package has put in the place of transformers' own."""
    known = ("torch", "transformers", "transformers_modules")
    for path, module in model.named_modules():
        if type(module).__module__.partition(".")[0] not in known:
            raise ReportError(
                f"model '{settings.name}': its part '{path}' is a {type(module).__module__}."
                f"{type(module).__name__}, which another package put in the place of "
                "transformers' own; measure in an environment without that package"
            )


def _require_same_vocabulary(settings, rows):
    """Stop for a tokenizer whose own tokens, added ones aside, the embedding has no rows for."""
    if settings.tokenizer.vocab_size > rows:
        raise ReportError(
            f"model '{settings.name}': the tokenizer has "
            f"{settings.tokenizer.vocab_size} tokens, the model {rows}; use the tokenizer that "
            "belongs to the model"
        )


def _open_partial(settings, checkpoint, layers, how, dtype, device):
    """A model without its weights; what reads these when texts are run; names of those that were
    read and are zeros."""
    try:
        what = f"model '{settings.name}': it cannot be loaded in part"
        with one_sentence(what, passing=(NotImplementedError,)):
            opened = open_partial(
                checkpoint,
                settings.model_class,
                settings.config,
                layers=layers,
                layer_by_layer=how == "layer by layer",
                dtype=dtype,
                device=device,
                renamed=settings.renamed,
                **_build_options(settings),
            )
    except NotImplementedError as error:
        raise ReportError(
            f"model '{settings.name}' does not say which of its parts is the embedding of "
            "tokens, so it cannot be loaded in part; leave out --layers and --layer-by-layer"
        ) from error
    return opened.model, opened, opened.zeros


def _build_options(settings):
    """How transformers builds the model: with sdpa, as eager would add Falcon's ALiBi twice."""
    options = {"trust_remote_code": True} if settings.own_code else {}
    supported = getattr(settings.model_class, "_supports_sdpa", None)
    if supported is not None:  # transformers' automatic classes find out by themselves
        options["attn_implementation"] = "sdpa" if supported else "eager"
    return options


def _load_whole(settings, checkpoint, _, how, dtype, device):
    """A model with all its weights, none of them random; None; names of those that are zeros.

    Its code is given tensors to read, and no folder: in one, transformers looks for more than the
    weights (an adapter, where the package peft is there; files that config.json or a class names).
    """
    folder, failed = checkpoint.folder, []
    later = {name: _Later(checkpoint, name, dtype, failed) for name in checkpoint.files}
    weights_of = {"use_safetensors": True} if settings.own_code else {"state_dict": later}
    try:
        model, info = from_pretrained(
            settings.name,
            "its weights",
            settings.model_class,
            folder if settings.own_code else None,
            config=settings.config,
            dtype=dtype,
            **weights_of,
            output_loading_info=True,
            **_build_options(settings),
            **({"device_map": "auto"} if how == "several devices" else {}),
            **({"key_mapping": settings.renamed} if settings.renamed else {}),
        )
    except ReportError:
        for error in failed:
            if isinstance(error, ReportError) or is_lack_of_memory(error):
                raise error from None
        raise
    missing = sorted(name for name in info["missing_keys"] if not _is_counter(model, name))
    if missing:
        raise ReportError(
            f"the weights of '{settings.name}' lack {len(missing)} tensors, the first is "
            f"{missing[0]}; nothing is filled in with random numbers"
        )
    zeros = {name for name, weight in model.named_parameters() if require_sound(name, weight)}
    for name, buffer in model.named_buffers():
        require_sound(name, buffer, endless=True)
    return (model if how == "several devices" else model.to(device)), None, zeros


@dataclass(frozen=True)
class _Later:
    """A tensor that is read when transformers asks for its numbers, perhaps in a thread.

    dtype: of numbers that are unpacked; of those that are stored plainly, transformers knows which
        keep their own
    failed: list that keeps what was raised then, of which transformers writes a report
    """

    checkpoint: Checkpoint
    name: str
    dtype: torch.dtype
    failed: list[Exception]

    def __getitem__(self, _):
        try:
            plain = stored_plainly(self.checkpoint, self.name)
            return self.checkpoint.read(self.name, dtype=None if plain else self.dtype)
        except Exception as error:
            self.failed.append(error)
            raise


def _is_counter(model, name):
    """Whether a tensor is no weight but a buffer of whole numbers (position_ids, a mask), which
    every model makes for itself."""
    buffer = dict(model.named_buffers()).get(name)
    return buffer is not None and not buffer.is_floating_point()


DEEP = 200
"""A config may always state this many layers: some models run the same weights many times."""

TABLES = 1 << 26
"""Bytes that a model may always take for what is not in its weights: masks, tables of positions."""


def require_layers_held(config: PretrainedConfig, folder: str | Path, name: str) -> None:
    """Stop for a config that says many more layers than its weights have, in any of its parts.

    config: of the whole model; folder: of the checkpoint; name: of the model
    raises: ReportError naming both numbers
    """
    layers = {weights.layer_of(tensor) for tensor in weights.weight_map(folder)}
    number = max((layer for layer in layers if layer is not None), default=-1) + 1
    for key, stated in layers_stated(config.to_dict()).items():
        if stated > max(DEEP, number):
            raise ReportError(
                f"model '{name}': config.json says {stated:,} layers ({key}), its weights have "
                f"{number}; config.json belongs to other weights"
            )


def require_shapes(
    model_class: type,
    config: PretrainedConfig,
    folder: str | Path,
    name: str,
    renamed: dict[str, str] | None = None,
    whole: bool = True,
    **options,
) -> PreTrainedModel | None:
    """Stop for a config that no model can have, or that asks for other weights or more memory.

    model_class, config, options: as `skeleton.skeleton` takes them; renamed: as
        `stored.stored_names`
    whole: whether all weights are to be there; else files that are missing count for nothing
    returns: the model without its weights; None where code of its own cannot build it so
    raises: ReportError naming the first tensor that does not fit, or why none can be built
    """
    try:
        model = without_memory(model_class, config, name, options)
    except ReportError:
        if "trust_remote_code" in options:  # it may compute with numbers while it is built
            return None
        raise
    checkpoint = open_checkpoint(folder)
    headers = checkpoint.shapes(whole)
    _require_meant(checkpoint, model, headers, name)
    stored = stored_names(model, headers, renamed)
    wanted = {key: list(tensor.shape) for key, tensor in model.state_dict().items()}
    lacking = [key for key in wanted if key not in stored]
    for key, shape in wanted.items():
        if key in stored and stored[key].converter is None:
            held = headers[stored[key].names[0]]
            if held != shape:
                raise ReportError(
                    f"model '{name}': its weights cannot be loaded: {key} is stored as {held}, "
                    f"config.json asks for {shape}; it belongs to other weights"
                )
    numbers = sum(map(math.prod, headers.values()))
    # tied to another one, or made by the model itself; never most of it
    if whole and sum(math.prod(wanted[key]) for key in lacking) > numbers:
        raise ReportError(
            f"the weights of '{name}' lack {len(lacking)} tensors, the first is {lacking[0]}; "
            "nothing is filled in with random numbers"
        )
    tables = {key: buffer.nbytes for key, buffer in model.named_buffers() if key not in wanted}
    if sum(tables.values()) > TABLES + numbers:
        raise ReportError(
            f"model '{name}': config.json asks for {sum(tables.values()):,} bytes of tables beside "
            f"its {numbers:,} weights, most of them for {max(tables, key=tables.get)}; it belongs "
            "to other weights"
        )
    return model


def _require_meant(checkpoint, model, headers, name):
    """Stop for packed weights of which nobody says how, or which are the other way round."""
    if not isinstance(checkpoint, PackedCheckpoint):
        packed = next(filter(UNMISTAKABLE.fullmatch, headers), None)
        if packed is not None:
            raise ReportError(
                f"model '{name}': its weights are packed ({quoted(packed)}), and its config.json "
                "does not say how; copy the whole folder again, or use the checkpoint that it was "
                "made from"
            )
    elif any(isinstance(module, Conv1D) for module in model.modules()):
        raise ReportError(
            f"model '{name}' is quantised, and its architecture holds matrices the other way "
            "round (Conv1D), of which packed weights do not tell; use the checkpoint that it was "
            "made from"
        )


def require_all_used(
    model: PreTrainedModel, folder: str | Path, name: str, renamed: dict[str, str] | None = None
) -> list[str]:
    """Stop for a tensor of a checkpoint that a model has no place for: its numbers would be left
    out without a word, as those of layers beyond the ones that config.json states. And for whole
    numbers in the place of a weight, which mean nothing without scales.

    model: its weights may have no memory; folder, name, renamed: as of `require_shapes`
    returns: names of tensors that are left out and lie beside all that is measured, as a head of
        another task
    raises: ReportError naming the first
    """
    checkpoint = open_checkpoint(folder)
    if is_gguf(folder):
        stored = stored_names(model, checkpoint.files, renamed)
        used = {source for each in stored.values() for source in each.names}
        if left := sorted(checkpoint.files.keys() - used):
            raise ReportError(
                f"model '{name}': its weights hold {left[0]}, for which a model of these settings "
                "has no place; use another file of this model, or its checkpoint in safetensors"
            )
        return []
    held = dict.fromkeys(checkpoint.files) | checkpoint.shapes(whole=False)
    state = model.state_dict()
    for key, stored in stored_names(model, held, renamed).items():
        for source in stored.names if state[key].is_floating_point() else ():
            if held[source] is None or checkpoint.entry(source).dtype.is_floating_point:
                continue
            raise ReportError(
                f"model '{name}': its weights hold {quoted(source)} as whole numbers "
                f"({checkpoint.entry(source).dtype}), and no scales for it; copy the checkpoint "
                "again, or use it in bfloat16 or float32"
            )
    unused, beside = unused_names(model, held, renamed)
    if unused := [key for key in unused if not _adds_nothing(checkpoint, key, held[key])]:
        raise ReportError(
            f"model '{name}' has {count(len(unused), 'tensor')} that its architecture leaves out, "
            f"the first is {quoted(unused[0])}; config.json and the weights do not belong "
            "together, so mend config.json (does it state fewer layers, or switch biases or norms "
            "off?)"
        )
    return beside


def _adds_nothing(checkpoint, name, shape):
    """Whether a tensor is a bias of zeros, as programs that pack weights give to every matrix."""
    is_bias = name.endswith(".bias") and shape is not None and len(shape) == 1
    return is_bias and not checkpoint.read(name).any()


def without_memory(
    model_class: type, config: PretrainedConfig, name: str, options: dict
) -> PreTrainedModel:
    """The model that a config describes, of shapes alone; as of `require_shapes`."""
    build = getattr(model_class, "_from_config", None) or model_class.from_config
    with (
        one_sentence(f"'{name}/config.json' describes no model that can be built"),
        torch.device("meta"),
        no_init_weights(),
    ):
        return build(copy.deepcopy(config), **options)
