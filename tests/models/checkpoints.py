"""Makes, changes and damages checkpoints of tiny models."""

import json

import numpy as np
import pytest
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from report.errors import ReportError
from report.models.load import load
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage

WAYS = ({}, {"layers": 1}, {"layer_by_layer": True})
"""How a model is loaded: whole, some layers, and with one layer in memory at a time."""


def save(model, folder, words=90):
    """A checkpoint of any model, with a tokenizer of so many words."""
    model.save_pretrained(folder)
    vocabulary = {"[UNK]": 0, **{f"w{number}": number for number in range(1, words)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    return folder


def change_config(folder, name="config.json", **changes):
    """Change some keys of config.json, or of another file."""
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_weights(folder, change, name="model.safetensors"):
    """Write the weights again as a function of them says."""
    path = folder / name
    changed = {name: tensor.contiguous() for name, tensor in change(load_file(path)).items()}
    save_file(changed, path, metadata={"format": "pt"})


def add_adapter(folder, tensors, prefix="base_model.model.", **stated):
    """Write an adapter of PEFT into a folder: tensors by their names, and settings."""
    folder.mkdir(exist_ok=True)
    usual = {"peft_type": "LORA", "r": 2, "lora_alpha": 8, "target_modules": ["q_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(usual | stated))
    named = {f"{prefix}{name}": tensor.contiguous() for name, tensor in tensors.items()}
    save_file(named, folder / "adapter_model.safetensors", metadata={"format": "pt"})


def refused(folder, message, **options):
    """Assert that a model is refused with a sentence that matches."""
    with pytest.raises(ReportError, match=message):
        load_model(folder, **options)


def refused_early(folder, message, monkeypatch):
    """Assert that a model is refused however it is loaded, before memory is asked for."""
    for loader in ("from_pretrained", "open_partial"):
        monkeypatch.setattr(load, loader, lambda *_, **__: pytest.fail("it was loaded"))
    for way in WAYS:
        refused(folder, message, **way)


TABLES = ("largest_targets", "marker_count", "magnitude", "alignment")


def require_same_measurements(part, whole, token_ids):
    """Assert that a model measures what another one does, in as many layers as it has."""
    ours, theirs = (measure_passage(loaded, token_ids) for loaded in (part, whole))
    count = part.measured_layers
    for name in TABLES:
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)[:count]), name
    for layer in range(count):
        for term, other in zip(ours.terms(layer, 1), theirs.terms(layer, 1), strict=True):
            assert term.name == other.name
            assert np.array_equal(term.values, other.values)
