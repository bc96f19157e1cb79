"""The files of the folder of a kind, by its name: how it is measured, what prose may say of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from report.kinds import file_of, measured_by, owner

if TYPE_CHECKING:
    from report.datasets.read.model import ModelData
    from report.datasets.read.study import StudyData
    from report.measuring.kind import CorpusKind, RunKind


def kind(name: str) -> RunKind | CorpusKind:
    """The module that measures a kind, or something apart, by `FrontMatter.kind`."""
    kind, module = measured_by(name)
    return import_module(f"report.kinds.{kind}.{module}")


def findings(data: StudyData) -> dict[str, object]:
    """What the template of an article may use, by name."""
    return import_module(f"report.kinds.{data.kind}.findings").context(data)


def verify(name: str, path: Path) -> None:
    """Verify that datasets fit together, where what reads them has a `verify`.

    name: of a kind, or of something measured apart; path: the folder of the datasets of one model
    raises: ReportError if they do not
    """
    kind = owner(name)
    module = import_module(f"report.kinds.{kind}.{'data' if kind == name else name}")
    if hasattr(module, "verify"):
        module.verify(module.opened([path]))


def release(data: StudyData) -> dict[str, str | dict]:
    """What a kind publishes of its datasets for others, by file name: a text, or a dataset; {} of a
    kind that has no `release.py`."""
    if file_of(data.kind, "release.py") is None:
        return {}
    return dict(import_module(f"report.kinds.{data.kind}.release").release(data))


def one_head(data: StudyData) -> Sequence[str]:
    """Of a kind that tells heads apart, its figures of one head, in the order in which the page of
    a head has them; none of other kinds, whose heads have no page."""
    if file_of(data.kind, "release.py") is None:
        return ()
    return import_module(f"report.kinds.{data.kind}.release").ONE_HEAD


def heads_known(data: StudyData) -> Iterable[tuple[ModelData, list[list[str]]]]:
    """Of a kind that tells heads apart, each model of an article, and by layer and head the line
    about a head that other articles show; none of other kinds."""
    if file_of(data.kind, "release.py") is None:
        return ()
    return import_module(f"report.kinds.{data.kind}.release").heads(data)


def questions(data: StudyData) -> tuple[str, int, dict[str, str]]:
    """Of a kind that tells heads apart, its figure with a field that finds them, the number of
    heads, and states of the figure that answer a question -> what such heads do; else empty."""
    if file_of(data.kind, "release.py") is None:
        return "", 0, {}
    module = import_module(f"report.kinds.{data.kind}.release")
    return module.WITH_FIELD, *module.questions(data)


def finding_names(kind: str) -> dict[str, type | None]:
    """What the template of an article of a kind may use: name -> class; None if it may be several.

    It is known before anything is measured.
    """
    return import_module(f"report.kinds.{kind}.findings").NAMES
