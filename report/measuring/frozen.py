"""Frozen datasets: measured once, committed, and published where nothing can be measured.

They are in a project's `frozen/<article>/<key>/`, the same files as below `site_src/datasets`.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from report import files
from report.datasets import store
from report.datasets.whole import problems, require_measured
from report.errors import ReportError
from report.project import Project


def freeze(name: str, folders: Iterable[Path], project: Project) -> list[Path]:
    """Copy datasets of an article into `frozen/`, and remove its older ones of the same kinds.

    Its datasets of other kinds stay, and so do those of other articles.
    name: of the article; folders: of its datasets, one a model
    returns: folders of the copies
    raises: ReportError if a file is not the one that was measured, is a link, or cannot be written;
        or if datasets that would be removed lie beside files that no measurement wrote
    """
    where = files.inside(project.frozen, name)
    copies = {where / folder.name: folder for folder in folders}
    replaced = set(map(kind_of, folders))
    older = [path for path in where.glob("*") if path not in copies and kind_of(path) in replaced]
    for path in (*older, *copies):  # before anything changes
        store.require_datasets(files.inside(where, path.name))
    for path, folder in copies.items():
        copy_datasets(folder, path)
    for path in older:
        shutil.rmtree(path, ignore_errors=True)
    return list(copies)


def kind_of(folder: Path) -> str | None:
    """The kind of the datasets in a folder; None if it holds none, or a damaged manifest."""
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
    store.require_datasets(target)
    with files.new_folder(target) as temporary:
        for name in names:
            content = files.read_bytes(files.inside(folder, name))
            files.write_bytes(files.inside(temporary, name), content)
    return target


def measured_with(folder: Path) -> str:
    """A phrase: the day on which datasets were measured, and the versions of Python and libraries.

    raises: ReportError if there is no sound manifest
    """
    manifest = store.read(folder / "manifest.json")
    versions = {"Python": manifest["versions"]["python"]} | manifest["determined_by"]["libraries"]
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"measured on {manifest['date']} with {listed}"
