"""What a measurement depends on, and its hash: equal keys mean equal datasets.

Computed without torch, so that a site whose datasets exist is rebuilt in seconds.
"""

import hashlib
import json
from importlib import metadata
from pathlib import Path

from report import store
from report.models.weights import INDEX, weights_sha256

PACKAGE = Path(__file__).parent

MEASURING_CODE = (
    *("models", "measurements", "datasets", "schemas", "kinds", "prompts"),
    *("store.py", "measuring.py", "conditions.py", "fillers.py", "tables.py"),
)
"""The parts of this package that can change a number in a dataset."""

SETTINGS = (".jinja", ".json", ".model", ".py", ".txt")
"""Endings of the files of a checkpoint that hold settings, tokenizer or code."""

ABOUT_TRAINING = ("training.json", "acceptance.json", "generation_config.json", INDEX)
"""Files that do not change a measurement, nor does an index of weights that are the same."""

LIBRARIES = ("numpy", "tokenizers", "torch", "transformers")
"""Libraries that can change a number in a dataset."""


def determined_by(source, parts, settings=None):
    """Everything the datasets of one model of an article depend on, as a dict of short values.

    source: `names.Source`
    parts: dict of what it is measured on, e.g. {"passage": hash}; see `report.kinds`
    settings: dict of how it is measured, e.g. {"dtype": "bfloat16"}; its "layers", a number or
        None, says which weights count
    raises: ReportError if a weight file is missing or damaged
    """
    settings = settings or {}
    return {
        "model": _model(source, settings.get("layers")),
        "model_name": source.name,
        "settings": settings,
        **parts,
        "code": _codehashed(),
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def key(parts):
    """The first 12 hex digits of the hash of `determined_by`."""
    return hashed(parts)[:12]


def version(library):
    """Installed version of a library, or "not installed"."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "not installed"


def _model(source, layers):
    """What identifies a model's files: a commit on the hub, or checksums."""
    if source.folder is None:
        return {"hub": source.name, "revision": source.revision}
    files = sorted(path for path in source.folder.iterdir() if path.suffix in SETTINGS)
    return {
        **{path.name: store.sha256(path) for path in files if path.name not in ABOUT_TRAINING},
        "weights": weights_sha256(source.folder, layers),
    }


def _codehashed():
    paths = []
    for name in MEASURING_CODE:
        path = PACKAGE / name
        paths += sorted(path.glob("*.*")) if path.is_dir() else [path]
    return store.sha256(*paths)


def hashed(value):
    """SHA-256 of a JSON-able value, hex digits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
