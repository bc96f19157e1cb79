"""Reads texts with two models of one shape, and compares every head of one with that of the other.

Of a text, the queries, keys and contexts of the first model are kept while the second reads it, and
rows of attention are made of them again layer by layer: never more than a layer's attention of both
is in memory, and nothing of a text but sums is kept after it.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch

from report.errors import ReportError
from report.measurements.difference import cosines, row_distances
from report.measurements.factors import Factors, Scores
from report.measurements.head_statistics import HeadStatistics
from report.measurements.rows import Sums
from report.measurements.stored import stored
from report.measures import Measure
from report.models.attention.kernel import streaming_attention, wide
from report.models.attention.running import Run
from report.models.attention.self_check import checked
from report.models.attention.structure import LayerStructure
from report.models.measure.passage import TextRecorder, reads_layer_by_layer, require_measurable

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

DISTANCE, COSINE, MAGNITUDE = "js_distance", "update_cosine", "update_magnitude"
"""What is measured besides measures of attention: Jensen-Shannon distance of rows, cosine of
updates, and their length over that of the hidden state they are added to (of each model)."""

REFERENCE, CHANGE = "reference/", "change/"
"""Begin the names of a measure's sums over the first model, and of second less first."""


def require_alike(reference: "LoadedModel", loaded: "LoadedModel") -> None:
    """Stop for two models whose heads cannot be compared one by one; weights are not needed.

    raises: ReportError naming both, and what they differ in
    """
    pair = reference, loaded
    shapes = [
        f"{len(one.structure)} × {one.structure[0].heads} heads (layers × heads of a layer) and "
        f"hidden states of {one.structure[0].output_weight().shape[0]} numbers"
        for one in pair
    ]
    if shapes[0] != shapes[1]:
        first, second = (one.identity["name"] for one in pair)
        raise ReportError(
            f"{first} has {shapes[0]}; {second} has {shapes[1]}: heads are compared one by one, so "
            "name two models of the same shape"
        )


def require_whole(loaded: "LoadedModel") -> None:
    """Stop for a model that keeps one layer in memory at a time; ReportError."""
    if reads_layer_by_layer(loaded):
        raise ReportError(
            f"{loaded.identity['name']} is read layer by layer, and two models are compared "
            "text by text with both in memory; choose smaller models, or `dtype: bfloat16`"
        )


def require_same_tokens(
    names: tuple[str, str], first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]
) -> None:
    """Stop for texts that two models cut into other tokens.

    names: of both models; first, second: token ids of each text
    raises: ReportError naming the first text and the first token that differ
    """
    for number, (mine, theirs) in enumerate(zip(first, second, strict=True)):
        if list(mine) == list(theirs):
            continue
        pairs = enumerate(zip(mine, theirs, strict=False))
        place = next((place for place, (a, b) in pairs if a != b), min(len(mine), len(theirs)))
        raise ReportError(
            f"{names[0]} and {names[1]} do not read the same tokens: text {number} differs from "
            f"token {place} on ({len(mine)} tokens and {len(theirs)}); attention is compared token "
            "by token, so name two models with one tokenizer"
        )


def halves(texts: Sequence[Sequence[int]]) -> list[int]:
    """Which half of the texts each is in, 0 or 1: by turns in the order of a hash of its tokens, so
    as by chance, and the same on every machine."""
    order = sorted(range(len(texts)), key=lambda place: (_digest(texts[place]), place))
    half = [0] * len(texts)
    for turn, place in enumerate(order):
        half[place] = turn % 2
    return half


def _digest(token_ids):
    return hashlib.sha256(repr(list(token_ids)).encode()).digest()


def compare(
    reference: "LoadedModel",
    loaded: "LoadedModel",
    texts: Sequence[Sequence[int]],
    measures: Sequence[Measure],
    progress: Callable[[int, int], object] | None = None,
) -> tuple[HeadStatistics, HeadStatistics]:
    """Every head of a model beside the same head of another, over texts that both read.

    texts: token ids, the same for both; row 0 of each is left out, as everywhere
    progress: called with (texts done, texts) after each text
    returns: sums over each of two `halves` of the texts, by name: of the second model those of
        each of `measures` and `MAGNITUDE`; of the first the same after `REFERENCE`, of the second
        less the first after `CHANGE`; and `DISTANCE` and `COSINE`. Of a text in which only one of
        the two has a number for some row, a head's change is left out. Updates are left out where
        one of the models does not show them
    raises: ReportError as the functions `require_…` here, for fewer than 2 texts, or as
        `measure_passage`
    """
    require_alike(reference, loaded)
    if len(texts) < 2:
        raise ReportError(
            "two models are compared over 2 texts or more, of which halves can be made; there is "
            f"{'none' if not texts else 'one'}"
        )
    for each in (reference, loaded):
        require_whole(each)
        checked(each)
    found = [None, None]
    for done, (token_ids, half) in enumerate(zip(texts, halves(texts), strict=True), 1):
        sums = _of_text(reference, loaded, token_ids, measures)
        of_text = HeadStatistics.of_text(sums, len(token_ids))
        found[half] = of_text if found[half] is None else found[half].merge(of_text)
        if progress:
            progress(done, len(texts))
    return found[0], found[1]


def _of_text(reference, loaded, token_ids, measures):
    """`Sums` of one text; those of even attention are left empty."""
    for each in (reference, loaded):
        require_measurable(each, token_ids)
    first = _First(reference, token_ids, measures)
    reference.run([_run(reference, token_ids, first)])
    second = _Second(loaded, token_ids, measures, first)
    loaded.run([_run(loaded, token_ids, second)])
    return _counted(first, second, measures)


def _run(loaded, token_ids, recorder):
    return Run(list(token_ids), recorder, loaded.identity["alibi_factor"])


@dataclass(frozen=True)
class _Update:
    """What is needed to tell what each head of a layer adds to the hidden state.

    context: float [heads, T, value_dim]; scale: float [T, 1], what its product with the weights is
    multiplied by; gain: float [hidden_size] or None, likewise; hidden: float64 [T], the length of
    what enters the layer
    """

    part: LayerStructure
    context: torch.Tensor
    scale: torch.Tensor
    gain: torch.Tensor | None
    hidden: torch.Tensor

    def of_head(self, head: int) -> torch.Tensor:
        """What a head adds, float [T, hidden_size]."""
        weight = wide(self.part.output_weight()).unflatten(1, (self.part.heads, -1))[:, head]
        update = self.context[head] @ weight.T * self.scale
        return update if self.gain is None else update * self.gain


class _First(TextRecorder):
    """The statistics of a text, and what the other model's heads are compared with."""

    def __init__(
        self, loaded: "LoadedModel", token_ids: Sequence[int], measures: Sequence[Measure]
    ) -> None:
        super().__init__(loaded, token_ids, measures=measures)
        self.structure = loaded.structure[: loaded.measured_layers]
        self.factors: list[Factors | Scores] = []
        self.written: dict[int, _Update] = {}

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Compute one layer's context, add its statistics, and keep what makes its rows."""
        self.factors.append(stored(factors, len(self.structure)))
        return super().attention(layer, factors, value)

    def updates(
        self,
        layer: int,
        hidden_state: torch.Tensor,
        context: torch.Tensor,
        attention_output: torch.Tensor,
    ) -> None:
        """Keep what makes the updates of a layer's heads."""
        self.written[layer] = _update(
            self.structure[layer], hidden_state, context.clone(), attention_output
        )


def _update(part, hidden_state, context, attention_output):
    gain, scale = None, context.new_ones(context.shape[1], dtype=torch.float32)
    if part.norm_after is not None:
        gain, scale = wide(part.norm_weight()), wide(part.norm_scale(attention_output))
    length = hidden_state.double().norm(dim=-1)
    return _Update(part, wide(context), scale[:, None] * part.residual_multiplier, gain, length)


class _Second(TextRecorder):
    """The statistics of a text, and how far every head is from that of a `_First`."""

    def __init__(
        self,
        loaded: "LoadedModel",
        token_ids: Sequence[int],
        measures: Sequence[Measure],
        first: _First,
    ) -> None:
        super().__init__(loaded, token_ids, measures=measures)
        self.structure, self.first = loaded.structure[: loaded.measured_layers], first
        shape = len(self.structure), self.structure[0].heads
        self.name, self.written = loaded.identity["name"], set()
        names = (DISTANCE, COSINE, REFERENCE + MAGNITUDE, MAGNITUDE)
        self.pairs = {name: torch.zeros((2, *shape), dtype=torch.float64) for name in names}

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Compute one layer's context, add its statistics, and compare its rows."""
        other = self.first.factors[layer]
        mine, theirs = (each.range().cpu() for each in (factors, other))
        if not (torch.equal(mine.first, theirs.first) and torch.equal(mine.last, theirs.last)):
            raise ReportError(
                f"layer {layer} of {self.name} sees other targets than that of the model it is "
                "compared with (another window, or another mask); heads cannot be compared"
            )
        rows, sink = _rows(other), factors.sink is not None or other.sink is not None
        summed = self.sums.layer(layer, value)

        def add(block):
            summed(block)
            keys = slice(block.first_key, block.first_key + block.probability.shape[-1])
            before = rows[block.heads, block.rows, keys].to(block.probability.device)
            distance = row_distances(before, block.probability, sink)
            self._add(DISTANCE, layer, distance[:, int(block.start == 0) :], block.heads)

        return streaming_attention(factors, value, add, layer, self.rows)

    def updates(
        self,
        layer: int,
        hidden_state: torch.Tensor,
        context: torch.Tensor,
        attention_output: torch.Tensor,
    ) -> None:
        """Compare what each head of a layer adds to the hidden state."""
        before = self.first.written.get(layer)
        if before is None:
            return
        now = _update(self.structure[layer], hidden_state, context, attention_output)
        self.written.add(layer)
        for head in range(now.part.heads):
            pair = before.of_head(head), now.of_head(head).to(before.context.device)
            here = slice(head, head + 1)
            self._add(COSINE, layer, cosines(*pair)[None, 1:], here)
            for name, update, of in zip(
                (REFERENCE + MAGNITUDE, MAGNITUDE), pair, (before, now), strict=True
            ):
                length = update.double().norm(dim=-1) / of.hidden.to(update.device)
                self._add(name, layer, length[None, 1:], here)

    def _add(self, name, layer, values, heads):
        """values: float64 [head, row], NaN for no number"""
        known = ~values.isnan()
        found = torch.stack([known.sum(-1).double(), values.nan_to_num(0).sum(-1)])
        self.pairs[name][:, layer, heads] += found.cpu()


def _rows(factors):
    """A layer's attention, float [heads, T, T], made anew; 0 where a row does not see a target."""
    whole = wide(factors.score if isinstance(factors, Scores) else factors.query)
    whole = whole.new_zeros(factors.heads, factors.length, factors.length)

    def fill(block):
        keys = slice(block.first_key, block.first_key + block.probability.shape[-1])
        whole[block.heads, block.rows, keys] = block.probability

    value = None
    if not isinstance(factors, Scores):
        value = factors.key.new_zeros(len(factors.key), factors.length, 1)
    streaming_attention(factors, value, fill)
    return whole


def _counted(first, second, measures):
    """The sums of both recorders, and of what changed from the first to the second."""
    found = {}
    pairs = [
        (measure.name, *(_sums(one.sums, place) for one in (first, second)))
        for place, measure in enumerate(measures)
    ]
    complete = len(second.written) == len(second.structure)
    if complete:
        of = second.pairs
        pairs.append((MAGNITUDE, of[REFERENCE + MAGNITUDE], of[MAGNITUDE]))
    for name, before, now in pairs:
        found |= beside(name, before, now)
    return summed(found | {name: second.pairs[name] for name in (DISTANCE, *([COSINE] * complete))})


def beside(name: str, before: torch.Tensor, now: torch.Tensor) -> dict[str, torch.Tensor]:
    """Of a number of heads in both models what is kept: it in each, and what changed; a change only
    where as many rows have a number in both.

    before, now: float64 [2, layer, head], rows with a number and their sum over a text
    """
    same = before[0] == now[0]
    change = torch.stack([before[0] * same, (now[1] - before[1]) * same])
    return {name: now, REFERENCE + name: before, CHANGE + name: change}


def summed(found: Mapping[str, torch.Tensor]) -> Sums:
    """Sums over the rows of a text as `HeadStatistics` take them; those of even attention are left
    empty.

    found: name -> float64 [2, layer, head], as of `beside`
    """
    both = torch.stack([*found.values()], 1)
    sums = Sums([SimpleNamespace(name=name) for name in found], *both.shape[2:], text=None)
    sums.count, sums.total = both[0].long(), both[1]
    return sums


def _sums(sums: Sums, place: int) -> torch.Tensor:
    """float64 [2, layer, head]: how many rows have a number, and their sum."""
    return torch.stack([sums.count[place].double(), sums.total[place]])
