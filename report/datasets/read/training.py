"""Which models of an article are checkpoints of one training, and after how many steps."""

import re

STEP = re.compile(r"(?:step|checkpoint|ckpt|iter)[a-z]*[-_ ]?(\d+)", re.IGNORECASE)
"""A training step in the name of a revision or a folder: "step1000", "checkpoint-500"."""

SHAPE = ("family", "num_hidden_layers", "num_attention_heads", "hidden_size", "parameters")
"""What checkpoints of one training have in common, of a manifest's model."""


def training_step(model, label=""):
    """After how many training steps a model was saved, int; None if nothing says so.

    model: dict, of its manifest; label: what the article calls it, perhaps "step1000"
    """
    said = model.get("training_step")
    if said is not None:
        return said
    named = STEP.search(label)
    return int(named[1]) if named else None


def training_steps(models, labels):
    """The step of every model if they are checkpoints of one training, list of int; else None.

    They are if all are called by a step, as revisions of one model often are, or have one shape.

    models: dicts, of their manifests; labels: what the article calls them
    """
    steps = [training_step(*each) for each in zip(models, labels, strict=True)]
    shapes = {tuple(model.get(name) for name in SHAPE) for model in models}
    alike = len(shapes) == 1 or all(map(STEP.search, labels))
    return steps if alike and None not in steps else None
