"""Makes, changes and damages checkpoints of tiny models."""

import json

import pytest
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from report.errors import ReportError
from report.models.load.load import load_model


def save(model, folder, words=90):
    """A checkpoint of any model, with a tokenizer of so many words."""
    model.save_pretrained(folder)
    vocabulary = {"[UNK]": 0, **{f"w{number}": number for number in range(1, words)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    return folder


def change_config(folder, **changes):
    """Change some keys of config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_weights(folder, change):
    """Write the weights again as a function of them says."""
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


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
