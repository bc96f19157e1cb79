"""Turns what was measured of predictions into a folder of datasets."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from report.datasets.formats import prediction, prediction_head, prediction_lens
from report.datasets.formats.prediction import sentence_file
from report.datasets.formats.prediction_head import head_file
from report.datasets.formats.prediction_lens import lens_file
from report.datasets.write.folder import Folder, Step

SHOWN = 12
"""Heads of which it is told what they write and what their scores are made of, at most."""


class Prompt(Protocol):
    """See `report.inputs.predictions`."""

    text: str
    target: str | None
    other: str | None


class Measured(Protocol):
    """What was measured, see `report.measuring.kinds.prediction`."""

    prompts: Sequence[Prompt]
    tokens: Sequence[Sequence[dict]]
    sentences: Sequence[Any]
    words: Mapping[int, dict]


def write_prediction(files: Folder, measured: Measured, progress: Step) -> None:
    """Write every dataset of an article about predictions, or of the predictions beside a passage.

    progress: called after each text
    raises: ReportError if a number is not finite
    """
    for place, sentence in enumerate(measured.sentences):
        about = {"text": measured.prompts[place].text}
        tokens, words = measured.tokens[place], measured.words
        files.write(sentence_file(place), prediction.encode(about, tokens, sentence, words))
        if sentence.lens is not None:
            files.write(lens_file(place), prediction_lens.encode(sentence, words))
        for layer, head in np.ndindex(sentence.effects.direct.heads.shape[1:]):
            told = prediction_head.encode(sentence, layer, head, words)
            files.write(head_file(place, layer, head), told)
        progress(place + 1, len(measured.sentences))


def about_bytes(shape: tuple[int, int], tokens: int) -> int:
    """About how many bytes the datasets of a text take.

    shape: layers and heads of a layer
    """
    layers, of_layer = shape
    heads, cells = layers * of_layer, tokens * (tokens + 1) // 2
    by_target = heads * (200 + (7 if tokens <= prediction_head.LONG else 5) * cells)
    parts = layers * (of_layer + 2) // 2  # before a layer in the middle
    in_full = min(SHOWN, heads) * tokens * (260 + 10 * parts)
    lens = (2 * layers + 1) * tokens * 60
    return by_target + in_full + lens + 5 * tokens * heads
