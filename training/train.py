"""Trains an embedded model: a folder of `.txt` files in, a model folder out.

A run may be interrupted at any time: every `CHECKPOINT_EVERY` steps its whole state is written to
`state.pt` in the output folder, and the same call takes it up there, with the same result as an
uninterrupted run. Else only finished models are written: the last one, and those of the steps that
are asked for.
"""

import hashlib
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from report.errors import ReportError
from report.files import new_folder, remove_leftovers
from training.books import Book, held_out_book, read_books
from training.checkpoint import book_facts, run_facts, write_checkpoint
from training.recipe import (
    Recipe,
    learning_rate_factor,
    optimizers,
    random_model,
    train_tokenizer,
)
from training.sequences import training_batch

CHECKPOINT_EVERY = 250
"""Steps between two saved states (about 4.5 minutes of the full recipe on two cores)."""
STEP_FOLDER = "step-{}"
"""Of a model that is kept on the way."""
LAST_STEPS = 100
"""The train loss is the mean over this many last steps."""


@dataclass
class Training:
    """Everything that a training carries from one step to the next."""

    model: torch.nn.Module
    optimizers: tuple[torch.optim.Optimizer, ...]
    step: int
    """Steps done."""
    seconds: float
    """Time spent in steps, interruptions left out."""
    losses: deque[float]
    """Cross entropy of the last `LAST_STEPS` steps, nats per token."""


def train(
    folder: str | Path,
    output: str | Path,
    recipe: Recipe,
    validation: str | None = None,
    progress: Callable[..., None] | None = None,
    source: str = "",
    keep: Collection[int] = (),
) -> dict[str, Any]:
    """Train the recipe on the books of `folder` and write the model to `output`.

    folder: folder of `.txt` files, one book each
    output: folder for the model; a `state.pt` in it is resumed, and removed at the end
    recipe: training.recipe.Recipe
    validation: part of the file name of the book to hold out; None: see `held_out_book`
    progress: called as progress(step, total, text) after every step
    source: a sentence about where the text is from and its licence, for the model card
    keep: steps after which the model is written to a folder of its own, `output`/step-<number>,
        with a training.json that says so; 0 is the untrained model
    returns: dict, the facts written to `training.json`
    raises: ReportError for books that cannot be used, an impossible recipe, a step to keep that
        there will not be, an output folder that holds a finished model or the state of another run,
        a loss that is no number, a full disk
    """
    check_recipe(recipe)
    check_kept(recipe, keep)
    books = read_books(folder)
    held_out = held_out_book(books, validation)
    output = Path(output)
    require_unfinished(output)
    remove_leftovers(output)
    tokenizer, tokens, corpus = tokenized(books, held_out, recipe)

    identity = run_identity(recipe, books, held_out)
    run = start_or_resume(output, recipe, tokenizer.bos_token_id, identity)
    about = {"source": source, **book_facts(books, [len(t) for t in tokens], held_out)}

    def facts():
        loss = np.mean(run.losses) if run.losses else None
        return about | run_facts(recipe, run.step, run.seconds, loss)

    def keep_model():
        if run.step in keep:
            with new_folder(output / STEP_FOLDER.format(run.step)) as temporary:
                write_checkpoint(temporary, run.model, tokenizer, facts())

    keep_model()
    while run.step < recipe.steps:
        train_step(run, corpus, recipe, tokenizer)
        keep_model()
        if progress:
            speed = recipe.batch * recipe.context * run.step / max(run.seconds, 1e-9)
            progress(run.step, recipe.steps, f"loss {run.losses[-1]:.3f}, {speed:,.0f} tokens/s")
        if run.step % CHECKPOINT_EVERY == 0 or run.step == recipe.steps:
            save_state(output, run, identity)
    final = facts()
    write_checkpoint(output, run.model, tokenizer, final)
    (output / "state.pt").unlink()
    return final


def require_unfinished(output: Path) -> None:
    """ReportError for a folder that holds a finished model; one with a `state.pt` is resumed."""
    if (output / "training.json").exists() and not (output / "state.pt").exists():
        raise ReportError(
            f"'{output}' already holds a trained model; name another folder, or delete this one"
        )


def tokenized(
    books: Sequence[Book], held_out: int, recipe: Recipe
) -> tuple[PreTrainedTokenizerBase, list[np.ndarray], np.ndarray]:
    """A tokenizer trained on all books but the one held out, and the books as its tokens.

    returns: (tokenizer, token ids of every book, those of the books that are trained on in a row)
    raises: ReportError if there is too little text for the recipe
    """
    training = [book for index, book in enumerate(books) if index != held_out]
    tokenizer = train_tokenizer([book.text for book in training], recipe.vocab_size)
    tokens = [encode(tokenizer, book.text) for book in books]
    corpus = np.concatenate([t for index, t in enumerate(tokens) if index != held_out])
    check_enough_text(recipe, len(tokenizer), len(corpus), len(tokens[held_out]))
    return tokenizer, tokens, corpus


def train_step(
    run: Training, corpus: np.ndarray, recipe: Recipe, tokenizer: PreTrainedTokenizerBase
) -> None:
    """One optimizer step on the batch of this step (changes `run`).

    corpus: int [tokens of the training books]; the loss is the mean cross entropy of every next
    token of the batch, the text after a beginning-of-text token as well as the repeated spans.
    raises: ReportError if the loss is NaN or infinite
    """
    started = time.perf_counter()
    to_tokens = partial(encode, tokenizer)
    # [batch, context]
    batch = training_batch(corpus, recipe, tokenizer.bos_token_id, run.step, to_tokens)
    factor = learning_rate_factor(run.step, recipe)
    peaks = (recipe.muon_learning_rate, recipe.adamw_learning_rate)
    for optimizer, peak in zip(run.optimizers, peaks, strict=True):
        for group in optimizer.param_groups:
            group["lr"] = peak * factor
    with torch.autocast("cpu", torch.bfloat16):
        hidden = run.model.base_model(batch, use_cache=False).last_hidden_state
        logits = run.model.lm_head(hidden[:, :-1])
    # The softmax over the vocabulary needs more digits than bfloat16 has.
    loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten())
    if not math.isfinite(loss.item()):
        raise ReportError(
            f"the loss of step {run.step} is {loss.item()}, the training has diverged; "
            "lower muon_learning_rate and adamw_learning_rate, and start in an empty folder"
        )
    loss.backward()
    torch.nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
    for optimizer in run.optimizers:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    run.step += 1
    run.losses.append(loss.item())
    run.seconds += time.perf_counter() - started


def encode(tokenizer: PreTrainedTokenizerBase, text: str) -> np.ndarray:
    """int64 [tokens] of a text, without the beginning-of-text token."""
    # The backend, because the wrapper warns about every text longer than a model's limit.
    return np.array(tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids, int)


def check_recipe(recipe: Recipe) -> None:
    """Raises ReportError if the numbers of the recipe contradict each other."""
    if recipe.steps < 1 or recipe.batch < 1:
        raise ReportError(
            f"{recipe.steps} steps of {recipe.batch} sequences; a run needs 1 of each"
        )
    shared = recipe.architecture == "falcon"  # the others name the size of a head
    if shared and recipe.hidden_size % recipe.num_attention_heads:
        raise ReportError(
            f"hidden_size {recipe.hidden_size} cannot be shared by {recipe.num_attention_heads} "
            "heads; choose a multiple"
        )
    if not 1 <= recipe.shortest_span <= recipe.longest_span <= (recipe.context - 1) // 2:
        raise ReportError(
            f"spans of {recipe.shortest_span} to {recipe.longest_span} tokens do not fit twice "
            f"into the {recipe.context - 1} tokens of a sequence; shorten them or raise context"
        )


def check_kept(recipe: Recipe, keep: Iterable[int]) -> None:
    """Raises ReportError for a step to keep that the recipe does not have."""
    for step in keep:
        if not 0 <= step <= recipe.steps:
            raise ReportError(f"step {step} cannot be kept, the steps go from 0 to {recipe.steps}")


def check_enough_text(recipe: Recipe, vocabulary: int, trained: int, held_out: int) -> None:
    """Raises ReportError if the training books, or the held-out one, are too short (in tokens)."""
    if vocabulary < recipe.vocab_size:
        raise ReportError(
            f"too little text: it yields a vocabulary of {vocabulary} tokens, the recipe wants "
            f"{recipe.vocab_size}; add books or lower vocab_size"
        )
    for tokens, name in ((trained, "the training books have"), (held_out, "the held-out book has")):
        if tokens <= recipe.context:
            raise ReportError(
                f"too little text: {name} {tokens} tokens, more than {recipe.context} are needed, "
                "the length of one sequence; add text"
            )


def run_identity(recipe: Recipe, books: list[Book], held_out: int) -> dict[str, Any]:
    """What must be equal for a state to be taken up again: the recipe and the books, as a dict."""
    texts = "".join(book.sha256 for book in books) + books[held_out].file
    return {"recipe": asdict(recipe), "books": hashlib.sha256(texts.encode()).hexdigest()}


def start_or_resume(
    output: Path, recipe: Recipe, begin_id: int, identity: dict[str, Any]
) -> Training:
    """A training at step 0 or, if `output` holds the state of the same one, where that stopped.

    raises: ReportError if the state there is unreadable or belongs to another recipe or other books
    """
    torch.manual_seed(recipe.seed)
    model = random_model(recipe, begin_id).train()
    run = Training(model, optimizers(model, recipe), 0, 0.0, deque(maxlen=LAST_STEPS))
    path = output / "state.pt"
    if not path.exists():
        return run
    try:
        state = torch.load(path, weights_only=True)
        saved = state["identity"]
    except Exception as error:
        raise ReportError(
            f"'{path}' is no training state ({type(error).__name__}); delete it to start anew"
        ) from None
    if saved != identity:
        raise ReportError(
            f"'{path}' belongs to another run ({difference(saved, identity)}); "
            "name another folder, or delete it to start anew"
        )
    run.model.load_state_dict(state["model"])
    for optimizer, values in zip(run.optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(values)
    torch.set_rng_state(state["random"])  # dropout, where the recipe has any
    run.step, run.seconds = state["step"], state["seconds"]
    run.losses.extend(state["losses"])
    return run


def difference(saved: dict[str, Any], wanted: dict[str, Any]) -> str:
    """In words, how two identities differ: "steps 5000 there, 4000 here", or "other books"."""
    changed = [
        f"{name} {saved['recipe'].get(name)} there, {value} here"
        for name, value in wanted["recipe"].items()
        if saved["recipe"].get(name) != value
    ]
    return "; ".join(changed) or "other books"


def save_state(output: Path, run: Training, identity: dict[str, Any]) -> None:
    """Write `state.pt`, whole or not at all; raises ReportError if the disk does not take it."""
    state = {
        "identity": identity,
        "model": run.model.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in run.optimizers],
        "random": torch.get_rng_state(),
        "step": run.step,
        "seconds": run.seconds,
        "losses": list(run.losses),
    }
    partial = output / "state.pt.partial"
    try:
        output.mkdir(parents=True, exist_ok=True)
        torch.save(state, partial)
        partial.replace(output / "state.pt")
    except (OSError, RuntimeError) as error:  # torch reports a full disk as a RuntimeError
        with suppress(OSError):
            partial.unlink()
        raise ReportError(
            f"cannot write '{output / 'state.pt'}' ({error}); free some space, the run resumes at "
            "its last state"
        ) from None
