"""Load a language model, or the part of it that a study needs, and say exactly what was loaded."""

import functools
import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel
from transformers.utils import logging

from report.errors import ReportError
from report.models import names, weights
from report.models.classes import model_class, require_known
from report.models.identity import identity, tokenizer_files
from report.models.memory import enough_memory, is_lack_of_memory
from report.models.partial import open_partial
from report.models.placement import device_named, placement
from report.models.structure import structure

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
FAILURES = (OSError, ValueError, TypeError, KeyError, RuntimeError, ImportError, SafetensorError)


@dataclass
class LoadedModel:
    """A model in evaluation mode, its tokenizer, and what identifies both.

    identity: name, source ("embedded", "folder" or "hub"), revision (40 hex digits or None),
        family, tokenizer_sha256, dtype, device, num_hidden_layers, layers_measured,
        num_attention_heads, hidden_size, head_dim, vocabulary (rows of the embedding), parameters,
        context (most tokens a text may have, None without a limit), alibi_factor,
        special_tokens_added (their texts, in the order of the passage); never a path
    folder: where its files are
    partial: what runs a model whose weights are not all in memory (see partial.py), or None
    checked: the numbers of the self-check once it ran
    """

    model: PreTrainedModel
    tokenizer: Any
    identity: dict
    folder: Path
    partial: Any = None
    checked: dict | None = None

    @property
    def measured_layers(self):
        """How many layers, from the first, are measured."""
        return self.identity["layers_measured"]

    @cached_property
    def structure(self):
        """The layers, first to last: list of LayerStructure."""
        return structure(self.model)

    @cached_property
    def weights_sha256(self):
        """Checksum of the weights as stored; it reads all that is measured, so only on demand."""
        all_measured = self.measured_layers == self.identity["num_hidden_layers"]
        return weights.weights_sha256(self.folder, None if all_measured else self.measured_layers)


@dataclass(frozen=True)
class _Checkpoint:
    """A model whose config and tokenizer have been read, and how its weights are to be."""

    source: names.Source
    own_code: bool
    config: Any
    model_class: type
    renamed: dict
    tokenizer: Any


def load_model(
    name,
    *,
    layers=None,
    dtype="float32",
    device="auto",
    trust_remote_code=None,
    alibi_factor=1,
    layer_by_layer=None,
    announce=print,
):
    """Load a model: an embedded one, one in a folder, or one on the hub.

    name: str or Path as `names.find` takes it, or the Source that it returned
    layers: how many layers, from the first, are measured; only what these need is read; None: all
    dtype: "float32", whatever the checkpoint is stored in, or "bfloat16"
    device: "cpu", "cuda", "cuda:1", or "auto": CUDA where there is one, several if one is too small
    trust_remote_code: the name of the model whose own code may run; other models' is refused
    alibi_factor: how often ALiBi counts; 2 recreates figures made through a bug of transformers
    layer_by_layer: keep the weights of one layer in memory at a time; None: if all would not fit
    announce: called with one sentence before anything is downloaded
    returns: LoadedModel
    raises: ReportError if there is no such model, something is missing from it, its weights exist
        only in pickle files, are incomplete, damaged or do not fit, or its architecture is unknown
    """
    if dtype not in DTYPES:
        raise ReportError(f"dtype {dtype!r} is not known; choose {' or '.join(DTYPES)}")
    where = device_named(device)
    source = name if isinstance(name, names.Source) else names.find(name)
    checkpoint = _read_checkpoint(source, trust_remote_code)
    number = _number_of_layers(checkpoint, layers)
    wanted = None if layers is None else functools.partial(weights.first_layers, count=number)
    folder = source.folder or _fetch(checkpoint, wanted, announce)
    size = weights.parameters(folder, wanted) * DTYPES[dtype].itemsize
    how = placement(size, device, where, layer_by_layer)
    with enough_memory("loading the weights"):
        if how == "layer by layer" or layers is not None:
            opened = _open_partial(
                checkpoint, folder, number, how == "layer by layer", DTYPES[dtype], where
            )
            model = opened.model
        else:
            opened = None
            model = _load_weights(checkpoint, folder, DTYPES[dtype], how)
            model = model if how == "several devices" else model.to(where)
    facts = identity(source, folder, model, checkpoint.tokenizer)
    _require_same_vocabulary(checkpoint, facts["vocabulary"])
    facts |= {
        "device": ", ".join(sorted({str(each) for each in _devices(model, where)})),
        "layers_measured": number,
        "alibi_factor": alibi_factor,
    }
    return LoadedModel(model.eval(), checkpoint.tokenizer, facts, folder, opened)


def _devices(model, device):
    """The devices that a model's weights are on: those of its map, if it was spread over some."""
    spread = getattr(model, "hf_device_map", None)
    return [torch.device(each) for each in spread.values()] if spread else [device]


def _read_checkpoint(source, trust_remote_code):
    """Config, class and tokenizer of a model; of one on the hub these files are fetched first."""
    folder = source.folder
    trusted = trust_remote_code == source.name
    if folder is None:
        from report.models import hub

        folder = hub.fetch_settings(source.name, source.revision, code=trusted)
    own_code = require_known(_read_config(folder, source.name), source.name, trust_remote_code)
    config = _load(source.name, "its config.json", AutoConfig, folder, trust_remote_code=own_code)
    cls, config, renamed = model_class(config, source.name, own_code)
    tokenizer = _load_tokenizer(source.name, folder, own_code)
    return _Checkpoint(source, own_code, config, cls, renamed, tokenizer)


def _read_config(folder, name):
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ReportError(f"'{name}/config.json' is not JSON: {error}") from error
    if not isinstance(config, dict) or "model_type" not in config:
        raise ReportError(
            f"'{name}/config.json' names no model_type; give a folder written by save_pretrained"
        )
    return config


def _number_of_layers(checkpoint, layers):
    there = checkpoint.config.get_text_config(decoder=True).num_hidden_layers
    if layers is not None and not 1 <= layers <= there:
        raise ReportError(
            f"model '{checkpoint.source.name}' has {there} layers (0 to {there - 1}), asked for "
            f"were the first {layers}; ask for fewer, or leave `layers` out"
        )
    return layers or there


def _fetch(checkpoint, wanted, announce):
    """The folder of a model on the hub, with the shards that the wanted tensors are in."""
    from report.models import hub

    return hub.fetch_weights(
        checkpoint.source.name, checkpoint.source.revision, wanted, checkpoint.own_code, announce
    )


def _load_tokenizer(name, folder, own_code):
    if not tokenizer_files(folder):
        raise ReportError(f"model folder '{name}' has no tokenizer; it needs tokenizer.json")
    return _load(name, "its tokenizer", AutoTokenizer, folder, trust_remote_code=own_code)


def _require_same_vocabulary(checkpoint, rows):
    """Stop for a tokenizer whose own tokens, added ones aside, the embedding has no rows for."""
    if checkpoint.tokenizer.vocab_size > rows:
        raise ReportError(
            f"model '{checkpoint.source.name}': the tokenizer has "
            f"{checkpoint.tokenizer.vocab_size} tokens, the model {rows}; use the tokenizer that "
            "belongs to the model"
        )


def _open_partial(checkpoint, folder, layers, layer_by_layer, dtype, device):
    try:
        return open_partial(
            folder,
            checkpoint.model_class,
            checkpoint.config,
            layers=layers,
            layer_by_layer=layer_by_layer,
            dtype=dtype,
            device=device,
            renamed=checkpoint.renamed,
            **_build_options(checkpoint),
        )
    except NotImplementedError as error:
        raise ReportError(
            f"model '{checkpoint.source.name}' does not say which of its parts is the embedding of "
            "tokens, so it cannot be loaded in part; leave out --layers and --layer-by-layer"
        ) from error


def _build_options(checkpoint):
    """How transformers builds the model: with sdpa, as eager would add Falcon's ALiBi twice."""
    options = {"trust_remote_code": True} if checkpoint.own_code else {}
    supported = getattr(checkpoint.model_class, "_supports_sdpa", None)
    if supported is not None:  # transformers' automatic classes find out by themselves
        options["attn_implementation"] = "sdpa" if supported else "eager"
    return options


def _load_weights(checkpoint, folder, dtype, how):
    name = checkpoint.source.name
    model, info = _load(
        name,
        "its weights",
        checkpoint.model_class,
        folder,
        config=checkpoint.config,
        dtype=dtype,
        use_safetensors=True,
        output_loading_info=True,
        **_build_options(checkpoint),
        **({"device_map": "auto"} if how == "several devices" else {}),
        **({"key_mapping": checkpoint.renamed} if checkpoint.renamed else {}),
    )
    missing = sorted(name for name in info["missing_keys"] if not _is_counter(model, name))
    if missing:
        raise ReportError(
            f"the weights of '{name}' lack {len(missing)} tensors, the first is "
            f"{missing[0]}; nothing is filled in with random numbers"
        )
    return model


def _is_counter(model, name):
    """Whether a tensor is no weight but a buffer of whole numbers (position_ids, a mask), which
    every model makes for itself."""
    buffer = dict(model.named_buffers()).get(name)
    return buffer is not None and not buffer.is_floating_point()


def _load(name, what, loader, folder, **options):
    """Call a loader of transformers on local files only, its errors said in one sentence."""
    try:
        with _quiet():
            return loader.from_pretrained(str(folder), local_files_only=True, **options)
    except FAILURES as error:
        if is_lack_of_memory(error):
            raise
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        reason = reason.replace(f"{folder}", name)  # no path of this machine
        raise ReportError(f"model '{name}': {what} cannot be loaded: {reason}") from error


@contextmanager
def _quiet():
    """Without the progress bars and reports of transformers; its settings are put back after."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    try:
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
