"""What the datasets of one model have in common, for every kind of article."""

import functools
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from report.datasets import store
from report.datasets.damaged import fitting
from report.text import all_isolated


def with_memory(most: Callable[[Any], float]) -> Callable[[Callable], Callable]:
    """Has the last results of a method, or of a function of an object, kept with that object, so
    that they go when it goes.

    most: how many, a function of the object
    """

    def keeping(method):
        name = f"_memory_{method.__name__}"

        @functools.wraps(method)
        def call(self, *arguments):
            results = vars(self).setdefault(name, {})
            made = results.pop(arguments, None)  # and is the newest from now on
            results[arguments] = made = method(self, *arguments) if made is None else made
            while len(results) > most(self):
                with suppress(RuntimeError):  # another thread changed it meanwhile
                    results.pop(next(iter(results)), None)
            return made

        return call

    return keeping


class ModelData:
    """All datasets under one folder `site_src/datasets/<article>/<key>`, read lazily."""

    def __init__(self, path: Path | str):
        self.path = Path(path)
        """Folder of the datasets."""

    @property
    def models(self) -> list[Self]:
        """Those of an article about one model: it alone."""
        return [self]

    @property
    def address(self) -> str:
        """Its folder below those of the article, with a slash at the end."""
        return f"{self.path.name}/"

    @functools.cached_property
    def manifest(self) -> dict:
        """The manifest/1 dataset: model, versions, self-check, corpus, files."""
        return all_isolated(store.read_manifest(self.path))

    def _read(self, name: str) -> dict:
        return store.read_measured(self.path, name, self.manifest)

    def _decode(self, name: str, decode: Callable[..., Any], *about: object) -> Any:
        """What a decoder makes of a dataset, and of what else it is told; ReportError naming the
        file if its numbers do not fit together."""
        with fitting(self.path / name):
            return decode(self._read(name), *about)

    @property
    def name(self) -> str:
        """The model's name in titles, without the owner that it has on the hub."""
        return self.manifest["model"]["name"].rpartition("/")[2]

    @property
    def own_name(self) -> str:
        """What it is called without the label that an article gives it."""
        model = self.manifest["model"]
        return model.get("own_name", model["name"])

    @property
    def label(self) -> str:
        """What figures call it."""
        return self.name

    @property
    def layers(self) -> int:
        """Number of layers measured: all, or the first ones."""
        return self.manifest["model"]["layers_measured"]

    @property
    def heads(self) -> int:
        """Number of attention heads of a layer that the datasets are of: all, or the first ones."""
        return self.manifest.get("heads_kept", self.manifest["model"]["num_attention_heads"])

    @property
    def capabilities(self) -> dict:
        """What could be measured of this model: dict of "route" (how its attention was reached),
        "terms" (names of the summands of its scores), "probabilities" and "rotary_terms" (bool),
        "updates" ("raw", "effective" or None) and, where something is missing, "reasons" (dict)."""
        return self.manifest["model"]["capabilities"]
