"""Frozen datasets: measured once, committed, and published where nothing can be measured.

They lie in a project's `frozen/<article>/<key>/`, the same files as below `site_src/datasets`.
"""

import shutil

from report import store
from report.errors import ReportError


def freeze(name, folders, project):
    """Copy the datasets of an article to where they can be committed; those of other keys go.

    name: of the article; folders: of its datasets, one a model
    returns: paths of the copies
    raises: ReportError if a file is not the one that was measured, or cannot be written
    """
    target = project.frozen / name
    copies = [copy_datasets(folder, target / folder.name) for folder in folders]
    for path in target.iterdir():
        if path not in copies:
            shutil.rmtree(path, ignore_errors=True)
    return copies


def copy_datasets(folder, target):
    """Copy a folder of datasets, whole or not at all; an equal one is left untouched.

    returns: `target`
    raises: ReportError if a file is missing or not the one that was measured
    """
    manifest = folder / "manifest.json"
    names = ["manifest.json", *require_measured(folder)]
    if (target / "manifest.json").is_file():
        same = (target / "manifest.json").read_bytes() == manifest.read_bytes()
        if same and not problems(target, store.read(manifest)):
            return target
    with store.new_folder(target) as temporary:
        for name in names:
            store.write_bytes(temporary / name, (folder / name).read_bytes())
    return target


def measured_with(folder):
    """When, where and with which libraries datasets were measured, in a phrase."""
    manifest = store.read(folder / "manifest.json")
    versions = {"Python": manifest["versions"]["python"]} | manifest["determined_by"]["libraries"]
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"measured on {manifest['date']} with {listed}"


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
        elif store.sha256(path) != facts["sha256"]:
            found.append(f"{name} is not the file that was measured")
    return found
