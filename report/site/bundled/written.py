"""Where a bundle goes: which file, of which kind, and what it may replace."""

import zipfile
from pathlib import Path

from report.errors import ReportError, UsageError

MARK = "<!-- an article in one file, by attention-focus-plots bundle -->"
"""The second line of a bundle, by which it is known again; also the comment of a .zip."""


def ending(output: Path | None, size: int, limit: int) -> str:
    """ ".html" or ".zip": what `output` says, else what the size in bytes allows.

    raises: UsageError if it says .html and that would be too large, or something else
    """
    if output is None or output.is_dir():
        return ".html" if size <= limit else ".zip"
    if output.suffix not in (".html", ".zip"):
        raise UsageError(
            f"--output {output}: a bundle is one .html or a .zip; give a name that ends so, or a "
            "folder that is there."
        )
    if output.suffix == ".html" and size > limit:
        raise UsageError(
            f"--output {output}: one .html would take {size / 1e6:.1f} MB, and may take "
            f"{limit / 1e6:.1f} MB; give a name that ends in .zip."
        )
    return output.suffix


def target(output: Path | None, name: str, ending: str) -> Path:
    """The file of a bundle.

    raises: ReportError if something else than a bundle has its name
    """
    alone = output is not None and not output.is_dir()
    path = output if alone else (output or Path()) / f"{name}{ending}"
    if (path.exists() or path.is_symlink()) and not _is_bundle(path):
        raise ReportError(
            f"{path}: is there already and is no bundle, so it is not replaced; move it away, or "
            "give another file with --output."
        )
    return path


def _is_bundle(path):
    """Whether a file was written by this command."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            if MARK.encode() in file.read(1000):
                return True
        with zipfile.ZipFile(path) as archive:
            return archive.comment == MARK.encode()
    except (OSError, zipfile.BadZipFile):
        return False
