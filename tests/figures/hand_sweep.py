"""A small sweep, made of numbers and not by a model, in the files that a real one has."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from report.datasets import store
from report.datasets.formats import sweep
from report.kinds.sweep.data import opened
from report.measures import shipped
from tests.figures import hand_made

LAYERS, HEADS, SEQUENCES = 3, 4, 5
STEPS = (0, 50, 100, 200, 400)
TURN = 150
"""The step at which the recipe adds drills."""
RECIPE = {"loops_only": TURN, "drill": 0.9, "drill_slope": 0.001, "drill_late": 0.2, "seed": 1}
INDUCTION = (0.01, 0.02, 0.05, 0.7, 0.8)
"""Score of the best head, L2H1, at each step."""
LOSS_AGAIN = (8.0, 7.9, 7.0, 3.0, 2.0)
FIRST_TOKEN = (0.01, 0.4, 0.02, 0.05, 0.15)
"""Of all heads of layer 0, at each step."""
OTHERS = {"finished": (4, 2000, True), "other": (2, 700, False)}
"""Models that are no checkpoints: heads a layer, training step, whether the recipe is theirs."""


@dataclass(frozen=True)
class Kind:
    """What sets a sweep apart."""

    steps: tuple = STEPS
    others: tuple = tuple(OTHERS)
    learns: bool = True
    """Whether a head comes to find what came next."""
    predicts: bool = True
    recipe: dict | None = None


KINDS = {
    "whole": Kind(recipe=RECIPE),
    "learns nothing": Kind(learns=False, recipe=RECIPE),
    "no recipe": Kind(),
    "no losses": Kind(predicts=False),
    "models only": Kind(steps=()),
    "a training only": Kind(others=(), recipe=RECIPE),
}
"""Name -> kind; the first is that of the shipped article."""


def study(folder, kind="whole", of="alibi_bias"):
    """`SweepData` of five checkpoints, and two models that are none, written into `folder`.

    of: the kind of model, of `hand_made.KINDS`
    """
    kind, paths, labels = KINDS[kind], [], []
    for name in kind.others:
        heads, step, same = OTHERS[name]
        recipe = kind.recipe if same else None
        paths.append(write(folder, len(paths), name, step, heads, 4, recipe, kind, of))
        labels.append(None)
    for at, step in enumerate(kind.steps):
        name = f"runs@step-{step}"
        paths.append(write(folder, len(paths), name, step, HEADS, at, kind.recipe, kind, of))
        labels.append(f"step-{step}")
    return opened(paths, labels)


def write(folder, number, name, step, heads, at, recipe, kind, of):
    """One model's folder; at: which of the steps its heads are like."""
    path = folder / f"{number:012x}"
    habits = sweep.encode(
        statistics(at, heads), repetition(at, heads, kind.learns), shipped().values()
    )
    store.write(path / sweep.FILE, habits)
    model = {"name": name, "num_attention_heads": heads, "training_step": step}
    model |= {"source": "folder", "vocabulary": 3000}
    losses = {"texts": (8 - at, None), "first": (8.1, 0.02), "second": (LOSS_AGAIN[at], 0.1)}
    losses |= {"unrepeated": (9.5 if at == 3 else 8.2, 0.03)}
    losses = {of: {"mean": mean, "error": error} for of, (mean, error) in losses.items()}
    about = {
        "corpus": {"texts": 2, "tokens": 48, "left_out": 0},
        "sweep": {
            "sequences": SEQUENCES,
            "length": 64,
            "losses": losses if kind.predicts else dict.fromkeys(losses),
            "recipe": recipe,
        },
        "versions": {"torch": "2", "transformers": "5"},
    }
    hand_made.close(path, "sweep", model, {}, of, **about)
    return path


def statistics(at, heads):
    """As of `HeadStatistics`, over a corpus."""
    first = np.zeros((LAYERS, heads))
    first[0] = FIRST_TOKEN[at]
    previous = np.full((LAYERS, heads), 0.1)
    previous[1, 0] = 0.6 if at == 4 else 0.2
    itself = np.full((LAYERS, heads), 0.05)
    values = {"first_token": first, "previous_token": previous, "itself": itself}
    return SimpleNamespace(
        mean=lambda name: values.get(name, np.full((LAYERS, heads), 0.07)),
        error=lambda name: np.full((LAYERS, heads), 0.01),
        even=lambda name: np.full((LAYERS, heads), 0.02),
    )


def repetition(at, heads, learns=True):
    """As of `Repetition`; a head's score differs from sequence to sequence."""
    score = np.full((SEQUENCES, LAYERS, heads), 0.01)
    best = INDUCTION[at] if learns else 0.02
    score[:, 2, 1] = best + np.linspace(-0.01, 0.01, SEQUENCES)
    previous = np.full((SEQUENCES, LAYERS, heads), 0.05)
    previous[:, 1, 0] = (0.05, 0.06, 0.1, 0.3, 0.5)[at]
    return SimpleNamespace(
        induction=score,
        unrepeated=np.full((SEQUENCES, LAYERS, heads), 0.011),
        previous_token=previous,
        sequences=SEQUENCES,
    )
