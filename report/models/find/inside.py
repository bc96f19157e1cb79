"""Of a model in a folder, nothing is read that lies elsewhere on this machine, or has no end."""

from pathlib import Path

from report.errors import ReportError

DEEPER = ("additional_chat_templates/*", "[!.]*/**/*.py")
"""What is read from folders inside a checkpoint's, besides what lies in it."""


SETTINGS = {".json", ".jinja", ".model", ".py", ".tiktoken", ".txt"}
"""Endings of the files that are read whole. Weights have bounds of their own."""
LARGEST = 100_000_000
"""Bytes of such a file; tokenizers have up to some 60 million, an index of weights 20."""


def require_inside(folder: Path) -> None:
    """Stop for a link that leads out of a model's folder, to a file or to another folder, and for
    a file beside the weights that no model has.

    folder: resolved Path. In the cache of Hugging Face tools, a folder of a commit has links to the
        files of its repository, beside it; these may be followed.
    raises: ReportError naming the link or the file
    """
    root = _repository(folder)
    for pattern in ("*", *DEEPER):
        for path in sorted(folder.glob(pattern)):
            if path.is_symlink() and not _leads_into(path, root):
                raise ReportError(
                    f"model folder '{folder.name}': {path.relative_to(folder)} is a link that "
                    "leads out of the folder, and what lies elsewhere is not read; copy the file "
                    "into the folder"
                )
            if path.is_file():
                require_readable(path.relative_to(folder), path.stat().st_size, folder.name)


def require_readable(file: Path, size: int, model: str) -> None:
    """Stop for settings or a tokenizer that would take all time and memory to read.

    file: its path in the model's folder; size: in bytes
    raises: ReportError naming the file
    """
    if file.suffix in SETTINGS and size > LARGEST:
        raise ReportError(
            f"model '{model}': {file} has {size / 1e6:,.0f} MB, allowed is {LARGEST / 1e6:.0f}, "
            "several times what the largest models have; copy the whole folder again"
        )


def _repository(folder):
    """The folder that links may lead into: the model's own, or its repository's in the cache."""
    repository = folder.parent.parent
    in_cache = folder.parent.name == "snapshots" and repository.name.startswith("models--")
    return repository if in_cache and (repository / "blobs").is_dir() else folder


def _leads_into(path, root):
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # links in a circle
        return False
