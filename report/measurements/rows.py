"""What a measure of heads reads: rows of one layer's attention, beside the text."""

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from report.errors import ReportError
from report.measurements.block import Block
from report.measurements.targets import largest

SLACK = 1e-3
"""How far beyond its range rounding may carry a value, of the larger of 1 and the bound."""


class Text:
    """What a measure may ask about a text of T tokens."""

    def __init__(self, token_ids: Sequence[int], spell: Callable[[list[int]], list[str]]):
        """spell: the text of each token id by itself, where it is whole characters"""
        self.token_ids = list(token_ids)
        self.spell = spell

    @functools.cached_property
    def strings(self) -> list[str]:
        """The text of every token, as far as it is whole characters."""
        return self.spell(self.token_ids)

    @functools.cached_property
    def is_line_end(self) -> torch.Tensor:
        """bool [T]: tokens that hold a line break."""
        return torch.tensor(["\n" in text or "\r" in text for text in self.strings])

    @functools.cached_property
    def is_punctuation(self) -> torch.Tensor:
        """bool [T]: tokens of signs alone, with neither letter, digit nor line break."""
        return torch.tensor([_is_punctuation(text) for text in self.strings])

    @functools.cached_property
    def last_before(self) -> torch.Tensor:
        """int64 [T]: the place of the last earlier occurrence of the same token, -1 for none."""
        seen, places = {}, []
        for place, token_id in enumerate(self.token_ids):
            places.append(seen.get(token_id, -1))
            seen[token_id] = place
        return torch.tensor(places)


def _is_punctuation(text):
    signs = text.strip()
    known = "\ufffd" not in signs and "\n" not in text and "\r" not in text
    return bool(signs) and known and not any(sign.isalnum() for sign in signs)


class Rows:
    """Some rows of some heads of one layer, as measures read them.

    probability: float [head, query, key], what leaves the softmax (a sink left out); 0 where a row
        does not see a target
    score: float [head, query, key], what enters it; the dtype's minimum there
    query, key: int64 [query], [key], the places of the current tokens and of the targets
    first, last: int64 [query], the first and the last target that each row sees
    value_length: float [head, key], the lengths of the values, for measures whose `NEEDS` name
        "values"
    """

    def __init__(self, block: Block, text: Text, value_length: torch.Tensor | None = None):
        self.text_facts = text
        self._given_to: dict[object, tuple] = {}
        self.probability, self.score = block.probability, block.score
        device = block.score.device
        self.first, self.last = block.first, block.last
        self.query = torch.arange(block.rows.start, block.rows.stop, device=device)
        keys = block.score.shape[-1]
        self.key = torch.arange(block.first_key, block.first_key + keys, device=device)
        if value_length is not None:
            self.value_length = value_length[block.heads][:, self.key]

    @property
    def tokens(self) -> int:
        """How many tokens the text has, T."""
        return len(self.text_facts.token_ids)

    @property
    def strings(self) -> list[str]:
        """The text of every token, [T]."""
        return self.text_facts.strings

    @functools.cached_property
    def token_ids(self) -> torch.Tensor:
        """int64 [T]."""
        return torch.tensor(self.text_facts.token_ids, device=self.query.device)

    @functools.cached_property
    def is_line_end(self) -> torch.Tensor:
        """bool [T]: tokens that hold a line break."""
        return self.text_facts.is_line_end.to(self.query.device)

    @functools.cached_property
    def is_punctuation(self) -> torch.Tensor:
        """bool [T]: tokens of signs alone, with neither letter, digit nor line break."""
        return self.text_facts.is_punctuation.to(self.query.device)

    def last_before(self) -> torch.Tensor:
        """int64 [query]: where the same token was last before, -1 if it was not."""
        return self.text_facts.last_before.to(self.query.device)[self.query]

    @functools.cached_property
    def visible(self) -> torch.Tensor:
        """bool [query, key]: which targets each current token sees."""
        return (self.key >= self.first[:, None]) & (self.key <= self.last[:, None])

    @functools.cached_property
    def given(self) -> torch.Tensor:
        """float64 [head, query]: what goes to tokens at all; NaN where a sink takes everything."""
        given = self.probability.sum(-1).double()
        return given.where(given > 0, float("nan"))

    @functools.cached_property
    def largest(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The two largest targets: places int64, probability float, both [head, query, 2].

        Place -1 and probability 0 where a row sees one target only.
        """
        index = largest(self.score, 2)
        place = index + self.key[0]
        seen = (place >= self.first[:, None]) & (place <= self.last[:, None])
        index = index.clamp(max=len(self.key) - 1)
        probability = self.probability.gather(-1, index) * seen
        missing = 2 - index.shape[-1]
        place = torch.nn.functional.pad(place.where(seen, -1), (0, missing), value=-1)
        return place, torch.nn.functional.pad(probability, (0, missing))

    def to(self, target: torch.Tensor | int) -> torch.Tensor:
        """Probability on one target: float64 [head, query].

        target: int64 [query], or one place for all. 0 where a row does not see it, NaN where the
            text has no such place.
        """
        key = target if isinstance(target, int) else id(target)
        if key not in self._given_to:  # several measures want the same; a tensor is kept by this
            self._given_to[key] = target, self._to(target)
        return self._given_to[key][1]

    def _to(self, target):
        target, there = self._places(target)
        column = target - self.key[0]
        inside = (column >= 0) & (column < len(self.key))
        index = column.clamp(0, len(self.key) - 1)[None, :, None]
        index = index.expand(len(self.probability), -1, 1)
        found = self.probability.gather(-1, index)[..., 0].double()
        return (found * inside).where(there, float("nan"))

    def to_all(self, targets: torch.Tensor) -> torch.Tensor:
        """Probability on some targets together: float64 [head, query]; targets: bool [T]."""
        here = targets[self.key].to(self.probability.dtype)
        return (self.probability @ here).double()

    def to_mean(self, weight: torch.Tensor) -> torch.Tensor:
        """Mean of a weight over targets, float64 [head, query]; NaN where a sink takes everything.

        weight: [query, key]
        """
        weight = weight.to(self.probability.dtype)
        return (self.probability * weight).sum(-1).double() / self.given

    @functools.cached_property
    def elsewhere(self) -> torch.Tensor:
        """What other tokens than the current and the first get, of all that goes to tokens:
        float64 [head, query], from 0 to 1."""
        near = self.to(self.query) + self.to(0)
        return ((self.given - near) / self.given).clamp(0, 1)

    def is_top(self, target: torch.Tensor | int, only_visible: bool = False) -> torch.Tensor:
        """1 where the largest target is this one, else 0: float64 [head, query].

        target: as of `to`; only_visible: NaN also where a row does not see it
        """
        target, there = self._places(target)
        if only_visible:
            there = there & (target >= self.first) & (target <= self.last)
        return self._top(target).where(there, float("nan"))

    def _top(self, target):
        return (self.largest[0][..., 0] == target).double()

    def _places(self, target):
        """The places of targets, int64 [query], and whether the text has them, bool [query]."""
        if isinstance(target, int):
            target = torch.full_like(self.query, target)
        return target, (target >= 0) & (target < self.tokens)


def _apart(rows):
    """The same rows with tensors of their own: an author's measure may change them in place."""
    other, text = copy.copy(rows), copy.copy(rows.text_facts)
    for each in (other, text):
        vars(each).update({name: _copied(value) for name, value in vars(each).items()})
    vars(other).update(text_facts=text, _given_to={})  # the copy of a target is another target
    return other


def _copied(value):
    if isinstance(value, tuple):
        return tuple(map(_copied, value))
    if isinstance(value, list):
        return [*value]
    return value.clone() if isinstance(value, torch.Tensor) else value


class EvenRows(Rows):
    """The control: rows in which each target that is visible gets as much as any other.

    One head, since what is visible is so for all heads of a layer. Where a measure asks for the
    largest target, each counts as much as it gets.
    """

    def __init__(self, block: Block, text: Text):
        super().__init__(block, text)
        seen = self.visible
        self.score = torch.zeros_like(block.score[:1]).masked_fill(
            ~seen, torch.finfo(block.score.dtype).min
        )
        self.probability = (seen / seen.sum(-1, keepdim=True)).to(block.probability.dtype)[None]

    @functools.cached_property
    def largest(self) -> tuple[torch.Tensor, torch.Tensor]:
        """No target is larger than another: places -1, and what any two of them get."""
        each = self.probability.amax(-1, keepdim=True)
        second = each * (self.last > self.first)[:, None]
        both = torch.cat([each, second], -1)
        return torch.full_like(both, -1, dtype=torch.int64), both

    def _top(self, target):
        return self.to(target).nan_to_num(0)


class Sums:
    """Values of measures, summed over the rows of one text, layer by layer and block by block.

    measures: `report.measures.Measure`s
    count: int64 [measure, layer, head], rows with a number; row 0 is left out
    total: float64 [measure, layer, head], their sum
    even_count, even_total: the same [measure, layer, 1] of even attention
    """

    def __init__(self, measures: Sequence[Any], layers: int, heads: int, text: Text):
        self.measures, self.text = measures, text
        shape = len(measures), layers, heads
        self.count = torch.zeros(shape, dtype=torch.int64)
        self.total = torch.zeros(shape, dtype=torch.float64)
        self.even_count = torch.zeros((*shape[:2], 1), dtype=torch.int64)
        self.even_total = torch.zeros((*shape[:2], 1), dtype=torch.float64)
        self._evens = []

    def layer(self, layer: int, value: torch.Tensor | None) -> Callable[[Block], None]:
        """What is called with every `Block` of a layer; value: as a recorder gets it."""
        if not self.measures:
            return lambda block: None
        needed = any("values" in measure.needs for measure in self.measures)
        length = None
        if needed and value is not None:
            length = value.float().norm(dim=-1)
            length = length.repeat_interleave(self.count.shape[-1] // len(length), 0)

        def add(block: Block) -> None:
            count, total = self._sums(Rows(block, self.text, length))
            self.count[:, layer, block.heads] += count
            self.total[:, layer, block.heads] += total
            if block.first_head == 0:
                count, total = self._even(block)
                self.even_count[:, layer] += count[:, :1]
                self.even_total[:, layer] += total[:, :1]

        return add

    def _even(self, block):
        """The sums of even attention, which are the same for all layers that see the same."""
        for start, first, last, sums in self._evens:
            same = start == block.start and torch.equal(first, block.first)
            if same and torch.equal(last, block.last):
                return sums
        sums = self._sums(EvenRows(block, self.text))
        self._evens.append((block.start, block.first, block.last, sums))
        return sums

    def _sums(self, rows):
        """(int64, float64) [measure, head]: how many rows have a number, and the sum of these."""
        values = torch.stack([_values(measure, rows) for measure in self.measures])
        if rows.query[0] == 0:
            values = values[..., 1:]
        values = _within(values, self.measures)
        known = ~values.isnan()
        return known.sum(-1).cpu(), values.nan_to_num(0).sum(-1).cpu()


def _values(measure, rows):
    """What a measure says of some rows, float64 [head, query]."""
    shape = rows.probability.shape[:2]
    if measure.needs and not hasattr(rows, "value_length"):
        return torch.full(shape, float("nan"), dtype=torch.float64, device=rows.query.device)
    values = measure.computed(_apart(rows) if measure.by_author else rows)
    if not isinstance(values, torch.Tensor) or values.shape != shape or values.is_complex():
        what = f"a tensor {list(values.shape)}" if isinstance(values, torch.Tensor) else "no tensor"
        raise ReportError(
            f"{measure.file}: `rows` must return a tensor of a number for each head and current "
            f"token, {list(shape)} here; it returned {what}."
        )
    return values.double()


def _within(values, measures):
    """The values, those that rounding carried out of their range moved to its end.

    raises: ReportError for a value that is infinite, or outside its measure's range
    """
    low, high = (_bounds(values, measures, end) for end in (0, 1))
    slack = SLACK * torch.maximum(low.abs(), high.abs().nan_to_num(1, 1, 1)).clamp(min=1)
    wrong = (values < low - slack) | (values > high + slack) | values.isinf()
    if wrong.any():
        measure = measures[int(wrong.flatten(1).any(1).nonzero()[0])]
        value = values[wrong][0].item()
        raise ReportError(
            f"{measure.file}: `rows` gave {value:g}, and its `RANGE` is {measure.unit}; give "
            "numbers within it, and NaN where the measure does not apply."
        )
    return values.clamp(low, high)


def _bounds(values, measures, end):
    bounds = [float("inf") if m.range[end] is None else float(m.range[end]) for m in measures]
    return torch.tensor(bounds, dtype=torch.float64, device=values.device)[:, None, None]
