"""The datasets of an article that compares models, or checkpoints of one, read lazily."""

import functools
from dataclasses import dataclass

from report.datasets.formats import columnar, sweep
from report.datasets.read.model import Measured
from report.datasets.read.training import training_step, training_steps
from report.errors import ReportError


def opened(paths, labels=()):
    """`SweepStudy` of an article.

    paths: folders, one a model; labels: the revision that each is of `model`, None for others
    """
    labels = labels or [None] * len(paths)
    return SweepStudy([ModelHabits(*each) for each in zip(paths, labels, strict=True)])


class ModelHabits(Measured):
    """The datasets of one model, or of one checkpoint of it."""

    def __init__(self, path, revision=None):
        super().__init__(path)
        self.revision = revision
        """What the article calls it, if it is one of the revisions of a model; else None."""

    @property
    def label(self):
        """What figures call it: the revision, else the model's name."""
        return self.revision or self.name

    @property
    def step(self):
        """Training steps after which it was saved, int; None if nothing says so."""
        return training_step(self.manifest["model"], self.revision or "")

    @property
    def recipe(self):
        """The numbers of its training as its training.json told them, dict; {} if it had none."""
        return self.manifest["sweep"]["recipe"] or {}

    @property
    def parameters(self):
        """Numbers in its weights."""
        return self.manifest["model"]["parameters"]

    @property
    def predicts(self):
        """Whether its losses are known: it predicts a next token, and all of it was measured."""
        return self.manifest["sweep"]["losses"]["texts"] is not None

    def loss(self, of):
        """Mean cross entropy, nats a token.

        of: "texts", the corpus; "first", random tokens said for the first time; "second", the same
            said again; "unrepeated", the same after others
        """
        return self.manifest["sweep"]["losses"][of]["mean"]

    def loss_error(self, of):
        """Standard error of a loss over the sequences of random tokens."""
        return self.manifest["sweep"]["losses"][of]["error"]

    @functools.cached_property
    def _habits(self):
        found = columnar.decode(self._read(sweep.FILE))
        heads = found.get("heads", {})
        wanted = self.layers * self.heads
        wrong = [name for name in sweep.MEASURES if len(heads.get(name, ())) != wanted]
        wrong = wrong or [
            name for name in sweep.MEASURES if not ((heads[name] >= 0) & (heads[name] <= 1)).all()
        ]
        if wrong:
            raise ReportError(
                f"{self.path / sweep.FILE}: {wrong[0]!r} is not a number from 0 to 1 for each of "
                f"{wanted} heads; delete the folder and run `make site`."
            )
        return heads

    def habit(self, measure):
        """What was measured of every head, float [layer, head], in [0, 1].

        measure: a key of `report.datasets.formats.sweep.MEASURES`
        raises: ReportError for any other
        """
        if measure not in sweep.MEASURES:
            known = ", ".join(sweep.MEASURES)
            raise ReportError(f"unknown measure {measure!r}; measured are: {known}.")
        return self._habits[measure].reshape(self.layers, self.heads)


@dataclass(frozen=True)
class SweepStudy:
    """The models of an article, each measured in the same way."""

    models: list[ModelHabits]
    """In the order of the front matter."""
    kind = "sweep"
    address = ""

    @functools.cached_property
    def training(self):
        """The checkpoints of one training, list of `ModelHabits` by step.

        They are the article's revisions, or, where it has none, its models if they can be of one
        training; [] if they do not all say after how many steps, or there are fewer than two.
        """
        revised = [model for model in self.models if model.revision]
        found = revised or self.models
        manifests = [model.manifest["model"] for model in found]
        steps = training_steps(manifests, [model.label for model in found])
        if steps is None or len(set(steps)) < 2:
            return []
        return sorted(found, key=lambda model: model.step)

    @functools.cached_property
    def compared(self):
        """The other models, list of `ModelHabits` in the order of the front matter."""
        return [model for model in self.models if model not in self.training]
