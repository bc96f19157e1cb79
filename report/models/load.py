"""Load a causal language model from a local folder, and say exactly what was loaded."""

import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import (
    CONFIG_MAPPING,
    MODEL_FOR_CAUSAL_LM_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
)
from transformers.utils import logging

from report.errors import ReportError
from report.models.capture import FAMILIES, family_of
from report.models.tokens import is_byte_level

EMBEDDED = Path(__file__).parents[1] / "embedded"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt")
PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


@dataclass
class LoadedModel:
    """A model in float32 and evaluation mode, its tokenizer, and what identifies both.

    identity: name, family, revision, weights_sha256, tokenizer_sha256, dtype, num_hidden_layers,
        num_attention_heads, hidden_size, head_dim, parameters, context (most tokens a text may
        have), special_tokens_added (their texts, in the order of the passage); never a path
    checked: the numbers of the self-check once it ran
    """

    model: PreTrainedModel
    tokenizer: Any
    identity: dict
    checked: dict | None = None


def embedded_models():
    """Names of the models that ship inside the package, sorted."""
    return sorted(path.parent.name for path in EMBEDDED.glob("*/config.json"))


def load_model(name_or_folder):
    """Load an embedded model by its name, or any model of a supported family from a folder.

    name_or_folder: str or Path; a folder needs config.json, *.safetensors and tokenizer.json
    returns: LoadedModel
    raises: ReportError if there is no such model, something is missing from its folder, its weights
        exist only in pickle files, are incomplete or do not fit, or its architecture is unsupported
    Nothing is read from a network and no code from the folder is run.
    """
    folder = _folder(name_or_folder)
    _require_causal(_read_config(folder), folder.name)
    weights = _weight_files(folder)
    config = _load(folder, "its config.json", AutoConfig.from_pretrained)
    family_of(config)
    tokenizer = _load_tokenizer(folder)
    model = _load_weights(folder, config)
    if len(tokenizer) > config.vocab_size:
        raise ReportError(
            f"model '{folder.name}': the tokenizer has {len(tokenizer)} tokens, the model "
            f"{config.vocab_size}; use the tokenizer that belongs to the model"
        )
    return LoadedModel(model.eval(), tokenizer, _identity(folder, model, tokenizer, weights))


def _folder(name_or_folder):
    name = str(name_or_folder)
    known = embedded_models()
    if name in known:
        return EMBEDDED / name
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise ReportError(
            f"unknown model '{name}'; known: {', '.join(known) or 'none'}; or give a folder with "
            "config.json, *.safetensors and tokenizer.json"
        )
    return folder.resolve()


def _read_config(folder):
    path = folder / "config.json"
    if not path.is_file():
        raise ReportError(
            f"model folder '{folder.name}' has no config.json; give a folder written by "
            "save_pretrained"
        )
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ReportError(f"'{folder.name}/config.json' is not JSON: {error}") from error
    if not isinstance(config, dict) or "model_type" not in config:
        raise ReportError(
            f"'{folder.name}/config.json' names no model_type; supported: {_supported()}"
        )
    return config


def _require_causal(config, name):
    """Tell a model that does not predict the next token from one that is only not supported."""
    model_type = config["model_type"]
    architectures = config.get("architectures") or []
    causal = {cls.__name__ for cls in MODEL_FOR_CAUSAL_LM_MAPPING.values()}
    if architectures and not causal.intersection(architectures) and model_type in _model_types():
        raise ReportError(
            f"model '{name}' is a {architectures[0]}, not a causal language model; supported: "
            f"causal models of the families {_supported()}"
        )
    if model_type not in FAMILIES:
        raise ReportError(
            f"model '{name}' has the architecture '{model_type}', which is not supported; "
            f"supported: {_supported()}"
        )


def _model_types():
    return CONFIG_MAPPING.keys()


def _supported():
    return ", ".join(sorted(FAMILIES))


def _weight_files(folder):
    """The safetensors files of a folder, sorted; all shards of the index must be there."""
    found = sorted(folder.glob("*.safetensors"))
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        listed = _listed_files(index)
        lacking = sorted(listed - {path.name for path in found})
        if lacking:
            raise ReportError(
                f"model folder '{folder.name}' lacks {len(lacking)} of {len(listed)} weight "
                f"files, the first is {lacking[0]}; copy the whole folder"
            )
        return [path for path in found if path.name in listed]
    if found:
        return found
    pickled = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLE_SUFFIXES)
    if pickled:
        raise ReportError(
            f"model folder '{folder.name}' has weights only as pickle ({pickled[0]}), which can "
            "run code when opened and is refused; convert them to safetensors"
        )
    raise ReportError(
        f"model folder '{folder.name}' has no weights; *.safetensors files are needed"
    )


def _listed_files(index):
    """Names of the weight files that the index of a sharded checkpoint lists."""
    try:
        return set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReportError(
            f"'{index.parent.name}/{index.name}' has no weight_map; copy the whole folder again"
        ) from error


def _load_tokenizer(folder):
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        raise ReportError(f"model folder '{folder.name}' has no tokenizer; it needs tokenizer.json")
    tokenizer = _load(folder, "its tokenizer", AutoTokenizer.from_pretrained)
    if not is_byte_level(tokenizer):
        raise ReportError(
            f"the tokenizer of '{folder.name}' is not byte-level, which is not supported yet; "
            "supported: byte-level BPE in tokenizer.json"
        )
    return tokenizer


def _load_weights(folder, config):
    # sdpa, because the other implementation adds Falcon's ALiBi twice
    model, info = _load(
        folder,
        "its weights",
        AutoModelForCausalLM.from_pretrained,
        config=config,
        dtype=torch.float32,
        use_safetensors=True,
        attn_implementation="sdpa",
        output_loading_info=True,
    )
    missing = sorted(info["missing_keys"])
    if missing:
        raise ReportError(
            f"the weights of '{folder.name}' lack {len(missing)} tensors, the first is "
            f"{missing[0]}; nothing is filled in with random numbers"
        )
    return model


def _load(folder, what, from_pretrained, **options):
    """Call a loader of transformers on local files only, its errors said in one sentence."""
    try:
        with _quiet():
            return from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False, **options
            )
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, SafetensorError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ReportError(f"model '{folder.name}': {what} cannot be loaded: {reason}") from error


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


def _identity(folder, model, tokenizer, weights):
    config = model.config
    tokenizer_files = [folder / name for name in TOKENIZER_FILES if (folder / name).is_file()]
    # tokenizer.json holds everything; the other files count only where it is absent
    if tokenizer_files[0].name == "tokenizer.json":
        tokenizer_files = tokenizer_files[:1]
    encoded = tokenizer("a", return_special_tokens_mask=True)
    added = [
        token_id
        for token_id, is_special in zip(
            encoded["input_ids"], encoded["special_tokens_mask"], strict=True
        )
        if is_special
    ]
    return {
        "name": folder.name,
        "family": config.model_type,
        "revision": getattr(config, "_commit_hash", None),
        "weights_sha256": sha256(weights),
        "tokenizer_sha256": sha256(tokenizer_files),
        "dtype": str(model.dtype).removeprefix("torch."),
        "num_hidden_layers": config.num_hidden_layers,
        "num_attention_heads": config.num_attention_heads,
        "hidden_size": config.hidden_size,
        "head_dim": config.hidden_size // config.num_attention_heads,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "context": config.max_position_embeddings,
        "special_tokens_added": tokenizer.convert_ids_to_tokens(added),
    }


def sha256(files):
    """Checksum of the contents of `files`, one after the other, in hexadecimal."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
