"""What a measurement depends on, and its hash, the key: equal keys mean equal datasets.

A key does not contain token ids, but everything they follow from: the text, whether it becomes a
chat, every file of the tokenizer, and the version of the library that reads it. So no torch is
needed for a key, and a site whose datasets exist is rebuilt in seconds.
"""

import hashlib
import json
from importlib import metadata

from report.errors import ReportError
from report.files import sha256
from report.measuring.code import measuring_code
from report.models.find.adapters import adapter_files, adapter_sha256
from report.models.find.names import Source
from report.models.find.weights import INDEX, weights_sha256
from report.models.gguf.file import open_gguf

SETTINGS = (".jinja", ".json", ".model", ".py", ".tiktoken", ".txt")
"""Endings of a checkpoint's files that hold settings, tokenizer or code."""

ABOUT_TRAINING = ("training.json", "acceptance.json", "generation_config.json", INDEX)
"""Files that change no measurement; a new index of the same weights does not either."""

LIBRARIES = ("numpy", "tokenizers", "torch", "transformers")
"""Libraries that can change a number in a dataset."""

OF_GGUF = ("gguf",)
"""Libraries that can change a number that is read from a GGUF file."""

OF_CHATS = ("jinja2",)
"""Libraries that can change the tokens of a text in a chat template."""


def determined_by(source: Source, kind: str, parts: dict, settings: dict | None = None) -> dict:
    """Everything the datasets of one model of an article depend on, as short JSON values.

    kind: name of the module of `report.kinds` that measures
    parts: what the model reads, e.g. {"passage": hash}; see `report.kinds`
    settings: how it is measured, e.g. {"dtype": "bfloat16"}; "layers", a number or None for all,
        says which weights count
    raises: ReportError if a weight file is missing or damaged
    """
    settings = settings or {}
    of_model = {"model": files_of(source, settings.get("layers"))}
    return of_model | beside_files(source, kind, parts, settings)


def beside_files(source: Source, kind: str, parts: dict, settings: dict) -> dict:
    """`determined_by` without "model", for which all weights are read."""
    libraries = LIBRARIES + (OF_GGUF if source.model.file else ())
    libraries += OF_CHATS if parts.get("chat") else ()
    return {
        "model_name": source.title,
        "settings": settings,
        **parts,
        "code": measuring_code(kind),
        "libraries": {name: version(name) for name in libraries},
    }


def key_of(parts: dict) -> str:
    """The first 12 hex digits of the hash of `determined_by`."""
    return hashed(parts)[:12]


def version(library: str) -> str:
    """Installed version of a library, or "not installed"."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "not installed"


def files_of(source: Source, layers: int | None) -> dict:
    """The "model" of `determined_by`, which identifies files: a commit on the hub, or checksums."""
    if source.folder is None:
        return {"hub": source.name, "revision": source.revision}
    if source.base is not None:
        return _settings_hashes(source.folder) | {"base": files_of(source.base, layers)}
    if source.file is not None:
        settings = open_gguf(source.folder).settings_sha256()
        weights = weights_sha256(source.folder, layers)
        return {"file": source.file, "settings": settings, "weights": weights}
    return _settings_hashes(source.folder) | {"weights": weights_sha256(source.folder, layers)}


def known_model(source: Source, layers: int | None, before: dict) -> dict:
    """The "model" of `determined_by` where files may be missing: these count as unchanged.

    before: "model" of earlier datasets
    """
    if source.base is not None:
        base = known_model(source.base, layers, before.get("base", {}))
        return _settings_hashes(source.folder) | {"base": base}
    if source.origin == "hub":
        return {"hub": source.name, "revision": source.revision or before.get("revision")}
    if source.folder is None:
        return before
    try:
        return files_of(source, layers)
    except ReportError:  # its weights are not here
        if source.file is not None:
            return before
        return _settings_hashes(source.folder) | {"weights": before.get("weights")}


def _settings_hashes(folder):
    paths = _settings_files(folder)
    hashes = {path.relative_to(folder).as_posix(): sha256(path) for path in paths}
    adapter = {"adapter": adapter_sha256(folder)} if adapter_files(folder) else {}
    return hashes | adapter


def _settings_files(folder):
    """The files of a checkpoint that determine what it computes. Chat templates and its own code
    may be in folders inside."""
    beside = [path for path in folder.iterdir() if path.suffix in SETTINGS]
    deeper = [*folder.glob("additional_chat_templates/*.jinja"), *folder.glob("[!.]*/**/*.py")]
    paths = [path for path in beside if path.name not in ABOUT_TRAINING] + deeper
    return sorted(path for path in paths if path.is_file())


def hashed(value: object) -> str:
    """SHA-256 of a value as JSON, as hex digits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
