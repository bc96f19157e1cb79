"""The kinds of article: what each is measured on, how, and into which datasets.

A kind is a folder:

    question.py  what its front matter may say, and what is known of it before: a `Question`
    measure.py   what is read, measured and written: the functions of `RunKind` or `CorpusKind`;
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

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from report.datasets.read.study import StudyData
    from report.datasets.write.folder import Folder, Step
    from report.kinds.question import Question
    from report.measurements.tally import Tally
    from report.measuring.pieces import Piece
    from report.models.load.load import LoadedModel
    from report.study.front_matter import FrontMatter

FOLDER = Path(__file__).parent

SOMEWHERE = "path/to"
"""Stands in a command for the folders of a model or passage of the reader's own."""

Progress = Callable[[str, int, int], object]
"""Called with what is being done, how much is done, and how much there is."""

Announce = Callable[[str], object]
"""Called with a sentence for the reader, e.g. about what will be read."""


class Kind(Protocol):
    """What every kind of article has. `inputs` is of a class of the kind's own."""

    def inputs(self, wanted: FrontMatter) -> Any:
        """What the front matter names, read and checked; ReportError if it cannot be read."""

    def parts(self, inputs: Any, before: dict | None = None) -> dict:
        """What the datasets depend on, for their key.

        before: the parts recorded with earlier datasets; they stand for inputs that are not on this
            machine
        """

    def words(self, inputs: Any) -> list[str]:
        """The options of a command that names the same inputs."""

    def write(self, files: Folder, measured: Any, progress: Step) -> dict | None:
        """Write the datasets, all but the manifest.

        progress: called with (done, total)
        returns: fields of the manifest that follow from them, if there are any
        raises: ReportError if a number is not finite, or a file cannot be written
        """


class RunKind(Kind, Protocol):
    """A kind that is measured in one run."""

    def measure(
        self, loaded: LoadedModel, inputs: Any, progress: Progress, announce: Announce
    ) -> tuple[Any, dict]:
        """(measured, facts): the first goes to `write`, the second into the manifest.

        raises: ReportError if it cannot be measured
        """


class CorpusKind(Kind, Protocol):
    """A kind that reads a corpus, whose texts may be measured in separate pieces; see `pieces`.

    The inputs have the texts as `corpus`: pairs of a number and a text, with `title` and `left_out`
    as `inputs.corpora.Corpus` has them. A kind may set AT_ONCE, the most texts of a piece, and
    NOT_IN_SUMS, parts of the key that may change while the sums of finished batches stay right.
    """

    def measure_batch(
        self,
        loaded: LoadedModel,
        inputs: Any,
        piece: Piece,
        progress: Progress,
        announce: Announce,
    ) -> tuple[Any, Tally]:
        """The per-model part, None if the piece has none, and the sums over the piece's texts.

        raises: ReportError if the per-model part cannot be measured; the tally says which texts
            failed
        """

    def tally_of(self, dataset: dict) -> Tally:
        """The sums over the texts of a finished batch, from the dataset they were kept in."""

    def joined(self, inputs: Any, own: Any, tally: Tally) -> tuple[Any, dict]:
        """What `write` takes, and entries of the manifest.

        own: the per-model part; tally: the sums over all texts
        raises: ReportError if no text was measured
        """


@functools.cache
def questions() -> dict[str, Question]:
    """What every kind of article declares, by its name: the folders that have a question."""
    names = [path.parent.name for path in FOLDER.glob("*/question.py")]
    found = {name: import_module(f"report.kinds.{name}.question").QUESTION for name in names}
    return dict(sorted(found.items(), key=lambda item: item[1].place))


def kind(name: str) -> RunKind | CorpusKind:
    """The module that measures a kind, by `FrontMatter.kind`."""
    return import_module(f"report.kinds.{name}.measure")


def findings(data: StudyData) -> dict[str, object]:
    """What the template of an article may use, by name."""
    return import_module(f"report.kinds.{data.kind}.findings").context(data)


def verify(kind: str, path: Path) -> None:
    """Verify that the datasets of an article fit together, where its `data.py` has a `verify`.

    path: the folder of the datasets of one model
    raises: ReportError if they do not
    """
    module = import_module(f"report.kinds.{kind}.data")
    if hasattr(module, "verify"):
        module.verify(module.opened([path]))


def finding_names(kind: str) -> dict[str, type | None]:
    """What the template of an article of a kind may use: name -> class; None if it may be several.

    It is known before anything is measured.
    """
    return import_module(f"report.kinds.{kind}.findings").NAMES
