"""The datasets of an article about a passage, read lazily: what its figures and templates see."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from report.datasets.damaged import damaged
from report.datasets.formats import attention, columnar
from report.datasets.formats.attention import DecodedAttention
from report.datasets.formats.passage import part_name
from report.datasets.formats.visible import Visible
from report.datasets.read.heads import MeasuredHeads
from report.datasets.read.model import with_memory
from report.errors import ReportError
from report.text import isolated, slug, told_apart

CELLS = 64 * 512**2
"""Of heads that are kept decoded, at most: of 2,048 tokens four, which take half a gigabyte."""


def opened(
    paths: Iterable[Path], labels: Sequence[str | None] = ()
) -> "PassageData | PassageModels":
    """The data of an article: `PassageModels` if it compares several models.

    paths: folders, one a model; labels: what to call the models, None: by their names
    """
    models = [PassageData(path) for path in paths]
    return models[0] if len(models) == 1 else PassageModels(models, labels)


@dataclass(frozen=True)
class Token:
    """One token of the passage."""

    index: int
    """Its place in the text, from 0."""
    id: int
    """Its number in the model's vocabulary."""
    text: str
    """Exact text, leading space included; U+FFFD where the bytes are not whole characters."""
    label: str
    """What to show for it: never empty, nothing invisible."""
    special: bool
    """True for a token that the tokenizer added, such as the beginning of text."""
    part: dict | None = None
    """Of a token that is a part of a character: "of" (the text of all parts together), "number"
    (from 1) and "count"."""
    bytes: str | None = None
    """Of a token that is not whole characters: hexadecimal, "e4 bd"."""

    @property
    def name(self) -> str:
        """What axes and prose call it: its label, without the bytes of a part."""
        return part_name(self.part) if self.part else self.label


def tokens_of(told: Iterable[dict]) -> list[Token]:
    """Tokens in order, as a passage/1 dataset has them."""
    return [
        Token(
            index,
            t["id"],
            t["text"],
            t.get("label", t["text"]),
            t.get("special", False),
            t.get("part"),
            t.get("bytes"),
        )
        for index, t in enumerate(told)
    ]


class PassageData(MeasuredHeads):
    """All datasets under one folder `site_src/datasets/<article>/<key>`."""

    kind = "passage"
    sources: ClassVar = {"passage": "this passage", "corpus": "many texts"}

    @functools.cached_property
    def passage(self) -> dict:
        """The passage/1 dataset: name, title, source, licence, language, tokens."""
        fields = self._read("passage.json").items()
        return {key: isolated(value) if isinstance(value, str) else value for key, value in fields}

    @functools.cached_property
    def tokens(self) -> list[Token]:
        """The passage in order."""
        return tokens_of(self.passage["tokens"])

    @functools.cached_property
    def regions(self) -> dict[str, list[int]]:
        """How the passage is divided: by "words" and the like, the first token of each region.

        raises: ReportError if they do not lie side by side from the first token on
        """
        regions = self.passage.get("regions", {})
        for by, firsts in regions.items():
            if firsts[0] or np.min(np.diff(firsts)) < 1 or firsts[-1] >= self.length:
                raise damaged(
                    f"{self.path / 'passage.json'}: {by} do not begin one after the other, from "
                    f"token 0 to {self.length - 1}"
                )
        return regions

    @property
    def length(self) -> int:
        """Number of tokens of the passage, T."""
        return len(self.tokens)

    @functools.cached_property
    def terms(self) -> dict[str, str]:
        """The terms that every score is the sum of: name -> what the values belong to.

        Names, in this order: content (always), bias, position, row_constant; or "score" alone, if
        the scores of a layer could not be split. A position term by "target_difference" is ALiBi,
        one by "cell" the rotation of RoPE. Learned positions are part of content.
        """
        terms = {}
        for layer in range(self.layers):  # some models have layers without positions
            terms |= self._terms_of(layer)
        if "score" in terms:
            return {"score": terms["score"]}
        return {name: terms[name] for name in attention.TERMS if name in terms}

    def _terms_of(self, layer):
        return {name: term["per"] for name, term in self._shard(layer, 0)["terms"].items()}

    @functools.cached_property
    def causal(self) -> bool:
        """True if no token sees a later one; False for an encoder."""
        return self.visible(0, 0).backward

    @functools.cached_property
    def windows(self) -> list[int | None]:
        """Per layer, the size of its sliding window in tokens, or None."""
        return [self.visible(layer, 0).window for layer in range(self.layers)]

    def visible(self, layer: int, head: int) -> Visible:
        """The targets that each current token may attend to in one head."""
        stated = self._shard(layer, head).get("visible")
        return Visible.of(stated and Visible(stated["first"], stated["last"]), self.length)

    def attention(self, layer: int, head: int) -> DecodedAttention:
        """The attention of one head.

        raises: ReportError if the dataset is missing or broken
        """
        return self._decoded(layer, head)

    @with_memory(lambda self: max(2, CELLS // self.length**2))
    def _decoded(self, layer, head):
        name = f"attention/{layer}/{head}.json"
        shard = self._shard(layer, head)
        if "keys" in shard:
            shard = shard | {"keys": self._keys(shard["keys"])}
        decoded = attention.decode(shard)
        length = len(decoded.score)
        if (decoded.layer, decoded.head, length) != (layer, head, self.length):
            raise damaged(
                f"{self.path / name}: is of layer {decoded.layer} head {decoded.head} and {length} "
                f"tokens, in a passage of {self.length}"
            )
        return decoded

    @with_memory(lambda _: 64)
    def _shard(self, layer: int, head: int) -> dict:
        return self._read(f"attention/{layer}/{head}.json")

    @with_memory(lambda _: 4)
    def _keys(self, name: str) -> dict:
        return self._read(name)

    @with_memory(lambda _: 64)
    def updates(self, layer: int) -> dict[str, dict[str, np.ndarray]]:
        """Tables "points" and "region" of one layer: table -> column -> array.

        raises: ReportError for a model whose updates cannot be measured, or a missing dataset
        """
        if self.capabilities["updates"] is None:
            raise ReportError(
                "the updates of this model cannot be measured; leave out the figures of updates."
            )
        return self._decode(f"updates/{layer}.json", columnar.decode)

    @property
    def has_corpus(self) -> bool:
        """Whether heads were measured over many texts, too."""
        return "corpus" in self.manifest

    def differences(self, other: "PassageData") -> dict[str, np.ndarray]:
        """What each head does otherwise in another passage, by every measure of both.

        other: of a model of as many layers and heads
        returns: column -> array [head x measure]: layer, head, measure, value (here), other (there)
            and difference (there less here), over the passages alone and in the measure's own unit;
            first what differs most, beside the standard deviation over heads and both passages
        """
        tables, first = [], []
        for measure in [name for name in self.measures if name in other.measures]:
            value, changed = (each._of_passage(measure) for each in (self, other))
            layer, head = np.divmod(np.arange(value.size), self.heads)
            with np.errstate(divide="ignore", invalid="ignore"):
                first.append(-np.abs(changed - value) / np.nanstd([value, changed]))
            tables.append(
                {"layer": layer, "head": head, "measure": np.full(value.size, measure)}
                | {"value": value, "other": changed, "difference": changed - value}
            )
        order = np.argsort(np.concatenate(first), kind="stable")
        return {name: np.concatenate([each[name] for each in tables])[order] for name in tables[0]}

    def _of_passage(self, measure):
        return self.of_heads(measure, measure, "passage").ravel()


class PassageModels:
    """The models of an article, each on the same passage and corpus."""

    kind = "passage"
    address = ""

    def __init__(self, models: list[PassageData], labels: Sequence[str | None] = ()):
        self.models = models
        """In the order of the front matter."""
        labels = labels or [None] * len(models)
        own = [label or model.label for label, model in zip(labels, models, strict=True)]
        self.labels = told_apart(own)
        """What figures call the models, no two the same."""
        self.names = told_apart([slug(label, "model") for label in self.labels], "-{}")
        """The same for addresses: small letters, digits and hyphens."""

    @property
    def by_name(self) -> dict[str, PassageData]:
        """Name -> data of one model."""
        return dict(zip(self.names, self.models, strict=True))
