"""The datasets of an article about a passage, read lazily: what its figures and templates see."""

import functools
import re
from dataclasses import dataclass

from report.datasets.formats import attention, columnar
from report.datasets.read.model import Measured
from report.errors import ReportError
from report.text import isolated


def opened(paths, labels=()):
    """`PassageData` of an article about one model, `PassageModels` of one that compares several.

    paths: folders, one a model; labels: what to call each, None: by its name
    """
    models = [PassageData(path) for path in paths]
    return models[0] if len(models) == 1 else PassageModels(models, labels)


@dataclass(frozen=True)
class Token:
    """One token of the passage."""

    index: int
    id: int
    text: str
    """Exact text, leading space included; U+FFFD where the bytes are not whole characters."""
    label: str
    """What to show for it: never empty, nothing invisible."""
    special: bool
    """True for a token that the tokenizer added, such as the beginning of text."""


class PassageData(Measured):
    """All datasets under one folder `site_src/datasets/<article>/<key>`."""

    kind = "passage"

    @property
    def models(self):
        """Its one model: itself."""
        return [self]

    @functools.cached_property
    def passage(self):
        """The passage/1 dataset: name, title, source, licence, language, tokens."""
        read = self._read("passage.json")
        return {
            key: isolated(each) if isinstance(each, str) else each for key, each in read.items()
        }

    @functools.cached_property
    def tokens(self):
        """list of `Token`, the passage in order."""
        return [
            Token(index, t["id"], t["text"], t.get("label", t["text"]), t.get("special", False))
            for index, t in enumerate(self.passage["tokens"])
        ]

    @property
    def length(self):
        """Tokens of the passage, T."""
        return len(self.tokens)

    @functools.cached_property
    def terms(self):
        """The terms that every score is the sum of: dict of name to what its values belong to.

        Names, in this order: content (always), bias, position, row_constant; or "score" alone, if
        the scores of a layer could not be split.
        Of position, "target_difference" is ALiBi and "cell" the rotation of RoPE; positions that
        are learned are inside content, as for models without any.
        """
        found = {}
        for layer in range(self.layers):  # some models have layers without positions
            found |= {name: term.per for name, term in self.attention(layer, 0).terms.items()}
        if "score" in found:
            return {"score": found["score"]}
        return {name: found[name] for name in attention.TERMS if name in found}

    @functools.cached_property
    def causal(self):
        """True if no token sees a later one; False for an encoder."""
        return self.visible(0, 0).backward

    @functools.cached_property
    def windows(self):
        """Per layer, the most targets that a token sees through its sliding window, or None."""
        return [self.visible(layer, 0).window for layer in range(self.layers)]

    def visible(self, layer, head):
        """`Visible`: the targets that each current token may attend to in one head."""
        return self.attention(layer, head).visible

    @functools.lru_cache(maxsize=64)  # noqa: B019 (one PassageData an article, as long as the build)
    def attention(self, layer, head):
        """The `DecodedAttention` of one head.

        raises: ReportError if the dataset is missing or broken
        """
        name = f"attention/{layer}/{head}.json"
        found = attention.decode(self._read(name))
        told = found.layer, found.head, len(found.score)
        if told != (layer, head, self.length):
            raise ReportError(
                f"{self.path / name}: is of layer {told[0]} head {told[1]} and {told[2]} tokens, "
                f"in a passage of {self.length}; delete it and run `make site`."
            )
        return found

    @functools.lru_cache(maxsize=64)  # noqa: B019
    def updates(self, layer):
        """Tables "points" and "region" of one layer: dict of table to dict of column to array.

        raises: ReportError for a model whose updates cannot be measured, or a missing dataset
        """
        if self.capabilities["updates"] is None:
            raise ReportError(
                "the updates of this model cannot be measured; leave figures of them out."
            )
        return columnar.decode(self._read(f"updates/{layer}.json"))

    @functools.cached_property
    def head_statistics(self):
        """Columns of the table "heads": dict of column to array [source x layer x head]."""
        return columnar.decode(self._read("head_statistics.json"))["heads"]


class PassageModels:
    """The models of an article, each on the same passage and corpus."""

    kind = "passage"
    address = ""

    def __init__(self, models, labels=()):
        self.models = models
        """list of `PassageData`, in the order of the front matter."""
        labels = labels or [None] * len(models)
        own = [label or model.label for label, model in zip(labels, models, strict=True)]
        self.labels = _told_apart(own)
        """What figures call each, list of str, no two the same."""
        self.names = _told_apart([_address(label) for label in self.labels], "-{}")
        """The same as addresses have it: small letters, digits and hyphens."""

    @property
    def by_name(self):
        """dict of name to `PassageData`."""
        return dict(zip(self.names, self.models, strict=True))


def _told_apart(labels, more=" ({})"):
    """Labels with a number after those that came before."""
    found = []
    for label in labels:
        number, told = 1, label
        while told in found:
            number += 1
            told = label + more.format(number)
        found.append(told)
    return found


def _address(label):
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-") or "model"
