"""Whether a folder of datasets is whole: no file missing, changed or added, and none elsewhere."""

from pathlib import Path

from report import files
from report.datasets import store
from report.errors import ReportError


def require_measured(folder: Path) -> list[str]:
    """The names of the datasets in a folder, in the manifest's order.

    raises: ReportError if a file is missing, changed or not listed in the manifest
    """
    manifest = store.read(folder / "manifest.json")
    wrong = problems(folder, manifest)
    if wrong:
        raise ReportError(
            f"{folder}: {wrong[0]}; restore the folder (git may have changed line ends or left "
            "pointers in place of files), or freeze it again."
        )
    return list(manifest["files"])


def damage(folder: Path) -> list[str]:
    """Files of a folder of datasets that are missing or changed, as phrases; added ones are not."""
    try:
        manifest = store.read(folder / "manifest.json")
    except ReportError:
        return ["manifest.json is damaged"]
    return _changed(folder, manifest)


def problems(folder: Path, manifest: dict) -> list[str]:
    """Files that are missing, changed or not listed in the manifest, as phrases."""
    paths = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    there = {path.relative_to(folder).as_posix() for path in paths}
    extra = sorted(there - {*manifest["files"], "manifest.json"})
    return _changed(folder, manifest) + [f"{name} is in no manifest" for name in extra]


def _changed(folder, manifest):
    changed = [] if store.is_whole(manifest) else ["manifest.json is not the one that was written"]
    for name, facts in manifest["files"].items():
        try:
            path = files.inside(folder, name)
        except ReportError as error:
            changed.append(str(error).rstrip("."))
            continue
        if not path.is_file():
            changed.append(f"{name} is missing")
        elif files.sha256(path) != facts["sha256"]:
            changed.append(f"{name} is not the file that was measured")
    return changed
