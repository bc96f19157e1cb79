"""A LoRA adapter of PEFT, beside the weights of a model or alone: what its files say of it.

Read without torch. What the adapter does to the weights is in `report.models.partial.merging`.
https://huggingface.co/docs/peft/developer_guides/checkpoint
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report.errors import ReportError
from report.files import others_json, sha256
from report.models.find.source import Source
from report.models.find.weights import PICKLE_SUFFIXES
from report.text import quoted

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"

WITHOUT_EFFECT = frozenset(
    (
        *("auto_mapping", "base_model_name_or_path", "inference_mode", "layers_pattern"),
        *("lora_dropout", "megatron_core", "peft_version", "qalora_group_size", "revision"),
        *("runtime_config", "task_type", "eva_config", "fan_in_fan_out", "use_dora", "use_rslora"),
        *("alpha_pattern", "exclude_modules", "layers_to_transform", "lora_alpha", "peft_type"),
        *("modules_to_save", "r", "rank_pattern", "target_modules", "bias", "init_lora_weights"),
    )
)
"""Settings that change nothing but how the adapter was trained, and those that are read. Any other
has to be null, false or empty. (Which matrices lie the other way round, the model itself says.)"""

LARGEST = 1e30
"""No scale of an adapter is larger; nor is a whole number, which may be more than a float holds."""

PLAIN_BEGINNINGS = (None, True, False, "gaussian", "eva", "orthogonal")
"""`init_lora_weights` of adapters that were trained beside the base's own weights. PiSSA, OLoRA,
CorDA and LoftQ change these first."""


@dataclass(frozen=True)
class Adapter:
    """An adapter whose settings are understood.

    folder: where its files are; name: of the model, for messages; stated: the content of
        adapter_config.json
    """

    folder: Path
    name: str
    stated: dict[str, Any]

    @property
    def kind(self) -> str:
        """What the method is called."""
        kind = "rsLoRA" if self.stated.get("use_rslora") else "LoRA"
        return f"{kind} with DoRA" if self.stated.get("use_dora") else kind

    def facts(self, source: Source, ranks: list[int], changed: int) -> dict[str, Any]:
        """What provenance says of the adapter, dict for JSON.

        source: the model; where the adapter came alone, what it was merged into is stated
        ranks: all that its matrices have, sorted; changed: number of tensors that it changes
        """
        base = {} if source.base is None else {"base": source.base.command_name}
        return base | {
            "name": self.folder.resolve().name,
            "kind": self.kind,
            "ranks": ranks,
            "tensors_changed": changed,
            "sha256": adapter_sha256(self.folder),
        }

    def refused(self, what: str) -> ReportError:
        """The ReportError for an adapter that is not merged."""
        return ReportError(
            f"model '{self.name}' has an adapter that is not merged here: {what}; merge it with "
            "PEFT (merge_and_unload, save_pretrained) and give that folder, or leave out the "
            "adapter"
        )


def merged(name: str, facts: dict[str, Any]) -> str:
    """One sentence that says which adapter is merged into a model, of `Adapter.facts`."""
    ranks = ", ".join(map(str, facts["ranks"])) or "none"
    whose = (
        f"the weights of {quoted(facts['base'])}" if "base" in facts else "the weights beside it"
    )
    return (
        f"{name}: the {facts['kind']} adapter of the folder {quoted(facts['name'])} is merged into "
        f"{whose} (rank {ranks}; it changes {facts['tensors_changed']} tensors)."
    )


def adapter_files(folder: Path) -> list[str]:
    """Names of the files of an adapter in a folder, sorted: its settings, its weights of any kind;
    [] for a folder without one, or a GGUF file."""
    names = (CONFIG, WEIGHTS, *(f"adapter_model{suffix}" for suffix in PICKLE_SUFFIXES))
    folder = Path(folder)
    return sorted(name for name in names if (folder / name).is_file())


def adapter_sha256(folder: Path) -> str:
    """Checksum of an adapter: of its settings and its weights, one after the other."""
    return sha256(*(folder / name for name in adapter_files(folder)))


def adapter_in(folder: Path, name: str) -> Adapter | None:
    """The adapter whose files lie in a folder; None if there are none.

    name: of the model, for messages
    raises: ReportError if a file is missing or damaged, or for an adapter of a kind, or with a
        setting, that is not merged
    """
    held = adapter_files(folder)
    if not held:
        return None
    adapter = Adapter(folder, name, _stated(folder, name) if CONFIG in held else {})
    lacking = next((file for file in (CONFIG, WEIGHTS) if file not in held), None)
    if lacking is not None:
        beside = f" beside {held[0]}"
        pickled = " (pickles can run code, and are not opened)" if len(held) > 1 else ""
        raise adapter.refused(f"there is no {lacking}{beside}{pickled}")
    _require_understood(adapter)
    return adapter


def base_of(folder: Path) -> str:
    """What an adapter alone in a folder calls the model that it belongs to, with a revision.

    raises: ReportError if it calls none
    """
    stated = _stated(folder, folder.name)
    base, revision = stated.get("base_model_name_or_path"), stated.get("revision")
    if not isinstance(base, str) or not base or not isinstance(revision, str | None):
        raise ReportError(
            f"'{folder.name}/{CONFIG}' names no model that the adapter belongs to "
            "(base_model_name_or_path); write its folder or its name there"
        )
    return f"{base}@{revision}" if revision else base


def _stated(folder, name):
    try:
        stated = others_json((folder / CONFIG).read_text(encoding="utf-8"))
        if isinstance(stated, dict):
            return stated
        reason = "it is no object"
    except (OSError, ValueError, RecursionError) as error:
        reason = error
    raise ReportError(f"'{name}/{CONFIG}' is not JSON of an adapter: {reason}; copy it again")


def _require_understood(adapter):
    stated = adapter.stated
    if stated.get("peft_type") != "LORA":
        raise adapter.refused(f"its peft_type is {quoted(stated.get('peft_type'))}, merged is LORA")
    for key, value in stated.items():
        if key not in WITHOUT_EFFECT and value not in (None, False, "", [], {}):
            raise adapter.refused(f"it sets {quoted(key)} to {quoted(value)}")
    for key, (allowed, words) in RULES.items():
        if not allowed(stated.get(key)):
            raise adapter.refused(f"its {key} is {quoted(stated.get(key))}, merged is {words}")


def _rank(value):
    return type(value) is int and value > 0


def _number(value):
    return type(value) in (int, float) and abs(value) <= LARGEST


def _names(value):
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _pattern_of(allowed):
    return lambda value: (
        value is None or (isinstance(value, dict) and all(map(allowed, value.values())))
    )


def _flag(value):
    return value in (None, True, False)


RULES = {
    "r": (_rank, "a whole number from 1"),
    "lora_alpha": (_number, "a number"),
    "rank_pattern": (_pattern_of(_rank), "names with whole numbers from 1"),
    "alpha_pattern": (_pattern_of(_number), "names with numbers"),
    "target_modules": (lambda value: isinstance(value, str) or _names(value), "names"),
    "exclude_modules": (lambda value: isinstance(value, str | None) or _names(value), "names"),
    "layers_pattern": (lambda value: isinstance(value, str | None) or _names(value), "names"),
    "modules_to_save": (lambda value: value is None or _names(value), "names"),
    "layers_to_transform": (
        lambda value: (
            value is None
            or type(value) is int
            or (isinstance(value, list) and all(type(layer) is int for layer in value))
        ),
        "whole numbers",
    ),
    "bias": (lambda value: value in (None, "none", "all", "lora_only"), "none, all or lora_only"),
    "init_lora_weights": (
        lambda value: any(value is plain or value == plain for plain in PLAIN_BEGINNINGS),
        ", ".join(str(plain) for plain in PLAIN_BEGINNINGS[1:]),
    ),
    "use_rslora": (_flag, "true or false"),
    "use_dora": (_flag, "true or false"),
}
"""Setting -> (function that says whether a value is understood, what that is in words)."""
