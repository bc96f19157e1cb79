"""What the datasets of one model have in common, whatever kind of article they are of."""

import functools
from pathlib import Path

from report.datasets import store
from report.text import all_isolated


class Measured:
    """All datasets under one folder `site_src/datasets/<article>/<key>`, read lazily."""

    def __init__(self, path):
        self.path = Path(path)
        """Folder of the datasets."""

    @property
    def address(self):
        """Of its files below those of its article."""
        return f"{self.path.name}/"

    @functools.cached_property
    def manifest(self):
        """The manifest/1 dataset: model, versions, self-check, corpus, files."""
        return all_isolated(store.read_manifest(self.path))

    def _read(self, name):
        return store.read_measured(self.path, name, self.manifest)

    @property
    def name(self):
        """The model's name as titles have it: on the hub, without its owner."""
        return self.manifest["model"]["name"].rpartition("/")[2]

    @property
    def label(self):
        """What figures call it."""
        return self.name

    @property
    def layers(self):
        """Number of layers measured: all, or the first ones."""
        return self.manifest["model"]["layers_measured"]

    @property
    def heads(self):
        """Number of attention heads of a layer."""
        return self.manifest["model"]["num_attention_heads"]

    @property
    def capabilities(self):
        """What could be measured of this model, dict: "route", "terms", "probabilities",
        "updates" ("raw", "effective" or None, see `PassageData.updates`), "rotary_terms", "reasons"
        (of what is missing)."""
        return self.manifest["model"]["capabilities"]
