"""Training end to end on a tiny recipe: what it writes, resuming, and every refusal."""

import json
import resource
import signal
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import PreTrainedTokenizerFast

from report.errors import ReportError
from training import checkpoint as checkpoint_module
from training import train as train_module
from training.recipe import learning_rate_factor, optimizers, random_model, train_tokenizer
from training.sequences import training_batch
from training.train import train

from .conftest import HELD_OUT, SOURCE, tiny_recipe


class InterruptedRunError(Exception):
    """Stands in for a kill."""


def interrupt_at(step):
    def progress(done, total, text):
        if done == step:
            raise InterruptedRunError

    return progress


def weights(folder):
    return load_file(folder / "model.safetensors")


def test_a_run_writes_the_model_folder_and_removes_its_state(trained):
    assert {path.name for path in trained.iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "training.json",
    }
    assert {tensor.dtype for tensor in weights(trained).values()} == {torch.bfloat16}
    assert (trained / "model.safetensors").stat().st_mode & 0o777 == 0o644
    config = json.loads((trained / "config.json").read_text())
    assert config["architectures"] == ["FalconForCausalLM"]


def test_the_facts_are_those_of_the_run(trained, books_folder):
    facts = json.loads((trained / "training.json").read_text(encoding="utf-8"))
    assert facts["recipe"] == json.loads(json.dumps(asdict(tiny_recipe())))
    assert [book["title"] for book in facts["books"]] == ["First Book", "The Second of Two"]
    assert facts["held_out"]["title"] == "Third Book"
    assert facts["source"] == SOURCE
    assert facts["steps"] == 12
    assert facts["tokens_seen"] == 12 * 2 * 32
    assert facts["training_tokens"] == sum(book["tokens"] for book in facts["books"])
    assert 0 < facts["train_loss"] < 6
    assert str(books_folder) not in json.dumps(facts)
    assert str(trained) not in json.dumps(facts)


def test_the_weights_are_those_of_a_loop_written_out(trained, books_folder):
    recipe = tiny_recipe()
    texts = [path.read_text() for path in sorted(books_folder.glob("*.txt"))[:2]]
    tokenizer = train_tokenizer(texts, recipe.vocab_size)
    tokens = np.concatenate([tokenizer(text).input_ids[1:] for text in texts])
    torch.manual_seed(recipe.seed)
    model = random_model(recipe, 0)
    muon, adamw = optimizers(model, recipe)
    for step in range(recipe.steps):
        batch = training_batch(tokens, recipe, 0, step)
        muon.param_groups[0]["lr"] = 0.02 * learning_rate_factor(step, recipe)
        for group in adamw.param_groups:
            group["lr"] = 3e-3 * learning_rate_factor(step, recipe)
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(batch, use_cache=False).logits[:, :-1]
        torch.nn.functional.cross_entropy(
            logits.float().reshape(-1, recipe.vocab_size), batch[:, 1:].reshape(-1)
        ).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        muon.step()
        adamw.step()
    expected = model.state_dict()
    for name, tensor in weights(trained).items():
        # the same steps on the same machine, so the same bits
        assert torch.equal(tensor, expected[name].to(tensor.dtype)), name


def test_a_run_learns(books_folder, tmp_path):
    losses = []
    recipe = tiny_recipe(steps=60, drill=0.0, drill_late=0.0, repeated=0.0)

    def progress(step, total, text):
        losses.append(float(text.split()[1].rstrip(",")))
        assert (step, total) == (len(losses), 60)

    train(books_folder, tmp_path / "out", recipe, HELD_OUT, progress)
    assert np.mean(losses[-5:]) < losses[0] - 1


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_an_interrupted_run_ends_like_an_uninterrupted_one(
    books_folder, tmp_path, monkeypatch, dropout
):
    monkeypatch.setattr(train_module, "CHECKPOINT_EVERY", 4)
    recipe = tiny_recipe(dropout=dropout)
    whole = train(books_folder, tmp_path / "whole", recipe, HELD_OUT)
    with pytest.raises(InterruptedRunError):
        train(books_folder, tmp_path / "cut", recipe, HELD_OUT, interrupt_at(7))
    assert {path.name for path in (tmp_path / "cut").iterdir()} == {"state.pt"}
    steps = []
    resumed = train(
        books_folder, tmp_path / "cut", recipe, HELD_OUT, lambda step, *_: steps.append(step)
    )
    assert steps == list(range(5, 13))
    assert resumed["train_loss"] == whole["train_loss"]
    expected = weights(tmp_path / "whole")
    for name, tensor in weights(tmp_path / "cut").items():
        assert torch.equal(tensor, expected[name]), name


@pytest.mark.promise("killed-commands")
def test_what_a_killed_run_left_is_removed_whatever_is_kept_now(books_folder, interrupted):
    left = [interrupted / f".{name}.0123abcd.report.tmp" for name in ("training.json", "step-2")]
    left[0].write_text("x")
    (left[1] / "x").mkdir(parents=True)
    train(books_folder, interrupted, tiny_recipe(), HELD_OUT)
    assert not any(path.exists() for path in left)


def test_models_are_kept_on_the_way_with_the_steps_they_had(books_folder, trained, tmp_path):
    output = tmp_path / "out"
    train(books_folder, output, tiny_recipe(), HELD_OUT, source=SOURCE, keep=[0, 5, 12])
    kept = sorted(path.name for path in output.iterdir() if path.is_dir())
    assert kept == ["step-0", "step-12", "step-5"]
    for step in (0, 5, 12):
        folder = output / f"step-{step}"
        assert {path.name for path in folder.iterdir()} == {path.name for path in trained.iterdir()}
        facts = json.loads((folder / "training.json").read_text())
        assert (facts["steps"], facts["tokens_seen"]) == (step, step * 2 * 32)
        assert facts["recipe"]["steps"] == 12
        assert (facts["train_loss"] is None) == (step == 0)
    torch.manual_seed(tiny_recipe().seed)
    untrained = random_model(tiny_recipe(), 0).state_dict()
    for name, tensor in weights(output / "step-0").items():
        assert torch.equal(tensor, untrained[name].to(torch.bfloat16)), name
    for name, tensor in weights(output).items():
        assert torch.equal(tensor, weights(output / "step-12")[name]), name
        assert torch.equal(tensor, weights(trained)[name]), name  # keeping changes nothing


def test_a_resumed_run_keeps_what_an_uninterrupted_one_does(books_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(train_module, "CHECKPOINT_EVERY", 4)
    keep = [2, 6]
    train(books_folder, tmp_path / "whole", tiny_recipe(), HELD_OUT, keep=keep)
    with pytest.raises(InterruptedRunError):
        train(books_folder, tmp_path / "cut", tiny_recipe(), HELD_OUT, interrupt_at(7), keep=keep)
    assert {path.name for path in (tmp_path / "cut").iterdir()} == {"state.pt", "step-2", "step-6"}
    train(books_folder, tmp_path / "cut", tiny_recipe(), HELD_OUT, keep=keep)
    for step in keep:
        found, expected = (weights(tmp_path / run / f"step-{step}") for run in ("cut", "whole"))
        assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_a_step_that_there_will_not_be_cannot_be_kept(books_folder, tmp_path):
    with pytest.raises(ReportError, match="step 13 cannot be kept, the steps go from 0 to 12"):
        train(books_folder, tmp_path / "out", tiny_recipe(), HELD_OUT, keep=[5, 13])
    assert not (tmp_path / "out").exists()


@pytest.fixture
def interrupted(books_folder, tmp_path, monkeypatch):
    """The folder of a run cut off after its state of step 4."""
    monkeypatch.setattr(train_module, "CHECKPOINT_EVERY", 4)
    with pytest.raises(InterruptedRunError):
        train(books_folder, tmp_path / "cut", tiny_recipe(), HELD_OUT, interrupt_at(5))
    return tmp_path / "cut"


@pytest.mark.parametrize(
    ("recipe", "held_out", "reason"),
    [
        (tiny_recipe(steps=13), HELD_OUT, r"\(steps 12 there, 13 here\); name another"),
        (tiny_recipe(), "first-book", r"\(other books\)"),
    ],
)
def test_the_state_of_another_run_is_refused(books_folder, interrupted, recipe, held_out, reason):
    with pytest.raises(ReportError, match=f"another run {reason}"):
        train(books_folder, interrupted, recipe, held_out)


def test_a_state_that_cannot_be_read_is_refused(books_folder, tmp_path):
    (tmp_path / "state.pt").write_bytes(b"cut off")
    with pytest.raises(ReportError, match=r"is no training state .*delete it to start anew"):
        train(books_folder, tmp_path, tiny_recipe(), HELD_OUT)


def test_a_full_disk_keeps_the_last_state(books_folder, interrupted, monkeypatch):
    before = (interrupted / "state.pt").read_bytes()

    def full(state, path):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(ReportError, match=r"cannot write .*No space left.*free some space"):
        train(books_folder, interrupted, tiny_recipe(), HELD_OUT)
    assert (interrupted / "state.pt").read_bytes() == before
    assert {path.name for path in interrupted.iterdir()} == {"state.pt"}


@pytest.fixture
def files_are_short():
    """Files of 4096 bytes and no more, so that a real write fails in whatever library does it."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("fails", ["model", "tokenizer", "training.json"])
def test_a_disk_full_at_the_end_keeps_a_state_that_finishes_the_run(
    books_folder, trained, tmp_path, monkeypatch, request, fails
):
    output = tmp_path / "out"
    written = []

    def fill(module, name):
        """Let the disk be full from the call of this function on."""
        real = getattr(module, name)

        def when_full(*arguments, **options):
            written.append(request.getfixturevalue("files_are_short"))
            return real(*arguments, **options)

        monkeypatch.setattr(module, name, when_full)

    if fails == "model":
        fill(checkpoint_module, "save_quietly")
    elif fails == "tokenizer":
        fill(PreTrainedTokenizerFast, "save_pretrained")
    else:
        fill(checkpoint_module, "write_json")
    with pytest.raises(ReportError, match=r"cannot write .*File too large.* some .*space"):
        train(books_folder, output, tiny_recipe(), HELD_OUT, source="long " * 1000)
    written[0]()
    monkeypatch.undo()
    assert (output / "state.pt").exists()
    assert not (output / "training.json").exists()
    train(books_folder, output, tiny_recipe(), HELD_OUT, lambda *_: pytest.fail("trained again"))
    assert weights(output).keys() == weights(trained).keys()
    assert all(torch.equal(weights(output)[name], t) for name, t in weights(trained).items())
    assert {path.name for path in output.iterdir()} == {path.name for path in trained.iterdir()}


def test_a_mistake_in_the_code_is_not_taken_for_a_full_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(checkpoint_module, "save_quietly", lambda *_: [][0])
    with pytest.raises(IndexError):
        checkpoint_module.write_checkpoint(tmp_path, torch.nn.Linear(1, 1), None, {})


def test_an_output_that_cannot_be_a_folder_is_told(books_folder, tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(ReportError, match=r"cannot write '.*out/state\.pt' .*File exists"):
        train(books_folder, tmp_path / "out", tiny_recipe(), HELD_OUT)


def test_a_trained_model_is_not_overwritten(books_folder, trained):
    with pytest.raises(ReportError, match="already holds a trained model"):
        train(books_folder, trained, tiny_recipe(), HELD_OUT)


DIVERGING = {"adamw_learning_rate": 1e30, "muon_learning_rate": 1e30, "warmup_steps": 0}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (DIVERGING, r"the loss of step \d+ is (nan|inf).*has diverged"),
        ({"vocab_size": 4096}, r"too little text: .* vocabulary of \d+ tokens.* 4096"),
        ({"hidden_size": 15}, "hidden_size 15 cannot be shared by 2 heads"),
        ({"longest_span": 16}, "do not fit twice into the 31 tokens"),
        ({"shortest_span": 9}, "spans of 9 to 8 tokens"),
        ({"steps": 0}, "0 steps"),
    ],
)
def test_a_recipe_that_cannot_be_followed_is_refused(books_folder, tmp_path, changes, reason):
    with pytest.raises(ReportError, match=reason):
        train(books_folder, tmp_path / "out", replace(tiny_recipe(), **changes), HELD_OUT)
    assert not (tmp_path / "out" / "training.json").exists()


@pytest.mark.parametrize(("short", "named"), [("a", "the held-out"), ("b", "the training")])
def test_books_shorter_than_a_sequence_are_refused(tmp_path, short, named):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("mill" if name == short else "old mill " * 200)
    with pytest.raises(ReportError, match=f"too little text: {named} book.* more than 32"):
        train(tmp_path, tmp_path / "out", tiny_recipe(vocab_size=258), "a")
