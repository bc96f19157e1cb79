"""The datasets of an article that compares models, or checkpoints of one, read lazily.

Which models of an article are checkpoints of one training, and after how many steps.
"""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from report.datasets.formats import columnar, sweep
from report.datasets.read.model import ModelData
from report.measures import named

STEP = re.compile(r"(?:step|checkpoint|ckpt|iter)[a-z]*[-_ ]?(\d+)", re.IGNORECASE)
"""A training step in the name of a revision or a folder: "step1000", "checkpoint-500"."""

SHAPE = ("family", "num_hidden_layers", "num_attention_heads", "hidden_size", "parameters")
"""Fields of a manifest's model that checkpoints of one training have in common."""


def training_step(model: dict, label: str = "") -> int | None:
    """After how many training steps a model was saved; None if unknown.

    model: "model" of its manifest; label: what the article calls it, perhaps "step1000"
    """
    step = model.get("training_step")
    if step is not None:
        return step
    named = STEP.search(label)
    return int(named[1]) if named else None


def training_steps(models: Sequence[dict], labels: Sequence[str]) -> list[int] | None:
    """The step of every model if they are checkpoints of one training; else None.

    They are if all labels name a step, as revisions of one model often do, or all have one shape.

    models: "model" of their manifests; labels: what the article calls them
    """
    steps = [training_step(*pair) for pair in zip(models, labels, strict=True)]
    shapes = {tuple(model.get(name) for name in SHAPE) for model in models}
    alike = len(shapes) == 1 or all(map(STEP.search, labels))
    return steps if alike and None not in steps else None


def opened(paths: Sequence[Path], labels: Sequence[str | None] = ()) -> "SweepData":
    """The data of an article.

    paths: folders, one a model; labels: the revisions of `model`, None for other models
    """
    labels = labels or [None] * len(paths)
    return SweepData([ModelHabits(*pair) for pair in zip(paths, labels, strict=True)])


class ModelHabits(ModelData):
    """The datasets of one model, or of one checkpoint of it."""

    def __init__(self, path: Path | str, revision: str | None = None):
        super().__init__(path)
        self.revision = revision
        """The revision of the article's `model`, or None for another model."""

    @property
    def label(self) -> str:
        """What figures call it: the revision, else the model's name."""
        return self.revision or self.name

    @property
    def step(self) -> int | None:
        """Training steps after which it was saved; None if unknown."""
        return training_step(self.manifest["model"], self.revision or "")

    @property
    def recipe(self) -> dict:
        """The numbers of its training from its training.json; {} if it had none."""
        return self.manifest["sweep"]["recipe"] or {}

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return self.manifest["model"]["parameters"]

    @property
    def predicts(self) -> bool:
        """Whether its losses are known: it predicts a next token, and all layers were measured."""
        return self.manifest["sweep"]["losses"]["texts"] is not None

    def loss(self, of: str) -> float:
        """Mean cross entropy, nats a token.

        of: "texts", the corpus; "first", random tokens said for the first time; "second", the same
            tokens repeated; "unrepeated", the same tokens after other ones
        """
        return self.manifest["sweep"]["losses"][of]["mean"]

    def loss_error(self, of: str) -> float | None:
        """Standard error of a loss over the sequences of random tokens."""
        return self.manifest["sweep"]["losses"][of]["error"]

    @functools.cached_property
    def _habits(self):
        shape = self.layers, self.heads

        def decode(dataset):
            heads = columnar.decode(dataset)["heads"]
            return {name: heads[name].reshape(shape) for name in {*heads, *sweep.REPEATED}}

        return self._decode(sweep.FILE, decode)

    @property
    def measures(self) -> list[str]:
        """Names of the measures that were taken, sorted."""
        places, beside = ("layer", "head"), ("error_", "even_")
        return sorted(n for n in self._habits if n not in places and not n.startswith(beside))

    def habit(self, measure: str) -> np.ndarray:
        """One measure of every head, float [layer, head].

        measure: one of `measures`: of `report.measures` and the publication's own over the corpus,
            and those of `report.datasets.formats.sweep.REPEATED` on random tokens
        raises: ReportError for any other, or if the dataset is missing or damaged
        """
        return self._habits[named(measure, self.measures)]


@dataclass(frozen=True)
class SweepData:
    """The models of an article, each measured in the same way."""

    models: list[ModelHabits]
    """In the order of the front matter."""
    kind = "sweep"
    address = ""

    @functools.cached_property
    def training(self) -> list[ModelHabits]:
        """The checkpoints of one training, ordered by step.

        They are the article's revisions; without revisions its models, if they can be of one
        training. [] if a step is unknown, or if there are fewer than two different steps.
        """
        revised = [model for model in self.models if model.revision]
        checkpoints = revised or self.models
        manifests = [model.manifest["model"] for model in checkpoints]
        steps = training_steps(manifests, [model.label for model in checkpoints])
        if steps is None or len(set(steps)) < 2:
            return []
        return sorted(checkpoints, key=lambda model: model.step)

    @functools.cached_property
    def compared(self) -> list[ModelHabits]:
        """The other models, in the order of the front matter."""
        return [model for model in self.models if model not in self.training]
