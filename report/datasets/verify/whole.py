"""Whether a folder of datasets is as it was measured: no file missing, changed or added."""

from report import files
from report.datasets import store
from report.errors import ReportError


def require_measured(folder):
    """The names of the datasets in a folder, in the manifest's order.

    raises: ReportError if one is not the file that the manifest tells of
    """
    manifest = store.read(folder / "manifest.json")
    found = problems(folder, manifest)
    if found:
        raise ReportError(
            f"{folder}: {found[0]}; restore the folder (git may have changed line ends or left "
            "pointers in place of files), or freeze it again."
        )
    return list(manifest["files"])


def damage(folder):
    """What of a folder of datasets is not as it was measured: list of phrases."""
    try:
        manifest = store.read(folder / "manifest.json")
    except ReportError:
        return ["manifest.json is damaged"]
    return _changed(folder, manifest)


def problems(folder, manifest):
    """Files that are missing, changed, or not the manifest's: list of phrases."""
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    extra = sorted(there - {*manifest["files"], "manifest.json"})
    return _changed(folder, manifest) + [f"{name} is in no manifest" for name in extra]


def _changed(folder, manifest):
    found = [] if store.is_whole(manifest) else ["manifest.json is not the one that was written"]
    for name, facts in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            found.append(f"{name} is missing")
        elif files.sha256(path) != facts["sha256"]:
            found.append(f"{name} is not the file that was measured")
    return found
