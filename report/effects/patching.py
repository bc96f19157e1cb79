"""Patching: what changes when heads of one run hand on what they hand on in another.

Two texts of equal length, clean and corrupted, and a difference of two logits after them. A head's
context, which enters the output projection, is put from one run into the other, at one token or at
all; everything after it is computed again. What that does is told as a share of the way between the
two runs: 0 is nothing, 1 all of it.

    restored  of the corrupted run, with what is clean: (patched - corrupted) / (clean - corrupted)
    lost      of the clean run, with what is corrupted: (clean - patched) / (clean - corrupted)

Patching a layer changes nothing before it, and no token sees a later one: a pass starts from the
hidden states that were kept at that layer, at the token that is patched, with the keys and values
that the tokens before it have in the run. Heads, both directions and some layers that follow each
other are texts of one batch. Of the logits only the two that are asked about are computed.
source: Wang et al. 2022, arXiv 2211.00593; Heimersheim and Nanda 2024, arXiv 2404.15255
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from report.effects.anatomy import require_whole
from report.effects.asked import Asked, of_rows, rows_of
from report.effects.found import require_one_way
from report.effects.passing import kept, logits_of
from report.effects.replay import NUMBERS, TOKENS, entering, last_states, logits_from
from report.errors import ReportError
from report.measurements.precision import summed_by, tolerance
from report.models.attention.modes import evaluating, hooked, unchanged
from report.models.attention.structure import structure
from report.models.text.vocabulary import words

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

LEAST = 0.05
"""Logits between the two runs, at least: shares of less are rounding."""

BEFORE = 180
"""What a pass costs before it reads a token, in tokens: it reads all weights. About that many."""


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
    """The keys and values of both runs, clean and corrupted, as the model's own cache; None: they
    are computed again, as where a model has none, or goes on from it in another way."""
    columns: bool
    """Whether the two logits that are asked about can be computed without all others."""
    most: float
    """The largest difference of what is asked that rounding explains, in logits."""
    resumed: dict = field(default_factory=dict, repr=False)
    """Of that cache what there is before a token."""

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
        first = self.first(self.start)
        few = max(1, TOKENS // (self.tokens - first) - 1)
        found = [self._few(run, layer, some, first) for some in contexts.split(few)]
        return np.concatenate(found)

    def first(self, place: int) -> int:
        """The token from which on a text is computed that is patched at a token."""
        return place if self.prefix is not None else 0

    def _few(self, run, layer, contexts, first):
        """As `of`; the run itself is a text of the batch, to compare with."""
        own = run.contexts[layer][first:]
        texts = own.expand(len(contexts) + 1, -1, -1).clone()
        texts[1:, self.start - first :] = contexts
        values = _values(self, [run], [layer], [texts[None]], first)[0, 0]
        self.require_same([run], layer, first, values[:1])
        return values[1:]

    def require_same(self, runs: Sequence[Run], layer: int, first: int, values: np.ndarray) -> None:
        """Stop where a run's own contexts do not give what they gave in it.

        values: [runs], what is asked, of passes that begin at that layer and token
        raises: ReportError
        """
        for run, value in zip(runs, values, strict=True):
            if not abs(value - run.value) <= self.most:
                raise ReportError(
                    f"layer {layer}: a pass that begins there, at token {first}, gives "
                    f"{value:.6g} logits, the whole pass {run.value:.6g}, which rounding does not "
                    "explain; heads of this model cannot be patched"
                )

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
    found = Pair(loaded, *runs, asked, start, None, False, most)
    # a few logits alone, and a text that goes on from kept keys and values, give what all give?
    columns = replace(found, columns=True)
    if isinstance(asked.against, int) and _is_same(columns, 0):
        found = columns
    resuming = replace(found, prefix=_cache(loaded.model, [clean, corrupted]), resumed={})
    if resuming.prefix is not None and all(
        _is_same(resuming, at) for at in {start, len(clean) - 1}
    ):
        return resuming
    return found


def _is_same(pair, first):
    """Whether both runs, computed from a token on, give what they gave."""
    runs = [pair.clean, pair.corrupted]
    own = torch.stack([run.contexts[0][first:] for run in runs])[:, None]
    with suppress(IndexError, NotImplementedError, RuntimeError, ValueError):
        values = _values(pair, runs, [0], [own], first)[:, 0, 0]
        return bool(np.abs(values - [run.value for run in runs]).max() <= pair.most)
    return False  # a model that wants all tokens, or all logits


def first_difference(
    loaded: "LoadedModel",
    clean: Sequence[int],
    corrupted: Sequence[int],
    called: tuple[str, str] = ("clean prompt", "corrupted one"),
) -> int:
    """The first token, from 0, in which two texts of equal length differ.

    called: what messages call the two

    raises: ReportError naming the tokens where they part, if one has more of them, or none differs
    """
    pairs = enumerate(zip(clean, corrupted, strict=False))
    place = next((at for at, (one, other) in pairs if one != other), None)
    if len(clean) != len(corrupted):
        at = min(len(clean), len(corrupted)) if place is None else place
        words = [_words(loaded, ids[at : at + 3]) for ids in (clean, corrupted)]
        raise ReportError(
            f"the {called[0]} has {len(clean)} tokens of {loaded.identity['name']}, the "
            f"{called[1]} {len(corrupted)}; from token {at} on (counted from 0) the {called[0]} "
            f"has {words[0]}, the {called[1]} {words[1]}; exchange words for others of as many "
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


def _cache(model, texts):
    """The model's own cache of texts of equal length; None where it has none."""
    ids = torch.as_tensor(texts, device=model.device)
    with evaluating(model), unchanged(model), torch.no_grad():
        found = getattr(model.base_model(input_ids=ids, use_cache=True), "past_key_values", None)
    return found if hasattr(found, "batch_repeat_interleave") else None


def _before(pair, runs, first):
    """The cache of some runs before a token; None where nothing is before it."""
    if not first:
        return None
    both = runs == [pair.clean, pair.corrupted]
    known = pair.resumed
    if (first, both) not in known:
        found = deepcopy(pair.prefix)
        try:
            found.crop(first - pair.tokens)
        except (NotImplementedError, RuntimeError, ValueError):  # it let go of what is needed
            texts = [run.token_ids[:first] for run in (pair.clean, pair.corrupted)]
            found = _cache(pair.loaded.model, texts)
        if not both:  # before the first difference, of either
            device = pair.loaded.model.device
            found.batch_select_indices(torch.tensor([0], device=device))
        known[first, both] = found
    return known[first, both]


def _values(pair, runs, layers, contexts, first):
    """What is asked of texts with these contexts: float64 [runs, layers, texts], in logits.

    runs: both, clean and corrupted, or one, then `first` is not beyond the first difference
    layers: that follow each other; the texts of all are one batch that enters the first of them
    contexts: of each layer float [runs, texts, T - first, heads * value_dim], for its own texts
    """
    model, shape = pair.loaded.model, (len(runs), len(layers), contexts[0].shape[1])
    texts = shape[1] * shape[2]
    states = torch.stack([run.states[layers[0]][first:] for run in runs])
    states, ids = (
        each.repeat_interleave(texts, 0)
        for each in (states, torch.as_tensor([run.token_ids[first:] for run in runs]))
    )

    def put(number, _, args):
        context = args[0].clone()
        context.view(*shape, pair.tokens - first, -1)[:, number] = contexts[number]
        return (context, *args[1:])

    before = _before(pair, runs, first)  # first: it may run the model
    with entering(model, layers[0], states), hooked([]) as hooks:  # first of these: it may, too
        for number, layer in enumerate(layers):
            into = structure(model)[layer].output_projection
            hooks.append(into.register_forward_pre_hook(partial(put, number)))
        last = last_states(model, ids, texts, before)[:, -1]
    asked = pair.asked
    if pair.columns:
        logits = logits_from(model, last, [asked.token, asked.against]).double()
        return (logits[:, 0] - logits[:, 1]).view(shape).cpu().numpy()
    few = last.split(max(1, NUMBERS // model.get_output_embeddings().weight.shape[0]))
    found = [of_rows(logits_from(model, some), [asked] * len(some)) for some in few]
    return torch.cat(found).view(shape).cpu().numpy()


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
    # several layers at once read the weights less often, and repeat what is before a patched layer
    changed = pair.tokens - pair.start
    few = max(1, round((BEFORE * len(parts) / (parts[0].heads * (changed + 3))) ** 0.5))
    for layers in np.split(np.arange(len(parts)), range(few, len(parts), few)):
        found.append(_layers(pair, layers.tolist(), parts[layers[0]].heads))
        for layer in layers.tolist() if progress else []:
            progress(layer + 1, len(parts))
    lost, restored = np.concatenate(found, 1)
    before = ((0, 0), (0, 0), (pair.start, 0))
    at_each = [np.pad(each[:, :, :-1], before) for each in (restored, lost)]
    return Patched(*at_each, restored[:, :, -1], lost[:, :, -1])


def _layers(pair, layers, heads):
    """Shares of the clean run and of the corrupted one, float64 [runs, layers, heads, T - start +
    1], of each head at each token that may differ, then at all."""
    runs = [pair.clean, pair.corrupted]
    places: dict[int, list[slice]] = {}
    for place in range(pair.start, pair.tokens):
        places.setdefault(pair.first(place), []).append(slice(place, place + 1))
    everywhere = pair.first(pair.start)
    places[everywhere].append(slice(pair.start, None))
    shares = np.empty((len(runs), len(layers), heads, pair.tokens - pair.start + 1))
    for first, spans in places.items():
        # where a pass begins is right or wrong in all layers alike; each layer is tried at one
        tried = 0 in layers or first == everywhere
        cells = [(span, head) for span in spans for head in range(heads)]
        few = max(1, TOKENS // (len(runs) * len(layers) * (pair.tokens - first)) - tried)
        for start in range(0, len(cells), few):
            some = cells[start : start + few]
            texts = [_exchanged(runs, layer, first, some, heads, tried) for layer in layers]
            values = _values(pair, runs, layers, texts, first)
            for number, layer in enumerate(layers if tried else []):
                pair.require_same(runs, layer, first, values[:, number, 0])
            for number, (span, head) in enumerate(some, tried):
                place = -1 if span.stop is None else span.start - pair.start
                for way, run in enumerate(runs):
                    shares[way, :, head, place] = pair.shares(run, values[way, :, number])
    return shares


def _exchanged(runs, layer, first, cells, heads, tried):
    """Contexts of a layer with a head's of the other run at some tokens, float [runs, texts, T -
    first, heads * value_dim]; where `tried`, the first text is the run itself."""
    own = torch.stack([run.contexts[layer][first:] for run in runs])
    texts = own[:, None].repeat(1, len(cells) + tried, 1, 1)
    by_head, other = (each.unflatten(-1, (heads, -1)) for each in (texts, own.flip(0)))
    for number, (span, head) in enumerate(cells, tried):
        at = slice(span.start - first, span.stop and span.stop - first)
        by_head[:, number, at, head] = other[:, at, head]
    return texts
