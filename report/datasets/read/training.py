"""Which models of an article are checkpoints of one training, and after how many steps."""

import re
from collections.abc import Sequence

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
