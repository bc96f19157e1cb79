"""Models that Ollama has pulled: the GGUF file of a name such as "ollama:smollm2:135m".

In Ollama's folder, `manifests/HOST/OWNER/NAME/TAG` is a JSON object with the parts of a model.
The part with the weights names a checksum, and `blobs/sha256-CHECKSUM` is the file, without an
ending. Ollama itself is not run.
"""

import json
import os
import re
from pathlib import Path

from report.errors import ReportError
from report.text import quoted

PREFIX = "ollama:"
HOST, OWNER, TAG = "registry.ollama.ai", "library", "latest"
"""Defaults of what a name leaves out."""

WORD = r"[A-Za-z0-9_](?:[\w.-]*[A-Za-z0-9_])?"
NAME = re.compile(
    rf"(?:(?:(?P<host>{WORD})/)?(?P<owner>{WORD})/)?(?P<name>{WORD})(?::(?P<tag>{WORD}))?", re.ASCII
)
DIGEST = re.compile(r"sha256:([0-9a-f]{64})")

WEIGHTS, ADAPTER = (f"application/vnd.ollama.image.{part}" for part in ("model", "adapter"))

LARGEST = 1 << 20
"""Most bytes of a manifest; usual are some hundreds."""

LISTED = 12
"""Most models that a message names."""


def folders() -> list[Path]:
    """Folders of Ollama's models: OLLAMA_MODELS alone if it is set; they need not exist."""
    setting = os.environ.get("OLLAMA_MODELS")
    if setting:
        return [Path(os.path.expanduser(setting))]  # noqa: PTH111 (which stops for an unknown user)
    usual = "~/.ollama/models", "/usr/share/ollama/.ollama/models"
    return [Path(os.path.expanduser(folder)) for folder in usual]  # noqa: PTH111 (likewise)


def is_named(name: str) -> bool:
    """Whether a name begins with "ollama:"."""
    return name.startswith(PREFIX)


def whole_name(name: str) -> str:
    """Complete a name by its tag, and drop a default host and owner: "ollama:smollm2" becomes
    "ollama:smollm2:latest".

    raises: ReportError if no model of Ollama's can be called so
    """
    host, owner, base, tag = _parts(name)
    place = [part for part, usual in ((host, HOST), (owner, OWNER)) if part != usual]
    if host != HOST:
        place = [host, owner]
    return f"{PREFIX}{'/'.join([*place, base])}:{tag}"


def find_blob(name: str) -> Path:
    """The GGUF file of a model that Ollama has pulled.

    name: "ollama:NAME", "ollama:OWNER/NAME:TAG" or "ollama:HOST/OWNER/NAME:TAG"
    raises: ReportError saying what there is, or what is missing
    """
    place = "/".join(_parts(name))
    for folder in folders():
        manifest = folder / "manifests" / place
        if manifest.is_file():
            return _blob(folder, manifest, name)
    there = _there()
    what = f"it has {', '.join(there)}" if there else "it has none, or keeps them elsewhere"
    raise ReportError(
        f"Ollama has no model {quoted(name.removeprefix(PREFIX))} in "
        f"{' or '.join(map(str, folders()))}; {what}. Pull it with `ollama pull`, or name Ollama's "
        "folder in OLLAMA_MODELS."
    )


def _parts(name):
    """(host, owner, name, tag), with defaults; raises as `whole_name`."""
    spoken = NAME.fullmatch(name.removeprefix(PREFIX))
    if spoken is None:
        raise ReportError(
            f"{quoted(name)} is no name of a model of Ollama's; write ollama:NAME, "
            "ollama:NAME:TAG or ollama:OWNER/NAME:TAG"
        )
    return (
        spoken["host"] or HOST,
        spoken["owner"] or OWNER,
        spoken["name"],
        spoken["tag"] or TAG,
    )


def _blob(folder, manifest, name):
    """The file of the weights that a manifest names."""
    try:
        if manifest.stat().st_size > LARGEST:
            raise ValueError("it is too long")
        layers = json.loads(manifest.read_text("utf-8"))["layers"]
        digests = {kind: [] for kind in (WEIGHTS, ADAPTER)}
        for layer in layers:
            if layer["mediaType"] in digests:
                digests[layer["mediaType"]].append(DIGEST.fullmatch(layer["digest"])[1])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReportError(
            f"what Ollama says of {quoted(name)} cannot be read; pull it again with `ollama pull`"
        ) from error
    if digests[ADAPTER]:
        raise ReportError(
            f"{quoted(name)} is a model with an adapter beside it, which would change its numbers "
            "and is not read; merge the adapter into the model"
        )
    if len(digests[WEIGHTS]) != 1:
        raise ReportError(
            f"{quoted(name)} has {len(digests[WEIGHTS])} files of weights at Ollama, read is a "
            "model with one; give the path of a .gguf file"
        )
    blob = folder / "blobs" / f"sha256-{digests[WEIGHTS][0]}"
    if not blob.is_file():
        raise ReportError(
            f"Ollama knows {quoted(name)}, but its file {blob.name} is missing; pull it again with "
            "`ollama pull`"
        )
    return blob


def _there():
    """Sorted names of pulled models, without "ollama:"; at most `LISTED`, then "…"."""
    names = set()
    for folder in folders():
        manifests = folder / "manifests"
        for path in manifests.glob("*/*/*/*"):
            host, owner, base, tag = path.relative_to(manifests).parts
            known = f"{host}/{owner}/{base}:{tag}"
            if NAME.fullmatch(known) and path.is_file():
                names.add(whole_name(f"{PREFIX}{known}").removeprefix(PREFIX))
    listed = sorted(names)
    return [*listed[:LISTED], *(["…"] if len(listed) > LISTED else [])]
