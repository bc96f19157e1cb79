"""How many layers and heads a model has, as its config.json states it: known without libraries.

It is for what is said early, before a model is loaded. What the config leaves to its family is not
known here.
"""

import json
from dataclasses import dataclass

from report.models.find.names import Source

LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
"""What families call them."""


@dataclass(frozen=True)
class Size:
    """Of a model, as far as it is known."""

    layers: int | None = None
    heads: int | None = None
    """In every layer."""


def size_of(source: Source) -> Size:
    """The size that a model in a folder states, or one on the hub whose config is on this machine
    already; nothing is known of others, and of what cannot be read, which is told when it is
    loaded."""
    try:
        config = json.loads(_config_of(source).read_text("utf-8"))
        inner = config.get("text_config")
        config |= inner if isinstance(inner, dict) else {}
        return Size(_first(config, LAYERS), _first(config, HEADS))
    except (ImportError, OSError, ValueError, TypeError, AttributeError, RecursionError):
        return Size()


def _config_of(source):
    """The config.json of a model. The hub is not asked: frozen datasets may be all that is wanted,
    and there may be no network."""
    source = source.model
    if source.origin != "hub":
        return source.folder / "config.json"
    from report.models.find import hub

    return hub.cached_config(source.name, source.revision) if source.revision else None


def _first(config, names):
    stated = next((config[name] for name in names if name in config), None)
    return stated if type(stated) is int and stated > 0 else None
