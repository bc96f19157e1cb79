"""The datasets of one article, read lazily; what figures and templates see of a measurement."""

import functools
from dataclasses import dataclass
from pathlib import Path

from report import store
from report.datasets import attention, tables


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


class StudyData:
    """All datasets under one folder `site_src/datasets/<article>/<key>`."""

    def __init__(self, path):
        self.path = Path(path)
        """Folder of the datasets."""

    @functools.cached_property
    def manifest(self):
        """The manifest/1 dataset: model, versions, self-check, fields, files."""
        return store.read(self.path / "manifest.json")

    @functools.cached_property
    def passage(self):
        """The passage/1 dataset: name, title, source, licence, language, tokens."""
        return store.read(self.path / "passage.json")

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

    @property
    def layers(self):
        """Number of layers."""
        return self.manifest["model"]["num_hidden_layers"]

    @property
    def heads(self):
        """Number of heads a layer."""
        return self.manifest["model"]["num_attention_heads"]

    @functools.lru_cache(maxsize=64)  # noqa: B019 (one StudyData an article, as long as the build)
    def attention(self, layer, head):
        """The `DecodedAttention` of one head.

        raises: ReportError if the dataset is missing or broken
        """
        return attention.decode(store.read(self.path / "attention" / f"{layer}" / f"{head}.json"))

    @functools.lru_cache(maxsize=64)  # noqa: B019
    def updates(self, layer):
        """Tables "points" and "region" of one layer: dict of table to dict of column to array."""
        return tables.decode(store.read(self.path / "updates" / f"{layer}.json"))

    @functools.cached_property
    def head_statistics(self):
        """Columns of the table "heads": dict of column to array [source x layer x head]."""
        return tables.decode(store.read(self.path / "head_statistics.json"))["heads"]
