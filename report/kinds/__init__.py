"""The kinds of article: what each is measured on, how, and into which datasets.

A kind is a folder:

    question.py  what its front matter may say, and what is known of it before: a `Question`
    measure.py   what is read, measured and written, as `measuring.kind.RunKind` or `CorpusKind`;
                 `measure` and `measure_batch` alone may need torch, and import it when called
    data.py      reads its datasets lazily, for figures and templates; `opened(paths, labels)`
                 returns what `datasets.read.study.StudyData` describes, `verify(data)`, if it is
                 there, refuses what does not fit together
    findings.py  what articles may say about their numbers: `context(data)`, a dict of name to
                 object, and `NAMES`, the class of each, "data" among them, which tells a figure's
                 kind by it; what a sentence quotes is computed here from the datasets, never typed
                 into a template
    manifest.json
                 the fields that its manifests have besides (what `measure` and `write` give), as
                 a JSON schema: {NAME: {"required": [...], "properties": {...}}}; never left out
    release.py   where there is one, `release(data)`: files that its page offers to other programs
    page.md.j2   its page: fills the blocks of `templates/_article.md.j2`, `measured` (on what) and
                 `again` (the same with something else) at least, and says `another` what
    new.md.j2    an article that builds as it is, with a figure, which `new --kind` writes
    FORM-1.json  the schema "FORM/1" of a dataset that is no "table/1" and the like, if there is one

What an article may ask besides, and takes so long that it is measured apart and frozen, is a
`Question.apart` of its kind: `measure_NAME.py` measures it, and `NAME.py` reads its datasets, as
`measure.py` and `data.py` do those of the kind: conditions/ has answers, prediction/ generated.

passage/live.py has its datasets in memory, for notebooks.

`models/measure/` or `effects/` runs a model for it, `measurements/` computes, `datasets/formats/`
has the JSON.
"""

from __future__ import annotations

import functools
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from report.kinds.question import Question


def folders_of_kinds() -> list[Path]:
    """Folders that hold folders of kinds: this one, and what was put on this package's path."""
    return [Path(folder) for folder in __path__]


def file_of(kind: str, name: str) -> Path | None:
    """A file in the folder of a kind, by its name; None if there is none."""
    paths = (folder / kind / name for folder in folders_of_kinds())
    return next((path for path in paths if path.is_file()), None)


@functools.cache
def questions() -> dict[str, Question]:
    """What every kind of article declares, by its name: the folders that have a question."""
    paths = [path for folder in folders_of_kinds() for path in folder.glob("*/question.py")]
    names = {path.parent.name for path in paths}
    each = {name: import_module(f"report.kinds.{name}.question").QUESTION for name in names}
    return dict(sorted(each.items(), key=lambda item: (item[1].place, item[0])))


def owner(name: str) -> str:
    """The kind of article that something measured apart belongs to; of a kind, that kind."""
    return next((kind for kind, each in questions().items() if name in each.apart), name)


def measured_by(name: str) -> tuple[str, str]:
    """Folder and module that measure a kind, or something apart: conditions, measure_answers."""
    kind = owner(name)
    return kind, "measure" if kind == name else f"measure_{name}"
