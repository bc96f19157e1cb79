"""What a measurement depends on, and its hash: equal keys mean equal datasets.

Computed without torch, so that a site whose datasets exist is rebuilt in seconds.
"""

import hashlib
import json
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from report import store
from report.errors import ReportError

PACKAGE = Path(__file__).parent
EMBEDDED = PACKAGE / "embedded"

MEASURING_CODE = ("models", "measurements", "datasets", "schemas", "store.py", "measuring.py")
"""The parts of this package that can change a number in a dataset."""

MODEL_FILES = (".json", ".model", ".safetensors", ".txt")
"""Endings of the files of a checkpoint that hold its weights, settings and tokenizer."""

LIBRARIES = ("numpy", "tokenizers", "torch", "transformers")
"""Libraries that can change a number in a dataset."""


def model_folder(name):
    """Folder of a model: an embedded one by its name, else the folder itself.

    raises: ReportError if neither exists; lists the embedded models
    """
    for folder in (EMBEDDED / name, Path(name).expanduser()):
        if (folder / "config.json").is_file():
            return folder
    known = ", ".join(sorted(path.parent.name for path in EMBEDDED.glob("*/config.json")))
    if Path(name).expanduser().is_dir():
        raise ReportError(
            f"model folder {name!r} has no config.json; give the folder of a checkpoint saved "
            f"with save_pretrained, or an embedded model: {known}."
        )
    raise ReportError(
        f"unknown model {name!r}: neither an embedded model ({known}) nor a folder with a "
        "checkpoint (config.json, *.safetensors, tokenizer.json)."
    )


def determined_by(model, passage, corpus):
    """Everything the datasets of an article depend on, as a dict of short strings.

    model: folder; passage: `Passage`; corpus: sequence of `Passage`
    """
    folder = Path(model)
    files = sorted(path for path in folder.glob("*") if path.suffix in MODEL_FILES)
    return {
        "model": {path.name: store.sha256(path) for path in files if _matters(path)},
        "model_name": folder.resolve().name,
        "passage": _hash(asdict(passage)),
        "corpus": _hash([text.text for text in corpus]),
        "code": _code_hash(),
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def key(parts):
    """The first 12 hex digits of the hash of `determined_by`."""
    return _hash(parts)[:12]


def version(library):
    """Installed version of a library, or "not installed"."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "not installed"


def _matters(path):
    # What describes the training run does not change a measurement.
    return path.name not in ("training.json", "acceptance.json", "generation_config.json")


def _code_hash():
    paths = []
    for name in MEASURING_CODE:
        path = PACKAGE / name
        paths += sorted(path.glob("*.*")) if path.is_dir() else [path]
    return store.sha256(*paths)


def _hash(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
