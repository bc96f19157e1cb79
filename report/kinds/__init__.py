"""The kinds of article: what each is measured on, how, and into which datasets.

A kind is a folder:

    question.py  what its front matter may say, and what is known of it before: a `Question`
    measure.py   what is read, measured and written, as `measuring.kind.RunKind` or `CorpusKind`;
                 `measure` and `measure_batch` alone may need torch, and import it when called
    data.py      reads its datasets lazily, for figures and templates; `opened(paths, labels)`
                 returns what `datasets.read.study.StudyData` describes, `verify(data)`, if it is
                 there, refuses what does not fit together
    findings.py  what articles may say about their numbers: `context(data)`, a dict of name to
                 object, and `NAMES`, the class of each; what a sentence quotes is computed here
                 from the datasets, never typed into a template

    passage/, conditions/, table/, sweep/, prediction/    the kinds of article
    answers/, generated/    what an article of conditions or of a prediction may ask besides; it
                            takes long, so it is measured apart and frozen

`models/measure/` or `effects/` runs a model for it, `measurements/` computes, `datasets/formats/`
has the JSON. CONTRIBUTING.md lists all that a new kind needs.
"""

import functools
from importlib import import_module
from pathlib import Path

from report.kinds.question import Question

FOLDER = Path(__file__).parent


@functools.cache
def questions() -> dict[str, Question]:
    """What every kind of article declares, by its name: the folders that have a question."""
    names = [path.parent.name for path in FOLDER.glob("*/question.py")]
    found = {name: import_module(f"report.kinds.{name}.question").QUESTION for name in names}
    return dict(sorted(found.items(), key=lambda item: item[1].place))
