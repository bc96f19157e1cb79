"""What measuring asks of a kind of article, and gives it: `measure.py` of its folder fits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

if TYPE_CHECKING:
    from report.datasets.write.folder import Folder, Step
    from report.measurements.tally import Tally
    from report.measuring.kept import Text
    from report.models.load.load import LoadedModel
    from report.study.front_matter import FrontMatter

SOMEWHERE = "path/to"
"""Stands in a command for the folders of a model or passage of the reader's own."""

Progress = Callable[[str, int, int], object]
"""Called with what is being done, how much is done, and how much there is."""

Announce = Callable[[str], object]
"""Called with a sentence for the reader, e.g. about what will be read."""


@dataclass(frozen=True)
class Piece:
    """Some of the work of a `Task`."""

    batch: int | None
    """Number of the batch that its texts are of, from 0; None without texts."""
    texts: tuple[Text, ...] = ()
    per_model: bool = False
    """Whether it also measures what is measured once a model, such as the passage."""

    def __str__(self) -> str:
        if not self.texts:
            return "what is measured once a model"
        first, last = self.texts[0][0], self.texts[-1][0]
        return f"text {first}" if first == last else f"texts {first} to {last}"

    def with_texts(self, texts: tuple[Text, ...]) -> Piece:
        """The piece with only these of its texts."""
        return replace(self, texts=texts)

    def halves(self) -> list[Piece]:
        """Two pieces with half of the texts each."""
        middle = len(self.texts) // 2
        return [self.with_texts(part) for part in (self.texts[:middle], self.texts[middle:])]


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
    as `inputs.corpora.Corpus` has them, and a `sha256` of all. A kind may set AT_ONCE, the most
    texts of a piece, and NOT_IN_SUMS, parts of the key that may change while the sums over texts
    stay right.
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
        """The sums over texts, from the dataset they were kept in."""

    def joined(self, inputs: Any, own: Any, tally: Tally) -> tuple[Any, dict]:
        """What `write` takes, and entries of the manifest.

        own: the per-model part; tally: the sums over all texts
        raises: ReportError if no text was measured
        """


def has_corpus(kind: RunKind | CorpusKind) -> TypeGuard[CorpusKind]:
    """Whether articles of a kind read a corpus, whose texts may be measured apart."""
    return hasattr(kind, "measure_batch")
