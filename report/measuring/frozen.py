"""Frozen datasets: measured once, committed, and published where nothing can be measured.

They are in a project's `frozen/<article>/<key>/`, the same files as below `site_src/datasets`.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from report import files
from report.datasets import store
from report.datasets.verify.whole import problems, require_measured
from report.errors import ReportError
from report.project import Project


def freeze(name: str, folders: Iterable[Path], project: Project) -> list[Path]:
    """Copy datasets of an article into `frozen/`, and remove its older ones of their kind there.

    name: of the article; folders: of its datasets, one a model
    returns: folders of the copies
    raises: ReportError if a file is not the one that was measured, is a link, or cannot be written
    """
    copies = [
        copy_datasets(folder, files.inside(project.frozen, f"{name}/{folder.name}"))
        for folder in folders
    ]
    replaced = {None, *map(kind_of, copies)}
    for path in files.inside(project.frozen, name).iterdir():
        if path not in copies and kind_of(path) in replaced:
            shutil.rmtree(path, ignore_errors=True)
    return copies


def kind_of(folder: Path) -> str | None:
    """The kind of the datasets in a folder; None if its manifest cannot be read."""
    try:
        return store.read(folder / "manifest.json")["kind"]
    except ReportError:
        return None


def copy_datasets(folder: Path, target: Path) -> Path:
    """Copy a folder of datasets, whole or not at all; an equal one is left untouched.

    returns: `target`
    raises: ReportError if a file is missing, a link, elsewhere, or not the one that was measured
    """
    manifest = files.inside(folder, "manifest.json")
    names = ["manifest.json", *require_measured(folder)]
    if (target / "manifest.json").is_file():
        same = (target / "manifest.json").read_bytes() == manifest.read_bytes()
        if same and not problems(target, store.read(manifest)):
            return target
    with files.new_folder(target) as temporary:
        for name in names:
            content = files.inside(folder, name).read_bytes()
            files.write_bytes(files.inside(temporary, name), content)
    return target


def measured_with(folder: Path) -> str:
    """When, where and with which libraries datasets were measured, in a phrase."""
    manifest = store.read(folder / "manifest.json")
    versions = {"Python": manifest["versions"]["python"]} | manifest["determined_by"]["libraries"]
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"measured on {manifest['date']} with {listed}"
