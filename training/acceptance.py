"""Has the model learnt what the articles talk about? Four numbers, and a verdict on each.

1. the validation loss, next to that of a trigram model trained on the same tokens
2. the head whose largest target is most often the first token
3. the head whose largest target is most often the previous token
4. the head that best finds the token after an earlier occurrence (induction)

The first needs the books, which are not part of the repository; the head numbers are also measured
on the corpus that is, so that they can be reproduced without the books. Beside them, and with no
verdict, stands the loss on generated prompts: whether a model knows the kind of text that is asked
of it in a study of prompts.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from report.errors import ReportError
from report.inputs.passages import corpus
from report.models.find.names import model_folder
from report.models.load.load import load_model
from report.models.measure.loss import text_loss
from report.models.measure.passage import measure_corpus
from report.models.measure.repetition import repetition
from report.models.text.tokens import encode
from training.books import Book, read_books
from training.checkpoint import write_json
from training.problems import prompt
from training.trigram import trigram_loss
from training.verdict import require_held_out

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

LIMITS = {"below_trigram": 0.5, "first_token": 0.5, "previous_token": 0.8, "induction": 0.3}
"""Nats per token below the trigram model; fraction of tokens, twice; mean probability."""
PROMPTS = 32
PROMPTS_SEED = 7_777_777
"""Training draws from its recipe's seed and the step."""


def acceptance(
    model: str | Path, texts: str | Path | None = None, progress: Callable[..., None] | None = None
) -> dict[str, Any]:
    """The numbers of the acceptance test, as the dict that `acceptance.json` holds.

    model: folder written by `train`, with its training.json; or an embedded model's name
    texts: folder of the books it was trained on; None leaves the part "held_out" as it was recorded
        for the same weights, or None if it never was
    progress: called as progress(step, total, text) after every text measured
    raises: ReportError if the folder is no trained model, or the books are not those it was trained
        on
    """
    folder = model_folder(model)
    facts = read_facts(folder)
    books = matching_books(facts, texts) if texts else None
    loaded = load_model(folder)
    weights = loaded.weights_sha256
    return {
        "weights_sha256": weights,
        "limits": LIMITS,
        "corpus": corpus_part(loaded, progress),
        "induction": induction_part(loaded, progress),
        "prompts": prompts_part(loaded, facts["recipe"]["context"], progress),
        "held_out": held_out_part(loaded, facts, *books, progress)
        if books
        else recorded_held_out(folder, weights),
    }


def read_facts(folder: Path) -> dict[str, Any]:
    """The training.json of a model folder, as a dict; raises ReportError if there is none."""
    if not (folder / "training.json").is_file():
        raise ReportError(
            f"'{folder}' has no training.json; name an embedded model, or a folder that the "
            "training wrote"
        )
    return json.loads((folder / "training.json").read_text(encoding="utf-8"))


def recorded_held_out(folder: Path, weights: str) -> dict[str, Any] | None:
    """The part "held_out" of an acceptance.json, if it was measured on the same weights."""
    path = folder / "acceptance.json"
    if not path.is_file():
        return None
    recorded = json.loads(path.read_text(encoding="utf-8"))
    return recorded["held_out"] if recorded["weights_sha256"] == weights else None


def matching_books(facts: dict[str, Any], texts: str | Path) -> tuple[list[Book], Book]:
    """The training books (list of Book) and the held-out Book, byte for byte as trained on.

    raises: ReportError naming the books that are missing or of another edition
    """
    present = {book.sha256: book for book in read_books(texts)}
    wanted = [*facts["books"], facts["held_out"]]
    missing = [book["file"] for book in wanted if book["sha256"] not in present]
    if missing:
        raise ReportError(
            f"'{texts}' lacks, or has in another edition: {', '.join(missing)}; name the folder "
            "the model was trained on"
        )
    *training, held_out = (present[book["sha256"]] for book in wanted)
    return training, held_out


def held_out_part(
    loaded: "LoadedModel",
    facts: dict[str, Any],
    training: list[Book],
    held_out: Book,
    progress: Callable[..., None] | None,
) -> dict[str, Any]:
    """Losses and head numbers on the held-out book, cut into windows that do not overlap.

    Every window is the beginning-of-text token and the next context - 1 tokens of the book, the
    last window is what remains. So the loss is the mean over every token of the book, each
    predicted once, from its own window alone.
    """
    begin_id = loaded.tokenizer.bos_token_id
    tokens = book_tokens(loaded, held_out)
    context = facts["recipe"]["context"]
    windows = [
        np.concatenate([[begin_id], tokens[start : start + context - 1]])
        for start in range(0, len(tokens), context - 1)
    ]
    counted = [book_tokens(loaded, book) for book in training]
    loss = sum(text_loss(loaded.model, window) for window in windows) / len(tokens)
    return {
        "file": held_out.file,
        "tokens": len(tokens),
        "windows": len(windows),
        "validation_loss": round(loss, 4),
        "trigram_loss": round(
            trigram_loss(counted, tokens, facts["recipe"]["vocab_size"], begin_id), 4
        ),
        **head_fractions(loaded, windows, progress, "held-out book"),
    }


def book_tokens(loaded: "LoadedModel", book: Book) -> np.ndarray:
    """int64 [tokens] of a book, without the beginning-of-text token."""
    return np.array(
        loaded.tokenizer.backend_tokenizer.encode(book.text, add_special_tokens=False).ids, int
    )


def corpus_part(loaded: "LoadedModel", progress: Callable[..., None] | None) -> dict[str, Any]:
    """The head numbers on the corpus that ships with the project, each text read by itself."""
    texts = [encode(loaded, text.text) for text in corpus()]
    return {
        "texts": len(texts),
        "tokens": sum(map(len, texts)),
        **head_fractions(loaded, texts, progress, "corpus"),
    }


def head_fractions(
    loaded: "LoadedModel",
    texts: Iterable[Iterable[int]],
    progress: Callable[..., None] | None,
    name: str,
) -> dict[str, Any]:
    """The heads whose largest target is most often the first and the previous token.

    texts: list of token ids each; the fractions are over all their tokens but each text's first
    """
    ids = [list(map(int, text)) for text in texts]
    statistics = measure_corpus(loaded, ids, lambda *n: progress(*n, name) if progress else None)
    return {
        "first_token": strongest(statistics.mean("first_token")),
        "previous_token": strongest(statistics.mean("previous_token")),
    }


def strongest(values: np.ndarray) -> dict[str, float]:
    """The largest of float [layers, heads] with its address: {"value", "layer", "head"}."""
    layer, head = np.unravel_index(np.argmax(values), values.shape)
    return {"value": round(float(values[layer, head]), 4), "layer": int(layer), "head": int(head)}


def induction_part(loaded: "LoadedModel", progress: Callable[..., None] | None) -> dict[str, Any]:
    """The best induction head on random tokens repeated once, the mean over several draws."""
    repeated = repetition(loaded, lambda *n: progress(*n, "induction") if progress else None)
    score = strongest(repeated.induction.mean(0))
    return {"length": repeated.length, "sequences": repeated.sequences, **score}


def prompts_part(
    loaded: "LoadedModel", context: int, progress: Callable[..., None] | None = None
) -> dict[str, Any]:
    """The loss on prompts with word problems, made as for training but drawn anew.

    context: tokens read of each prompt, the beginning-of-text token included
    returns: dict: "prompts", "tokens" (how many were predicted), "loss" (nats per token)
    """
    rng = np.random.default_rng(PROMPTS_SEED)
    tokens = loss = 0
    for step in range(PROMPTS):
        text = np.array(loaded.tokenizer(prompt(rng)).input_ids[:context])
        loss += text_loss(loaded.model, text)
        tokens += len(text) - 1
        if progress:
            progress(step + 1, PROMPTS, "prompts")
    return {"prompts": PROMPTS, "tokens": tokens, "loss": round(loss / tokens, 4)}


def write_acceptance(model: str | Path, result: dict[str, Any]) -> None:
    """Write `acceptance.json` beside the model, named or a folder as for `acceptance`.

    raises: ReportError if the held-out book was never measured (the card needs it), or the disk
        does not take the file; nothing is written then
    """
    require_held_out(result)
    write_json(model_folder(model) / "acceptance.json", result)
