"""Of a model in a folder, nothing is read that lies elsewhere on this machine."""

from pathlib import Path

from report.errors import ReportError

DEEPER = ("additional_chat_templates/*", "[!.]*/**/*.py")
"""What is read from folders inside a checkpoint's, besides what lies in it."""


def require_inside(folder: Path) -> None:
    """Stop for a link that leads out of a model's folder, to a file or to another folder.

    folder: resolved Path. In the cache of Hugging Face tools, a folder of a commit has links to the
        files of its repository, beside it; these may be followed.
    raises: ReportError naming the link
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
