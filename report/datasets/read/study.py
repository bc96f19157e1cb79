"""The datasets of one article, whatever its kind."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Protocol

from report.datasets import store
from report.datasets.read.model import ModelData
from report.measures import made, own_measures


class StudyData(Protocol):
    """What was measured for one article."""

    kind: str
    """Name of a folder of `report.kinds`."""
    models: list[ModelData]
    """One a model."""
    address: str
    """Of its files below datasets/<article>/: a folder with a slash at the end, or ""."""
    # Where something is measured apart also `apart`, its datasets, and `with_apart(paths)`.


def open_study(
    paths: Sequence[Path],
    labels: Sequence[str | None] = (),
    apart: Sequence[Path] = (),
    noun: str | None = None,
    measures: Sequence[Path | str] = (),
) -> StudyData:
    """What was measured for one article.

    paths: folders of its datasets, one a model, as `report.measuring.run.datasets` names them
    labels: what the article calls its models; None: by their names
    apart: folders of what was measured apart, such as answers, one a model that has some
    noun: what an article about conditions calls what they add
    measures: files of the publication's own measures, which have their words
    raises: ReportError if a manifest is missing or damaged, or a measure is none
    """
    kind = store.read_manifest(paths[0])["kind"]
    more = [labels] if any(labels) else []
    data = import_module(f"report.kinds.{kind}.data").opened(paths, *more)
    data = replace(data, noun=noun) if noun else data
    data = data.with_apart(apart) if apart else data
    by_author = {each.name: made(each) for each in own_measures(measures)}
    for model in data.models if by_author else ():
        model.by_author = by_author
    return data
