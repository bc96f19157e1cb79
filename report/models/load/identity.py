"""What identifies a loaded model: the facts that its pages and datasets state."""

from pathlib import Path
from typing import Any

from torch import nn
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from report import files
from report.models.attention.structure import angles_follow_length, structure, text_config
from report.models.find.names import Source
from report.models.find.weights import NOT_TEXT
from report.models.gguf.architectures import architecture_of
from report.models.gguf.file import is_gguf, open_gguf
from report.models.load.tokenizing import asked
from report.models.partial.reader import stored_as, stored_dtype

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
)

CONTEXT_NAMES = ("max_position_embeddings", "max_seq_len")
"""What configs call the most tokens of a text. ALiBi models may state none: they have no limit."""

STEPS = {"training.json": "steps", "trainer_state.json": "global_step"}
"""Files beside a checkpoint -> the name under which they say after how many steps it was saved. The
first is written by this project's training, the second by transformers' Trainer."""

POSITION_EMBEDDINGS = ("wpe", "embed_positions", "position_embeddings", "positions_embed")
"""What models call the embedding of a token's absolute position."""


def identity(
    source: Source,
    folder: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
) -> dict[str, Any]:
    """The facts about a model that do not depend on how it is measured, as a dict for JSON.

    source: names.Source; folder: where the weights are; model, tokenizer: of transformers
    returns: dict, see `LoadedModel`; nothing in it is a path
    """
    config = text_config(model)
    beside = folder if source.base is None else source.folder
    packed = stored_as(folder)
    stored = {"stored_as": packed, "stored_dtype": stored_dtype(folder)}
    stored = {key: value for key, value in stored.items() if value is not None}
    if is_gguf(folder):
        stored["defaults"] = list(architecture_of(open_gguf(folder)).defaults)
    return (
        stored
        | called(source)
        | {
            "source": source.origin,
            "revision": source.revision,
            "family": model.config.model_type,
            "tokenizer_sha256": tokenizer_sha256(beside if tokenizer_files(beside) else folder),
            "dtype": str(model.dtype).removeprefix("torch."),
            "num_hidden_layers": config.num_hidden_layers,
            "num_attention_heads": structure(model)[0].heads,
            "hidden_size": config.hidden_size,
            "head_dim": head_dim(config),
            "vocabulary": vocabulary(model),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "context": context(model),
            "made_for": made_for(model),
            "training_step": training_step(beside),
            "special_tokens_added": special_tokens_added(tokenizer),
        }
    )


def called(source: Source) -> dict[str, str]:
    """The "name" of a model, which may be a label; then also the "own_name" by which others know
    it, if it has one."""
    known = source.label is not None and source.origin in ("embedded", "package", "hub")
    return {"name": source.title} | ({"own_name": source.name} if known else {})


def vocabulary(model: PreTrainedModel) -> int:
    """How many tokens a model has embeddings for."""
    try:
        return model.get_input_embeddings().weight.shape[0]
    except NotImplementedError:  # code of the checkpoint's own may not tell
        return text_config(model).vocab_size


def training_step(folder: Path) -> int | None:
    """After how many training steps a checkpoint was saved, int; None if no file beside it says."""
    for name, key in STEPS.items():
        try:
            stated = files.others_json((folder / name).read_text("utf-8"))
            step = stated.get(key)
        except (OSError, ValueError, AttributeError):
            continue
        # beside the best checkpoint of a training, the Trainer states its last step
        last = not stated.get("best_model_checkpoint") or folder.name == f"checkpoint-{step}"
        if type(step) is int and step >= 0 and last:
            return step
    return None


def head_dim(config: PretrainedConfig) -> int:
    """Length of a head's query: as the config says, in layer 0 where layers differ; else the hidden
    size shared out."""
    layers = getattr(config, "per_layer_config", None)
    config = layers[0] if layers else config
    for name in ("qk_head_dim", "head_dim"):
        if getattr(config, name, None):
            return getattr(config, name)
    return config.hidden_size // config.num_attention_heads


def context(model: PreTrainedModel) -> int | None:
    """The most tokens that a text may have, or None where positions do not end.

    Where positions are embedded, the rows of that embedding count: RoBERTa keeps the first rows for
    padding, OPT the first two, so RoBERTa's 514 rows are 512 tokens. What a config states counts
    unless positions are computed for any text, see `made_for`.
    """
    limits = [
        _usable_rows(module)
        for name, module in model.named_modules()
        if isinstance(module, nn.Embedding) and name.split(".")[-1] in POSITION_EMBEDDINGS
        if not NOT_TEXT.search(name)
    ]
    limits += [] if _endless(model) else _stated(model)
    return min(limits, default=None)


def made_for(model: PreTrainedModel) -> int | None:
    """How long the texts are that a model was made for, in tokens, as its config states, where
    longer ones can be read too; None elsewhere, and where it states nothing."""
    return min(_stated(model), default=None) if context(model) is None else None


def _stated(model):
    stated = [getattr(text_config(model), name, None) for name in CONTEXT_NAMES]
    return [number for number in stated if isinstance(number, int) and number > 0]


def _endless(model):
    """Whether positions are computed for any text, and for each token alike however long it is:
    ALiBi of Falcon, whose config states a limit all the same, or a rotation that does not depend on
    the length."""
    config = text_config(model)
    if getattr(config, "alibi", False) is True:
        return True
    rotates = any(
        name.rpartition(".")[2].endswith("inv_freq") and not NOT_TEXT.search(name)
        for name, _ in model.named_buffers()
    )
    return rotates and not angles_follow_length(model)


def _usable_rows(embedding):
    unused = getattr(embedding, "offset", 0)
    if embedding.padding_idx is not None:
        unused = max(unused, embedding.padding_idx + 1)
    return embedding.num_embeddings - unused


def tokenizer_sha256(folder: Path) -> str:
    """Checksum of what defines a model's tokenizer: files, or values of a GGUF file."""
    if is_gguf(folder):
        return open_gguf(folder).tokenizer_sha256()
    return files.sha256(*tokenizer_files(folder))


def tokenizer_files(folder: Path) -> list[Path]:
    """The files that define a folder's tokenizer: tokenizer.json alone where it is there, else
    those of an older kind; [] if there are none."""
    paths = [folder / name for name in TOKENIZER_FILES if (folder / name).is_file()]
    return paths[:1] if paths and paths[0].name == "tokenizer.json" else paths


def special_tokens_added(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """Texts of the special tokens that the tokenizer puts around every text."""
    with asked():
        encoded = tokenizer("a", return_special_tokens_mask=True, verbose=False)
        pairs = zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True)
        return tokenizer.convert_ids_to_tokens([number for number, special in pairs if special])
