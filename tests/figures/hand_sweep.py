"""A small sweep, made of numbers and not by a model, in the files that a real one has."""

from types import SimpleNamespace

import numpy as np

from report import store
from report.datasets import sweep
from report.datasets.sweep_study import opened
from tests.figures import hand_made

LAYERS, HEADS, SEQUENCES = 3, 4, 5
STEPS = (0, 50, 100, 200, 400)
TURN = 150
"""The step at which the recipe adds drills."""
RECIPE = {"loops_only": TURN, "drill": 0.9, "drill_slope": 0.001, "drill_late": 0.2, "seed": 1}
INDUCTION = (0.01, 0.02, 0.05, 0.7, 0.8)
"""Score of the best head, L2H1, at each step."""
LOSS_AGAIN = (8.0, 7.9, 7.0, 3.0, 2.0)
FIRST_TOKEN = (0.01, 0.4, 0.02, 0.05, 0.2)
"""Of all heads of layer 0, at each step."""
OTHERS = {"finished": (4, 2000, RECIPE), "other": (2, 700, None)}
"""Models that are no checkpoints: heads a layer, training step, recipe."""


def study(folder):
    """`SweepStudy` of five checkpoints, and two models that are none, written into `folder`."""
    paths, labels = [], []
    for name, (heads, step, recipe) in OTHERS.items():
        paths.append(write(folder, len(paths), name, step, heads, 4, recipe))
        labels.append(None)
    for at, step in enumerate(STEPS):
        paths.append(write(folder, len(paths), f"runs@step-{step}", step, HEADS, at, RECIPE))
        labels.append(f"step-{step}")
    return opened(paths, labels)


def write(folder, number, name, step, heads, at, recipe):
    """One model's folder; at: which of the steps its heads are like."""
    path = folder / f"{number:012x}"
    habits = sweep.encode(statistics(at, heads), repetition(at, heads))
    store.write(path / sweep.FILE, habits)
    manifest = hand_made.manifest(hand_made.KINDS["alibi_bias"])
    model = {"name": name, "num_attention_heads": heads, "training_step": step}
    model |= {"source": "folder", "vocabulary": 3000}
    kept = ("schema", "command", "seed", "date", "self_check")
    again = LOSS_AGAIN[at]
    losses = {"texts": (8 - at, None), "first": (8.1, 0.02), "second": (again, 0.1)}
    losses |= {"unrepeated": (9.5 if at == 3 else 8.2, 0.03)}
    store.write(
        path / "manifest.json",
        {key: manifest[key] for key in kept}
        | {
            "kind": "sweep",
            "key": f"{number:012x}",
            "model": manifest["model"] | model,
            "corpus": {"texts": 2, "tokens": 48, "left_out": 0},
            "sweep": {
                "sequences": SEQUENCES,
                "length": 64,
                "losses": {of: {"mean": mean, "error": e} for of, (mean, e) in losses.items()},
                "recipe": recipe,
            },
            "determined_by": {},
            "versions": {"torch": "2", "transformers": "5"},
            "files": {},
        },
    )
    return path


def statistics(at, heads):
    """As of `HeadStatistics`, over a corpus."""
    first = np.zeros((LAYERS, heads))
    first[0] = FIRST_TOKEN[at]
    previous = np.full((LAYERS, heads), 0.1)
    previous[1, 0] = 0.6 if at == 4 else 0.2
    itself = np.full((LAYERS, heads), 0.05)
    return SimpleNamespace(
        first_token=first, previous_token=previous, itself=itself, concentration=itself
    )


def repetition(at, heads):
    """As of `Repetition`; a head's score differs from sequence to sequence."""
    score = np.full((SEQUENCES, LAYERS, heads), 0.01)
    score[:, 2, 1] = INDUCTION[at] + np.linspace(-0.01, 0.01, SEQUENCES)
    previous = np.full((SEQUENCES, LAYERS, heads), 0.05)
    previous[:, 1, 0] = (0.05, 0.06, 0.1, 0.3, 0.5)[at]
    return SimpleNamespace(
        induction=score,
        unrepeated=np.full((SEQUENCES, LAYERS, heads), 0.011),
        previous_token=previous,
        sequences=SEQUENCES,
    )
