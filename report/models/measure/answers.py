"""How probable the right answer to a question is, and what the answer gives to a filler."""

import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from transformers import DynamicCache

from report.errors import ReportError
from report.inputs.conditions import ANSWER, BEGUN, FILLER, Condition, Segment
from report.measurements.block import Block
from report.measurements.factors import Factors, Scores
from report.models.attention.kernel import streaming_attention
from report.models.attention.modes import evaluating, unchanged
from report.models.attention.recorder import Recorder
from report.models.attention.running import Run, require_sound_logits
from report.models.attention.structure import angles_follow_length
from report.models.measure.loss import predicts
from report.models.measure.passage import require_measurable
from report.models.text.segments import Crossing, segmented_prompts

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

BEGINNING = "The answer is"
"""What every answer begins with, so that the number comes next."""

BATCH = 2048
"""Most tokens that are run at once, without those that all prompts share."""


@dataclass(frozen=True)
class Asked:
    """A question under a condition with its right answer, as tokens."""

    token_ids: list[int]
    """All of the text, the answer at its end."""
    answer: range
    """The tokens of the answer."""
    filler: range
    """Those of the filler; empty if the condition adds none."""
    crossings: Sequence[Crossing] = ()
    """Tokens over the edge of two segments, which count for neither."""


@dataclass(frozen=True)
class AnswerScores:
    """How a model answers questions (Q of them)."""

    log_probability: np.ndarray
    """float64 [Q], in nats: of the right answer, summed over its tokens."""
    right: np.ndarray
    """bool [Q]: whether each of these tokens is the most probable one."""


def require_answers(loaded: "LoadedModel") -> None:
    """Stop for a model that says no next token.

    raises: ReportError
    """
    if not predicts(loaded):
        raise ReportError(
            f"'{loaded.identity['name']}' predicts no next token, or only some of its layers were "
            "loaded, so it answers nothing; choose a whole model that writes texts"
        )


def asked(
    loaded: "LoadedModel",
    conditions: Sequence[Condition],
    answers: Sequence[int],
    chat: bool | str,
) -> list[Asked]:
    """Questions under conditions, each with its right answer after it.

    chat: whether they are put into the model's chat template, as of `segmented_prompts`
    raises: ReportError as `segmented_prompts`, or if the tokenizer merges an answer with what is
        before it
    """
    space = "" if chat else " "  # a chat template ends with a new line
    begun = Segment(BEGUN, f"{space}{BEGINNING}")
    after = [[begun, Segment(ANSWER, f" {answer}")] for answer in answers]
    prompts = [condition.segments for condition in conditions]
    texts = segmented_prompts(loaded, prompts, chat, after)
    return [_asked(loaded, text, answer) for text, answer in zip(texts, answers, strict=True)]


def _asked(loaded, text, answer):
    if any(crossing.after == ANSWER for crossing in text.crossings):
        raise ReportError(
            f"the tokenizer merges the answer {answer} with the words before it, so its "
            "probability is not known; choose another model"
        )
    require_measurable(loaded, text.token_ids)
    span = text.span(ANSWER)
    return Asked(text.token_ids[: span.stop], span, text.span(FILLER), text.crossings)


@torch.no_grad()
def answer_scores(loaded: "LoadedModel", prompts: Sequence[Asked]) -> AnswerScores:
    """How probable the right answers are.

    What all prompts begin with is run once, and the rest of them in batches of similar length.
    Shorter ones are filled up at their ends: no token sees what comes after it. Where rotation
    follows the length of a text, each is run whole, with others of its length.
    """
    model = loaded.model
    whole = angles_follow_length(model)
    shared = 0 if whole else _shared([prompt.token_ids for prompt in prompts])
    shared = min([shared, *(prompt.answer.start - 1 for prompt in prompts)])
    found = np.zeros(len(prompts)), np.zeros(len(prompts), bool)
    with evaluating(model):
        before = _cache(model, prompts[0].token_ids[:shared])
        for batch in _batches([len(prompt.token_ids) - shared for prompt in prompts], whole):
            rows = [prompts[place].token_ids[shared:] for place in batch]
            longest = max(map(len, rows))
            kept = longest + shared + 1 - min(prompts[place].answer.start for place in batch)
            filled = [row + [row[-1]] * (longest - len(row)) for row in rows]
            logits = _logits(model, filled, before, kept)
            for place, of_row in zip(batch, logits, strict=True):
                answer = prompts[place].answer
                start = answer.start - 1 - shared - (longest - kept)
                of_answer = of_row[start : start + len(answer)].double().log_softmax(-1)
                ids = torch.as_tensor(prompts[place].token_ids[answer.start : answer.stop])
                ids = ids.to(of_answer.device)
                found[0][place] = of_answer.gather(-1, ids[:, None]).sum().item()
                found[1][place] = bool((of_answer.argmax(-1) == ids).all())
    return AnswerScores(*found)


def _shared(texts):
    """How many tokens all texts begin with."""
    first = texts[0]
    return next(
        (n for n, token in enumerate(first) if any(text[n : n + 1] != [token] for text in texts)),
        len(first),
    )


def _cache(model, token_ids):
    """What a model keeps of the tokens that all prompts begin with; None if there are none.

    A cache that knows of no windows keeps everything, so it can be repeated and gone on with.
    """
    if not token_ids:
        return None
    cache = DynamicCache()
    with unchanged(model):
        model(_tensor(model, [token_ids]), past_key_values=cache, use_cache=True, **_last(model, 1))
    return cache


def _logits(model, rows, before, kept):
    """Logits of the last `kept` tokens of equally long rows, float [rows, kept, vocabulary]."""
    cache = DynamicCache()
    if before is not None:
        cache = copy.deepcopy(before)
        cache.batch_repeat_interleave(len(rows))
    batch = _tensor(model, rows)
    with unchanged(model):
        logits = model(batch, past_key_values=cache, use_cache=True, **_last(model, kept)).logits
    return require_sound_logits(logits[:, -kept:])


def _last(model, kept):
    """The option for the logits of the last tokens only, where a model has it."""
    known = "logits_to_keep" in inspect.signature(model.forward).parameters
    return {"logits_to_keep": kept} if known else {}


def _tensor(model, rows):
    return torch.as_tensor(rows, device=model.device)


def _batches(lengths, equal):
    """Places of prompts in batches of at most `BATCH` tokens, those of similar length together, or
    only those of equal length."""
    batches, batch = [], []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = (len(batch) + 1) * lengths[place] > BATCH
        if batch and (full or (equal and lengths[place] != lengths[batch[0]])):
            batches.append(batch)
            batch = []
        batch.append(place)
    return [*batches, batch]


def filler_shares(
    loaded: "LoadedModel",
    prompts: Sequence[Asked],
    progress: Callable[..., None] | None = None,
) -> np.ndarray:
    """The share of attention that the filler gets from the tokens that the answer is said at.

    prompts: each with a filler
    progress: called with (prompts done, prompts)
    returns: float64 [prompts], from 0 to 1: a mean over the tokens before each token of the answer,
        over all heads and all layers
    """
    recorders = [_ShareRecorder(loaded, prompt) for prompt in prompts]
    factor = loaded.identity["alibi_factor"]
    runs = [
        Run(prompt.token_ids[:-1], recorder, factor)
        for prompt, recorder in zip(prompts, recorders, strict=True)
    ]
    loaded.run(runs, progress)
    return np.array([recorder.shares.mean() for recorder in recorders])


class _ShareRecorder(Recorder):
    """Collects what the tokens that say an answer give to the filler, head by head."""

    wants_factors = False

    def __init__(self, loaded, prompt):
        self.shares = np.zeros((loaded.measured_layers, loaded.structure[0].heads))
        self.rows = [token - 1 for token in prompt.answer]
        self.filler = prompt.filler

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Compute one layer's context, and keep what the filler gets."""

        def add(block: Block):
            here = range(block.rows.start, block.rows.stop)
            rows = [row - here.start for row in self.rows if row in here]
            ends = (max(0, end - block.first_key) for end in (self.filler.start, self.filler.stop))
            given = block.probability[:, rows][..., slice(*ends)].sum((1, 2), dtype=torch.float64)
            self.shares[layer, block.heads] += given.cpu().numpy() / len(self.rows)

        return streaming_attention(factors, value, add, layer)
