"""What must hold of the datasets of predictions beyond their schemas: sums, and order."""

import numpy as np

from report.datasets.formats.prediction_head import step_of
from report.datasets.formats.prediction_lens import STEP as LENS_STEP
from report.datasets.read.predicted import Head
from report.datasets.read.prediction import PredictionData, Sentence
from report.errors import ReportError


def verify_prediction(data: PredictionData) -> None:
    """Verify the datasets of one article about predictions.

    raises: ReportError if direct effects do not sum to the logit, a head's targets not to its
        effect, its probabilities to more than 1, parts of a score not to it, or if a guess is less
        likely than the next one
    """
    for sentence in data.sentences:
        _verify_sum(sentence)
        if data.has_lens:
            _verify_lens(sentence)
        for layer, head in np.ndindex(sentence.heads.shape[1:]):
            _verify_head(sentence, sentence.head(layer, head))


def _verify_sum(sentence):
    parts = [sentence.heads, sentence.attention_bias, sentence.feed_forward]
    parts = [part.reshape(sentence.rows, -1) for part in parts]
    parts += [sentence.embedding[:, None], sentence.rest[:, None]]
    whole = np.concatenate(parts, 1)
    _require_sum(sentence, "direct effects", whole.sum(1), sentence.logit, whole.shape[1] + 2)
    if len(sentence.tokens) != sentence.length:
        raise ReportError(f"{_name(sentence)} has {len(sentence.tokens)} tokens")
    if sentence.rows != sentence.length - (not sentence.asks):
        raise ReportError(f"{_name(sentence)} has {sentence.rows} rows")


def _verify_head(sentence, head: Head):
    name = f"effects by target of L{head.layer}H{head.head}"
    direct = sentence.heads[:, head.layer, head.head]
    step = step_of(sentence.length)
    _require_sum(sentence, name, head.effect.sum(1), direct, sentence.length + 1, step)
    share = head.probability.sum(1)
    if (head.probability < 0).any() or (share > 1 + step * sentence.length / 2).any():
        raise ReportError(f"{_name(sentence)}: L{head.layer}H{head.head} gives {share.max():.4f}")
    if head.origins is not None:
        score = head.origins.score - head.origins.position
        for parts in (head.origins.by_query, head.origins.by_key):
            name = f"parts of the scores of L{head.layer}H{head.head}"
            _require_sum(sentence, name, parts.sum(0), score, len(parts) + 2, 0.001)


def _verify_lens(sentence: Sentence):
    lens = sentence.lens
    if lens.tokens.shape[:2] != (2 * sentence.heads.shape[1] + 1, sentence.rows):
        raise ReportError(f"{_name(sentence)}: its lens has {lens.tokens.shape[:2]} states")
    if (np.diff(lens.log_probability, axis=-1) > LENS_STEP).any():
        raise ReportError(f"{_name(sentence)}: a guess of its lens is likelier than the one before")
    if (lens.log_probability > 0).any() or (lens.target_log_probability > 0).any():
        raise ReportError(f"{_name(sentence)}: its lens has a probability above 1")


def _require_sum(sentence, what, found, told, terms, step=0.0001):
    """Each of the terms is off by half a step, at most."""
    most = terms * step / 2 * 1.001 + 1e-4
    off = np.abs(found - told)
    if (off > most).any():
        raise ReportError(
            f"{_name(sentence)}: {what} sum to {found[off.argmax()]:.4f}, not to "
            f"{told[off.argmax()]:.4f}"
        )


def _name(sentence):
    return f"text {sentence.number}"
