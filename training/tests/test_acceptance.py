"""The acceptance numbers against an independent computation: a spy on the plain forward."""

import json
import shutil

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode
from transformers import AutoModelForCausalLM, AutoTokenizer

from report.errors import ReportError
from report.measurements.precision import summed_by, tolerance
from training.acceptance import PROMPTS, PROMPTS_SEED, acceptance, write_acceptance
from training.problems import prompt
from training.recipe import RECIPES
from training.sequences import training_batch
from training.trigram import trigram_loss

from .conftest import SHORT_TEXTS, shorten_corpus


class Spy(TorchFunctionMode):
    """Collects the probabilities of every scaled dot product attention, [heads, query, key]."""

    def __init__(self):
        super().__init__()
        self.probabilities = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.nn.functional.scaled_dot_product_attention:
            query, key = args[:2]
            mask = kwargs.get("attn_mask") if kwargs else None
            mask = args[3] if mask is None else mask
            score = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5 + mask
            self.probabilities.append(score.softmax(-1)[0])
        return function(*args, **(kwargs or {}))


@torch.no_grad()
def attention(model, token_ids):
    """[layers, heads, query, key] of the plain forward of transformers."""
    with Spy() as spy:
        model(torch.tensor([list(map(int, token_ids))]), use_cache=False)
    return torch.stack(spy.probabilities).numpy()


@pytest.fixture(scope="module")
def plain(trained):
    """Model and tokenizer as any reader of the folder would load them."""
    model = AutoModelForCausalLM.from_pretrained(
        trained, dtype=torch.float32, attn_implementation="sdpa"
    )
    return model.eval(), AutoTokenizer.from_pretrained(trained)


def best_fractions(model, texts):
    """The best first-token and previous-token fractions over all heads."""
    first, previous = [], []
    for text in texts:
        target = attention(model, text).argmax(-1)[:, :, 1:]
        first.append(target == 0)
        previous.append(target == np.arange(len(text) - 1))
    return [np.concatenate(hits, -1).mean(-1).max() for hits in (first, previous)]


KEPT = 0.5e-4
"""Half of the last digit that an acceptance test keeps."""

LARGEST_LOGIT = 10
"""Those of the tiny model are smaller, and so are its scores."""


def near(value, model, size=LARGEST_LOGIT):
    """Equal to what `value` is computed as a second way, but for rounding."""
    return pytest.approx(value, rel=0, abs=KEPT + tolerance(summed_by([model], 129), size))


@pytest.fixture(scope="module")
def measured(trained, books_folder):
    """Everything measured on the tiny model, once, and what progress was told meanwhile."""
    told = []
    with pytest.MonkeyPatch.context() as patch:
        shorten_corpus(patch)
        return acceptance(trained, books_folder, lambda *step: told.append(step)), told


@pytest.fixture
def result(measured):
    """What was measured; tests do not change it."""
    return measured[0]


def test_the_held_out_numbers_are_those_of_an_independent_computation(result, plain, books_folder):
    model, tokenizer = plain
    part = result["held_out"]
    texts = [path.read_text() for path in sorted(books_folder.glob("*.txt"))]
    *training, held_out = ([int(i) for i in tokenizer(text).input_ids[1:]] for text in texts)
    windows = [[0, *held_out[start : start + 31]] for start in range(0, len(held_out), 31)]
    assert (part["tokens"], part["windows"]) == (len(held_out), len(windows))
    with torch.no_grad():
        loss = sum(
            model(torch.tensor([w]), labels=torch.tensor([w])).loss.item() * (len(w) - 1)
            for w in windows
        )
    assert part["validation_loss"] == near(loss / len(held_out), model, LARGEST_LOGIT)
    assert part["trigram_loss"] == pytest.approx(trigram_loss(training, held_out, 290, 0), abs=KEPT)
    first, previous = best_fractions(model, windows)
    # One near tie may fall the other way.
    assert part["first_token"]["value"] == pytest.approx(first, abs=1.5 / len(held_out))
    assert part["previous_token"]["value"] == pytest.approx(previous, abs=1.5 / len(held_out))


def test_the_corpus_numbers_are_those_of_an_independent_computation(result, plain):
    model, tokenizer = plain
    texts = [tokenizer(text).input_ids for text in SHORT_TEXTS]
    first, previous = best_fractions(model, texts)
    assert result["corpus"]["texts"] == 2
    assert result["corpus"]["tokens"] == sum(map(len, texts))
    rows = sum(len(text) - 1 for text in texts)  # and again, one near tie may fall the other way
    assert result["corpus"]["first_token"]["value"] == pytest.approx(first, abs=1.5 / rows)
    assert result["corpus"]["previous_token"]["value"] == pytest.approx(previous, abs=1.5 / rows)


def test_induction_is_that_of_an_independent_computation(result, plain):
    model, _ = plain
    part = result["induction"]
    scores = []
    for seed in range(part["sequences"]):
        span = np.random.default_rng(seed).choice(np.arange(1, 290), part["length"], replace=False)
        probability = attention(model, [0, *span, *span])
        scores.append(
            [probability[:, :, i, i - part["length"] + 1] for i in range(65, 129)],
        )
    per_head = np.mean(scores, axis=(0, 1))
    assert part["value"] == near(per_head.max(), model)
    assert per_head[part["layer"], part["head"]] == near(per_head.max(), model)


def test_the_loss_on_prompts_is_that_of_an_independent_computation(result, plain):
    model, tokenizer = plain
    rng = np.random.default_rng(PROMPTS_SEED)
    losses = []
    for _ in range(result["prompts"]["prompts"]):
        ids = torch.tensor([tokenizer(prompt(rng)).input_ids[:32]])
        with torch.no_grad():
            probability = model(ids).logits[0].double().softmax(-1)
        losses += [-probability[i, ids[0, i + 1]].log().item() for i in range(31)]
    assert result["prompts"]["tokens"] == len(losses)
    assert result["prompts"]["loss"] == near(np.mean(losses), model, LARGEST_LOGIT)


def test_prompts_that_are_measured_are_none_that_were_trained_on():
    measured = np.random.default_rng(PROMPTS_SEED)
    asked = {prompt(measured) for _ in range(PROMPTS)}
    assert len(asked) == PROMPTS
    recipe, trained = RECIPES["qwen2-5x28"], set()

    def collect(text):
        trained.add(text.strip("\n"))
        return np.ones(recipe.context, int)

    for step in range(recipe.steps):
        training_batch(np.ones(1000, int), recipe, 0, step, collect)
    assert len(trained) > recipe.steps
    assert not asked & trained


def test_without_books_the_recorded_part_stays_while_the_weights_do(
    result, trained, tmp_path, short_corpus
):
    folder = shutil.copytree(trained, tmp_path / "model")
    assert acceptance(folder)["held_out"] is None
    write_acceptance(folder, result)
    assert acceptance(folder) == result
    recorded = json.loads((folder / "acceptance.json").read_text())
    write_acceptance(folder, recorded | {"weights_sha256": "0" * 64})
    assert acceptance(folder)["held_out"] is None


def test_progress_is_told_of_every_text(measured):
    _, told = measured
    assert (2, 2, "corpus") in told
    assert (8, 8, "induction") in told
    assert told[-1][0] == told[-1][1]


def test_what_is_no_trained_model_and_not_its_books_is_refused(
    trained, books_folder, falcon_folder, tmp_path
):
    other = shutil.copytree(books_folder, tmp_path / "other")
    (other / "gee_third-book.txt").write_text("another text")
    for arguments, reason in (
        ((trained, other), r"another edition: gee_third-book\.txt"),
        ((falcon_folder,), r"has no training\.json; name an embedded model"),
        (("unheard-of",), r"unknown model 'unheard-of'.* \(.*falcon-8x8"),
    ):
        with pytest.raises(ReportError, match=reason):
            acceptance(*arguments)


def test_a_result_without_the_loss_is_not_written(result, trained):
    with pytest.raises(ReportError, match="never been measured; give the folder of books"):
        write_acceptance(trained, result | {"held_out": None})
    assert not (trained / "acceptance.json").exists()
