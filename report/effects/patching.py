"""Patching: what changes when heads of one run hand on what they hand on in another.

Two texts of equal length, clean and corrupted, and a difference of two logits after them. A head's
context, which enters the output projection, is put from one run into the other, at one token or at
all; everything after it is computed again. What that does is told as a share of the way between the
two runs: 0 is nothing, 1 all of it.

    restored  of the corrupted run, with what is clean: (patched - corrupted) / (clean - corrupted)
    lost      of the clean run, with what is corrupted: (clean - patched) / (clean - corrupted)

Patching a layer changes nothing before it, and no token sees a later one: a pass starts from the
hidden states that were kept at that layer, at the first token that differs, with the keys and
values that the tokens before it have in both runs. Heads and tokens are texts of one batch.
source: Wang et al. 2022, arXiv 2211.00593; Heimersheim and Nanda 2024, arXiv 2404.15255
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from report.effects.anatomy import require_whole
from report.effects.asked import Asked, of_rows, rows_of
from report.effects.found import require_one_way
from report.effects.passing import kept, logits_of
from report.effects.replay import TOKENS, entering, last_states, logits_from
from report.errors import ReportError
from report.measurements.precision import summed_by, tolerance
from report.models.attention.modes import evaluating, unchanged
from report.models.attention.structure import structure
from report.models.text.vocabulary import words

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

LEAST = 0.05
"""Logits between the two runs, at least: shares of less are rounding."""


@dataclass(frozen=True, eq=False)
class Run:
    """A text as a model reads it, kept so that it can be read again from any layer on.

    token_ids: the text
    states: what enters each layer, float [T, hidden_size]
    contexts: what enters each layer's output projection, float [T, heads * value_dim]
    value: what is asked after it, in logits
    """

    token_ids: Sequence[int]
    states: Sequence[torch.Tensor]
    contexts: Sequence[torch.Tensor]
    value: float


@dataclass(frozen=True, eq=False)
class Pair:
    """Two runs of a model that part at a token.

    clean, corrupted: the runs
    asked: the difference of two logits at their last token
    start: the first token that differs, from 0
    """

    loaded: "LoadedModel"
    clean: Run
    corrupted: Run
    asked: Asked
    start: int
    prefix: Any
    """The keys and values of the tokens before `start`, as the model's own cache; None: they are
    computed again, as where a model has none, or goes on from it in another way."""
    most: float
    """The largest difference of what is asked that rounding explains, in logits."""

    @property
    def gap(self) -> float:
        """By how much the clean run has more of what is asked, in logits."""
        return self.clean.value - self.corrupted.value

    @property
    def tokens(self) -> int:
        """Of each text."""
        return len(self.clean.token_ids)

    def of(self, run: Run, layer: int, contexts: torch.Tensor) -> np.ndarray:
        """What is asked once other contexts enter the output projection of a layer.

        contexts: float [texts, T - start, heads * value_dim], from the first token that differs on
        returns: float64 [texts], in logits
        raises: ReportError if the run's own contexts do not give what they gave in it
        """
        first = self.start if self.prefix is not None else 0
        few = max(1, TOKENS // (self.tokens - first) - 1)
        found = [self._few(run, layer, some, first) for some in contexts.split(few)]
        return np.concatenate(found)

    def _few(self, run, layer, contexts, first):
        """As `of`; the run itself is a text of the batch, to compare with."""
        own = run.contexts[layer][first:]
        texts = own.expand(len(contexts) + 1, -1, -1).clone()
        texts[1:, self.start - first :] = contexts
        values = _values(self, run, layer, texts, first)
        off = abs(values[0] - run.value)
        if off > self.most:
            raise ReportError(
                f"layer {layer}: a pass that begins there gives {values[0]:.6g} logits, the whole "
                f"pass {run.value:.6g}, which rounding does not explain; heads of this model "
                "cannot be patched"
            )
        return values[1:]

    def shares(self, run: Run, values: np.ndarray) -> np.ndarray:
        """Of what is asked, in logits, the share of the way from a run to the other one."""
        return (values - run.value) / (self.gap if run is self.corrupted else -self.gap)


def pair(
    loaded: "LoadedModel", clean: Sequence[int], corrupted: Sequence[int], asked: Asked
) -> Pair:
    """Run two texts, and keep what patching needs.

    clean, corrupted: token ids, as many of one as of the other; asked: a difference of two logits
        at the last token
    raises: ReportError for texts of other lengths, the same text twice, an encoder, a model that is
        loaded in part, or one to which both texts say the same
    """
    require_whole(loaded)
    start = first_difference(loaded, clean, corrupted)
    rows_of([asked], len(clean), loaded.model.get_output_embeddings().weight.shape[0])
    runs = [_run(loaded, ids, asked) for ids in (clean, corrupted)]
    gap = runs[0].value - runs[1].value
    if abs(gap) < LEAST:
        raise ReportError(
            f"{loaded.identity['name']} answers both prompts alike: the difference of the two "
            f"logits is {runs[0].value:.3f} after the clean one and {runs[1].value:.3f} after the "
            "corrupted one; change what makes the answer another"
        )
    summed = summed_by([loaded.model], len(clean))
    size = max(abs(run.value) for run in runs) + 1
    most = tolerance(summed, size, runs[0].states[0].dtype)
    found = Pair(loaded, *runs, asked, start, None, most)
    known = _prefix(loaded.model, clean[:start])
    if known is None:
        return found
    resuming = replace(found, prefix=known)
    texts = runs[0].contexts[0][None, start:]
    goes_on = abs(_values(resuming, runs[0], 0, texts, start)[0] - runs[0].value) <= most
    return resuming if goes_on else found


def first_difference(loaded: "LoadedModel", clean: Sequence[int], corrupted: Sequence[int]) -> int:
    """The first token, from 0, in which two texts of equal length differ.

    raises: ReportError naming the tokens where they part, if one has more of them, or none differs
    """
    pairs = enumerate(zip(clean, corrupted, strict=False))
    place = next((at for at, (one, other) in pairs if one != other), None)
    if len(clean) != len(corrupted):
        at = min(len(clean), len(corrupted)) if place is None else place
        words = [_words(loaded, ids[at : at + 3]) for ids in (clean, corrupted)]
        raise ReportError(
            f"the clean prompt has {len(clean)} tokens of {loaded.identity['name']}, the "
            f"corrupted one {len(corrupted)}; from token {at} on (counted from 0) the clean one "
            f"has {words[0]}, the corrupted one {words[1]}; exchange words for others of as many "
            "tokens"
        )
    if place is None:
        raise ReportError("both prompts have the same tokens; change a word in the corrupted one")
    return place


def _words(loaded, ids):
    spelt = words(loaded, ids) if loaded.tokenizer else {one: {"text": one} for one in ids}
    texts = (spelt[one] for one in ids)
    named = (f"⟨{each['bytes']}⟩" if "bytes" in each else f"“{each['text']}”" for each in texts)
    return ", ".join(named) or "no more"


def _run(loaded, token_ids, asked):
    model, parts = loaded.model, structure(loaded.model)
    wanted = {("in", index): (part.module, "in") for index, part in enumerate(parts)}
    wanted |= {index: (part.output_projection, "in") for index, part in enumerate(parts)}
    with kept(wanted, len(token_ids)) as found:
        logits = logits_of(model, token_ids)
    require_one_way(model, list(token_ids), logits)
    value = float(of_rows(logits, [asked], [asked.position % len(token_ids)])[0])
    states, contexts = ([found[key] for key in wanted if isinstance(key, t)] for t in (tuple, int))
    return Run(token_ids, states, contexts, value)


def _prefix(model, token_ids):
    """The model's own cache of a text; None without a text, or where the model has no cache."""
    if not len(token_ids):
        return None
    ids = torch.as_tensor(token_ids, device=model.device)[None]
    with evaluating(model), unchanged(model), torch.no_grad():
        found = getattr(model.base_model(input_ids=ids, use_cache=True), "past_key_values", None)
    return found if hasattr(found, "batch_repeat_interleave") else None


def _values(pair, run, layer, contexts, first):
    """What is asked of a batch of texts with these contexts: float64 [texts], in logits.

    contexts: float [texts, T - first, heads * value_dim]
    """
    model, texts = pair.loaded.model, len(contexts)
    states = run.states[layer][first:].expand(texts, -1, -1)
    into = structure(model)[layer].output_projection
    with (
        entering(model, layer, states),  # first: it may run the model
        into.register_forward_pre_hook(lambda _, args: (contexts, *args[1:])),
    ):
        output = last_states(model, run.token_ids[first:], texts, pair.prefix if first else None)
    row = pair.asked.position % len(run.token_ids) - first
    logits = logits_from(model, output[:, row])
    return of_rows(logits, [pair.asked] * texts).cpu().numpy()


@dataclass(frozen=True)
class Patched:
    """What patching heads does, as shares of the way between two runs; float64.

    restored, lost: [layers, heads, T], of each head at each token alone; 0 before the first token
        that differs, where both runs are the same
    all_restored, all_lost: [layers, heads], of each head at all tokens at once
    """

    restored: np.ndarray
    lost: np.ndarray
    all_restored: np.ndarray
    all_lost: np.ndarray


def patched(pair: Pair, progress: Callable[[int, int], None] | None = None) -> Patched:
    """Patch every head at every token, one at a time, and at all tokens at once, both ways.

    progress: called with (layers done, layers)
    raises: ReportError as `Pair.of`
    """
    parts, found = structure(pair.loaded.model), []
    for layer, part in enumerate(parts):
        ways = ((pair.corrupted, pair.clean), (pair.clean, pair.corrupted))
        found.append([_layer(pair, layer, part.heads, *way) for way in ways])
        if progress:
            progress(layer + 1, len(parts))
    (restored, lost) = (np.stack(each) for each in zip(*found, strict=True))
    before = ((0, 0), (0, 0), (pair.start, 0))
    at_each = [np.pad(each[:, :, :-1], before) for each in (restored, lost)]
    return Patched(*at_each, restored[:, :, -1], lost[:, :, -1])


def _layer(pair, layer, heads, into, donor):
    """float64 [heads, T - start + 1], of each head at each token that may differ, then at all."""
    own, other = (run.contexts[layer][pair.start :] for run in (into, donor))
    changed = len(own)
    texts = own.expand(heads, changed + 1, -1, -1).clone()
    own, other = (each.unflatten(-1, (heads, -1)) for each in (own, other))
    cells = texts.unflatten(-1, (heads, -1))
    for head in range(heads):
        for place in range(changed):
            cells[head, place, place, head] = other[place, head]
        cells[head, -1, :, head] = other[:, head]
    values = pair.of(into, layer, texts.flatten(0, 1))
    return pair.shares(into, values).reshape(heads, -1)
