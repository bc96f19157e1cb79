"""Effects over generated sentences of one model: means, standard errors, how often it is right."""

import functools
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from report.datasets.formats.generated import FILE, decode
from report.datasets.read.model import ModelData
from report.errors import ReportError
from report.text import all_isolated


def opened(paths: Iterable[Path]) -> "list[GeneratedData]":
    """The data of folders, one a model."""
    return [GeneratedData(path) for path in paths]


def verify(data: "list[GeneratedData]") -> None:
    """ReportError if a table lacks rows or columns, or has an impossible number."""
    for one in data:
        one.require_tables()


class GeneratedData(ModelData):
    """What was measured over a set of generated sentences."""

    kind = "generated"

    @property
    def about(self) -> dict:
        """The manifest's "generated": set, seed, sentences, tokens, words, "ablated"."""
        return self.manifest["generated"]

    def require_tables(self) -> None:
        """Read all tables; ReportError if rows or columns are missing, or a number is none."""
        _ = self._tables

    @functools.cached_property
    def _tables(self):
        return self._decode(FILE, decode, self.about, self.layers, self.heads)

    @property
    def number(self) -> int:
        """How many sentences."""
        return self.about["sentences"]

    @property
    def ablations(self) -> list[str]:
        """ "zero", "mean" and "resample": what heads' contexts were replaced by."""
        return list(self.about["ablated"])

    def ablated(self, kind: str) -> int:
        """In how many of the sentences."""
        return self.about["ablated"][kind]

    def mean(self, measure: str) -> np.ndarray:
        """The mean over sentences of every head, float [layers, heads], in logits.

        measure: "direct", or a kind of ablation
        raises: ReportError for one that was not measured
        """
        return self._of_heads(measure, "")

    def error(self, measure: str) -> np.ndarray:
        """The standard error of `mean` over sentences, float [layers, heads]; raises the same."""
        return self._of_heads(measure, "_error")

    def _of_heads(self, measure, ending):
        known = ["direct", *self.ablations]
        if measure not in known:
            raise ReportError(f"{measure!r} was not measured; measured are: {', '.join(known)}.")
        return self._tables["heads"][f"{measure}{ending}"].reshape(self.layers, self.heads)

    @property
    def feed_forward(self) -> np.ndarray:
        """Mean direct effects of feed-forward layers, float [layers], in logits."""
        return self._tables["layers"]["feed_forward"]

    @property
    def logit(self) -> np.ndarray:
        """Of every sentence: the logit of the right answer less that of the other."""
        return self._tables["sentences"]["logit"]

    @property
    def right(self) -> np.ndarray:
        """bool [sentences], whether the right answer is likelier than the other."""
        return self.logit > 0

    @property
    def first(self) -> np.ndarray:
        """bool [sentences], whether the right answer is the most likely token of all."""
        return self._tables["sentences"]["first"] == 1

    @property
    def giver_first(self) -> np.ndarray:
        """bool [sentences], whether who gives is named first."""
        return self._tables["sentences"]["giver_first"] == 1

    @property
    def forms(self) -> np.ndarray:
        """int [sentences], which form each has."""
        return self._tables["sentences"]["form"]

    @property
    def texts(self) -> list[str]:
        """The sentences."""
        return all_isolated(self._tables["sentences"]["text"].tolist())
