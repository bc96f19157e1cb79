"""What a measurement depends on, and its hash: equal keys mean equal datasets.

Token ids are not in it, but all that they follow from: the text, whether it becomes a chat, every
file of the tokenizer, and the version of the library that reads it. So it is computed without
torch, and a site whose datasets exist is rebuilt in seconds.
"""

import hashlib
import json
from importlib import metadata

from report import files as store
from report.errors import ReportError
from report.measuring.code import measuring_code
from report.models.find.weights import INDEX, weights_sha256

SETTINGS = (".jinja", ".json", ".model", ".py", ".tiktoken", ".txt")
"""Endings of the files of a checkpoint that hold settings, tokenizer or code."""

ABOUT_TRAINING = ("training.json", "acceptance.json", "generation_config.json", INDEX)
"""Files that do not change a measurement, nor does an index of weights that are the same."""

LIBRARIES = ("numpy", "tokenizers", "torch", "transformers")
"""Libraries that can change a number in a dataset."""

OF_CHATS = ("jinja2",)
"""Those that can change the tokens of a text that was put into a chat template."""


def determined_by(source, kind, parts, settings=None):
    """Everything the datasets of one model of an article depend on, as a dict of short values.

    source: `names.Source`
    kind: name of a module of `report.measuring.kinds`, whose code measures
    parts: dict of what it is measured on, e.g. {"passage": hash}; see `report.measuring.kinds`
    settings: dict of how it is measured, e.g. {"dtype": "bfloat16"}; its "layers", a number or
        None, says which weights count
    raises: ReportError if a weight file is missing or damaged
    """
    settings = settings or {}
    libraries = LIBRARIES + (OF_CHATS if parts.get("chat") else ())
    return {
        "model": _model(source, settings.get("layers")),
        "model_name": source.name,
        "settings": settings,
        **parts,
        "code": measuring_code(kind),
        "libraries": {name: version(name) for name in libraries},
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
    return _settings_hashes(source.folder) | {"weights": weights_sha256(source.folder, layers)}


def known_model(source, layers, before):
    """The "model" of `determined_by` where files may be missing: those are taken to be `before`.

    before: the same of earlier datasets
    """
    if source.origin == "hub":
        return {"hub": source.name, "revision": source.revision or before["revision"]}
    if source.folder is None:
        return before
    try:
        return _model(source, layers)
    except ReportError:  # its weights are not here
        return _settings_hashes(source.folder) | {"weights": before["weights"]}


def _settings_hashes(folder):
    files = _settings_files(folder)
    return {path.relative_to(folder).as_posix(): store.sha256(path) for path in files}


def _settings_files(folder):
    """The files of a checkpoint that say what it computes; templates of chats and code that it
    brings may lie deeper."""
    beside = [path for path in folder.iterdir() if path.suffix in SETTINGS]
    deeper = [*folder.glob("additional_chat_templates/*.jinja"), *folder.glob("[!.]*/**/*.py")]
    found = [path for path in beside if path.name not in ABOUT_TRAINING] + deeper
    return sorted(path for path in found if path.is_file())


def hashed(value):
    """SHA-256 of a JSON-able value, hex digits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
