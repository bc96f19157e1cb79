"""Answers made of numbers and not by a model, in the files that real ones have."""

from types import SimpleNamespace

import numpy as np

from report.datasets.write.folder import write_folder
from report.inputs.questions import questions
from report.kinds.conditions.answers import ModelAnswers
from report.kinds.conditions.measure_answers import write as write_datasets
from tests import made_conditions

CONDITIONS = {"filler": "Meaningless <b>tokens</b>", "newline": "Repeated newline"}
LENGTHS = (10, 55)
BASE = -3.0


def model(folder, **made):
    """A `ModelAnswers`; made: as of `write`."""
    return ModelAnswers(write(folder, **made))


def write(folder, number=40, gain=0.5, hits=0.1, attended=True, name="tiny", seed=0, signs=(1, -1)):
    """A folder with the answers of one model.

    gain: what a filler adds to log probabilities, less if it is shorter, more if it gets more
        attention; times `signs`, of the filler and of the newline
    hits: the fraction of questions that only the longest filler gets right
    attended: whether shares are known
    """
    rng, asked = np.random.default_rng(seed), questions(number)
    plain, share = BASE + 0.3 * rng.standard_normal(number), rng.uniform(0.05, 0.3, number)
    few = np.arange(number) % 5 == 0
    cells = [cell("none", 0, plain, few)]
    for condition, sign in zip(CONDITIONS, signs, strict=True):
        for length in LENGTHS:
            more = sign * gain * length / 55 * (0.5 + 3 * share)
            right = few | ((np.arange(number) < hits * number) & (sign > 0) & (length == 55))
            known = share if (condition, length) == ("filler", 55) and attended else None
            cells.append(cell(condition, length, plain + more, right, known))
    folder.mkdir(parents=True)
    facts = made_conditions.provenance(3, 2, {"name": name, "num_attention_heads": 4})
    facts.pop("prompts")
    about = {
        "system": "Think *well*.",
        "begun": "The answer is",
        "chat": True,
        "seed": 0,
        "questions": number,
        "tokens": 999,
        "cells": [
            {
                "name": each.name,
                "label": CONDITIONS.get(each.name, each.name),
                "tokens": each.tokens,
                "shares": each.shares is not None,
            }
            for each in cells
        ],
    }
    measured = SimpleNamespace(questions=asked, cells=cells)
    write_folder(folder, write_datasets, measured, facts | {"kind": "answers", "answers": about})
    return folder


def cell(name, tokens, log_probability, right, shares=None):
    """All questions under a condition."""
    scores = SimpleNamespace(log_probability=np.minimum(log_probability, 0), right=right)
    return SimpleNamespace(name=name, tokens=tokens, scores=scores, shares=shares)
