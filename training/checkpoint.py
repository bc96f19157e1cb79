"""Writes a trained model as the folder that ships: weights, config, tokenizer and the facts."""

import copy
import json
import os
import platform
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy
import tokenizers
import torch
import transformers
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

from report import files
from report.errors import ReportError
from training.books import Book
from training.recipe import Recipe


def write_checkpoint(
    folder: str | Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    facts: dict[str, Any],
) -> None:
    """Write config.json, model.safetensors (bfloat16), the tokenizer files and training.json.

    model: transformers model in any precision; it is not changed
    facts: the contents of training.json, as `train` returns them; written last, so that a folder
        with this file is complete
    raises: ReportError if the disk does not take it; the state of the run is left alone
    """
    folder = Path(folder)
    try:
        write_model(folder, model, tokenizer)
    except Exception as error:
        if not refused_by_disk(error):
            raise
        raise ReportError(
            f"cannot write the model to '{folder}' ({error}); free some space and give the same "
            "command again, it takes up the finished run"
        ) from error
    write_json(folder / "training.json", facts)


def write_model(folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Write everything that transformers reads; the errors are those of its libraries."""
    folder.mkdir(parents=True, exist_ok=True)
    rounded = copy.deepcopy(model).to(torch.bfloat16)
    save_quietly(rounded, folder)
    tokenizer.save_pretrained(folder)
    # safetensors writes files that only their owner can read.
    (folder / "model.safetensors").chmod(0o644)
    # Sampling defaults, of no use to a model that is only measured.
    (folder / "generation_config.json").unlink(missing_ok=True)


def refused_by_disk(error: Exception) -> bool:
    """Whether an exception is that of a disk that is full or may not be written, bool.

    safetensors and tokenizers are written in Rust: they raise classes of their own, or a bare
    `Exception`, whose text ends as in "No space left on device (os error 28)".
    """
    return isinstance(error, OSError) or "(os error " in str(error)


def save_quietly(model: PreTrainedModel, folder: Path) -> None:
    """`save_pretrained` without its progress bar, which would break into that of the training."""
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model.save_pretrained(folder)
    finally:
        if bars:
            logging.enable_progress_bar()


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` as indented JSON with sorted keys, whole or not at all.

    raises: ReportError if the disk does not take it
    """
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    files.write_text(path, text + "\n")


def book_facts(books: list[Book], book_tokens: list[int], held_out: int) -> dict[str, Any]:
    """Which text a model was trained on, as a dict without any path of this machine.

    books: list of Book, the held-out one included; held_out: its index
    book_tokens: int per book, its length in tokens without the beginning-of-text token
    """
    described = [
        {
            "file": book.file,
            "author": book.author,
            "title": book.title,
            "sha256": book.sha256,
            "tokens": int(tokens),
        }
        for book, tokens in zip(books, book_tokens, strict=True)
    ]
    trained = [book for index, book in enumerate(described) if index != held_out]
    return {
        "books": trained,
        "held_out": described[held_out],
        "training_tokens": sum(book["tokens"] for book in trained),
    }


def run_facts(
    recipe: Recipe, steps: int, seconds: float, train_loss: float | None
) -> dict[str, Any]:
    """How long and on what a run was trained, as a dict.

    recipe: the Recipe; steps: how many of its steps have been done
    seconds: time spent in training steps
    train_loss: mean over the last 100 steps, nats per token; None before the first
    """
    return {
        "recipe": asdict(recipe),
        "steps": steps,
        "tokens_seen": steps * recipe.batch * recipe.context,
        "minutes": round(seconds / 60, 1),
        "train_loss": None if train_loss is None else round(float(train_loss), 4),
        "hardware": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
        },
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
            "numpy": numpy.__version__,
        },
    }


def processor() -> str:
    """The processor's name as the system tells it, or its architecture."""
    try:
        listed = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # not Linux
        listed = ""
    named = re.search(r"^model name\s*:\s*(.+)$", listed, re.MULTILINE)
    return named[1].strip() if named else platform.processor() or platform.machine()
