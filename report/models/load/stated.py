"""What a checkpoint's config.json says, and whether any model can have it.

The types of a family's settings are checked by transformers, whose classes state them. It accepts
any number, though, and asks for memory by it. So the settings that all families share are checked
here, under every name that a family gives them, before anything is built: in the whole file,
configs inside it included. A setting that no rule names passes.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import PretrainedConfig

from report.errors import ReportError
from report.files import others_json
from report.models.find.weights import SINGLE
from report.text import quoted

DEEPEST = 50
"""Objects and lists inside each other; no config has more than a few, and Python copies no more
than some hundreds."""


@dataclass(frozen=True)
class Rule:
    """What the settings of some names may be; null is always allowed, for "as usual".

    names: pattern of the names
    words: what is allowed, for the message
    whole, number, text: whether it has to be a whole number, any number, or a text
    """

    names: re.Pattern[str]
    words: str
    least: float = -math.inf
    most: float = math.inf
    whole: bool = False
    number: bool = False
    text: bool = False

    def allows(self, value: object) -> bool:
        """Whether a setting may have a value, one of JSON; what is in a list is asked for alone."""
        if value is None:
            return True
        if isinstance(value, str):
            return not (self.number or self.whole)
        if isinstance(value, list):
            return not self.text
        if isinstance(value, bool) or not isinstance(value, int | float):
            return not (self.number or self.whole or self.text)
        if self.text or (self.whole and isinstance(value, float)):
            return False
        return self.least <= value <= self.most  # which no NaN is


def _count(names, most, least=1):
    words = f"a whole number from {least} to {most:,}"
    return Rule(re.compile(names), words, least, most, whole=True)


def _size(endings, most):
    """Of names that are too many to list. Some hold no number, or -1 for "none"."""
    return Rule(re.compile(f".*({endings})"), f"a number up to {most:,}", -most, most)


def _number(names, words, least, most):
    return Rule(re.compile(names), words, least, most, number=True)


LAYERS = re.compile(r"num_(hidden_)?layers|n_layers?")
"""What configs call the number of their layers."""

RULES = (
    _count(LAYERS.pattern, 10_000),
    _count(r"(num_)?((attention|key_value|kv|query)_)?heads|n_heads?|n_head_kv|kv_n_heads", 10**6),
    _count(
        "hidden_size|n_embd|d_model|dim|(embed|head)_dim|embedding_size|vocab_size",
        10**8,
    ),
    _count("intermediate_size|hidden_dim|ffn_(hidden_size|dim)|n_inner|d_ff", 10**8, least=0),
    _count("num_labels", 100_000, least=0),
    _number(
        ".*rope_theta|rotary_emb_base|rope_local_base_freq",
        "a number above 0, up to 1e30",
        1e-30,
        1e30,
    ),
    _number("partial_rotary_factor|rotary_pct", "a number from 0 to 1", 0, 1),
    _number(
        "((short|long|low_freq|high_freq|attention)_)?factor|beta_(fast|slow)|mscale(_all_dim)?",
        "a number from 0 to 1e30",
        0,
        1e30,
    ),
    _number(".*_eps(ilon)?", "a number from 0 to 1", 0, 1),
    Rule(
        re.compile("((rope|rope_scaling|model)_)?type|hidden_act(ivation)?|activation(_function)?"),
        "a text",
        text=True,
    ),
    _size("layers?|depth|attention_types", 10_000),
    _size("heads?|experts?|groups|blocks", 10**6),
    _size(
        "size|dim|rank|embd|inner|model|width|positions?|embeddings?|len|length|window|ctx", 10**8
    ),
)
"""The first rule that a name fits is its rule. No model comes near the largest numbers."""

OTHER_FILES = (
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "tokenizer.json",
    "vocab.json",
)
"""What transformers reads beside it, if it is there: objects all of them."""

NAMES_OF_OTHERS = ("id2label", "label2id", "task_specific_params")
"""Settings that are not looked into: what names mean in them is up to whoever trained the model."""


def read_config(folder: Path, name: str) -> dict[str, Any]:
    """The content of config.json, a dict that names a model_type.

    folder: Path; name: of the model, for messages
    raises: ReportError if it is no such file, says what no model can have, or asks for code from
        elsewhere
    """
    where, config = f"'{name}/config.json'", _json(folder, "config.json", name)
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise ReportError(f"{where} names no model_type; give a folder written by save_pretrained")
    require_allowed(config, where)
    return config


def require_allowed(config: dict[str, Any], where: str) -> None:
    """Stop for settings that no model can have, or that ask for code from elsewhere.

    where: what states them, for messages
    raises: ReportError naming the setting
    """
    for key, value, depth in _settings(config):
        if depth > DEEPEST:
            raise ReportError(
                f"{where}: {quoted(key)} lies in more than {DEEPEST} objects and lists, and no "
                "model's does; the file is damaged"
            )
        _require_allowed(where, key, value)
    elsewhere = config.get("transformers_weights")
    if elsewhere not in (None, SINGLE):
        raise ReportError(
            f"{where}: transformers_weights is {quoted(elsewhere)}, allowed is {SINGLE}, the file "
            "that is read; call the weights so, and remove the line"
        )
    for key in config:
        if callable(getattr(PretrainedConfig, key, None)):  # it would take that function's place
            raise ReportError(f"{where}: {quoted(key)} is no setting of any model; remove the line")


def require_objects(folder: Path, name: str) -> None:
    """Stop for a file beside config.json that is no JSON object.

    folder, name: as `read_config`
    raises: ReportError naming the file
    """
    for file in OTHER_FILES:
        if (folder / file).is_file() and not isinstance(_json(folder, file, name), dict):
            raise ReportError(f"'{name}/{file}' is no JSON object; copy the whole folder again")


def _json(folder, file, name):
    try:
        return others_json((folder / file).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ReportError(
            f"'{name}/{file}' is not JSON: {error}; copy the whole folder again"
        ) from error


def layers_stated(config: dict[str, Any]) -> dict[str, int]:
    """The numbers of layers that a config and those in it state: dict of name -> the largest."""
    largest = {}
    for key, value, _ in _settings(config):
        if LAYERS.fullmatch(str(key)) and isinstance(value, int):
            largest[key] = max(value, largest.get(key, value))
    return largest


def _require_allowed(where, key, value):
    rule = next((rule for rule in RULES if rule.names.fullmatch(key)), None)
    if rule is not None and not rule.allows(value):
        raise ReportError(
            f"{where}: {_shown(key)} is {quoted(value)}, allowed is {rule.words}; if the "
            "file is whole, this architecture is not supported"
        )
    if key.endswith("_implementation") and isinstance(value, str) and "/" in value:
        raise ReportError(
            f"{where}: {_shown(key)} is {quoted(value)}, code on the hub, which is not run; remove "
            "the line"
        )


def _shown(key):
    return key if key.isidentifier() and len(key) < 80 else quoted(key)


def _settings(config: dict[str, Any]) -> Iterator[tuple[str, object, int]]:
    """(key, value, depth) of everything inside; what is in a list has the list's key.

    Of an object or a list there is the object or list itself, and then what is in it.
    """
    waiting = [("", config, 0)]
    while waiting:
        key, value, depth = waiting.pop()
        if depth:
            yield key, value, depth
        if depth > DEEPEST or key in NAMES_OF_OTHERS:
            continue
        if isinstance(value, list):
            waiting += [(key, inner, depth + 1) for inner in reversed(value)]
        elif isinstance(value, dict):
            waiting += [(inner, value[inner], depth + 1) for inner in reversed(value)]
