"""The models that ship: small, and as good as their cards say; measured again with `training/`."""

import json
from pathlib import Path

import pytest

import report.embedded
from report.models.find.known import embedded_models
from training.acceptance import acceptance
from training.model_card import card
from training.verdict import require_accepted, verdicts

EMBEDDED = Path(report.embedded.__file__).parent
FIRST = "falcon-8x8"


@pytest.fixture(scope="module", params=embedded_models())
def folder(request):
    """Where a model lies in the package."""
    return EMBEDDED / request.param


@pytest.fixture(scope="module")
def recorded(folder):
    """Its acceptance.json."""
    return json.loads((folder / "acceptance.json").read_text("utf-8"))


def test_the_folder_is_small_and_holds_the_model_alone(folder):
    """At most 12 MB for the first model, 9 MB for the others; no path of a machine."""
    texts = ["acceptance.json", "config.json", "tokenizer_config.json", "training.json"]
    others = ["README.md", "model.safetensors", "tokenizer.json"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(texts + others)
    limit = 12_000_000 if folder.name == FIRST else 9_000_000
    assert sum(path.stat().st_size for path in folder.iterdir()) <= limit
    for name in texts:
        text = (folder / name).read_text("utf-8")
        assert '"/' not in text and ":\\\\" not in text, name


def test_the_first_is_accepted_and_the_others_have_learnt_to_read(folder, recorded):
    if folder.name == FIRST:
        require_accepted(recorded)
        return
    loss, _, previous, _ = verdicts(recorded)
    assert loss["accepted"]
    assert recorded["held_out"]["previous_token"]["value"] > 0.7, previous
    assert recorded["prompts"]["loss"] < 0.5  # falcon-8x8, which has read none: 4.6 nats


def test_the_card_is_what_its_numbers_make_it(folder):
    assert (folder / "README.md").read_text("utf-8") == card(folder)


def test_the_head_numbers_come_out_again(folder, recorded):
    measured = acceptance(folder.name)
    assert measured["weights_sha256"] == recorded["weights_sha256"]
    assert measured["limits"] == recorded["limits"]
    assert measured["corpus"]["tokens"] == recorded["corpus"]["tokens"]
    # Another processor may round a near tie between two targets the other way.
    for part in (measured["corpus"], recorded["corpus"]):
        assert part["texts"] >= 40
    for key in ("first_token", "previous_token"):
        assert measured["corpus"][key] == pytest.approx(recorded["corpus"][key], abs=2e-3)
    assert measured["induction"] == pytest.approx(recorded["induction"], abs=2e-3)
    assert measured["prompts"] == pytest.approx(recorded["prompts"], abs=2e-3)
