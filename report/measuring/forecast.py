"""What a run will do, said before it does it: what is read, for how long, in how much memory, and
how much is written.

No estimate is from a table of machines or models. The time is that of the first texts of the run
itself, the size, and the time of writing, that of some of its datasets, and the memory that of the
weights as they are held and of the largest tensors that are kept beside them.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from report.datasets import store
from report.errors import ReportError
from report.measuring.kind import Announce, Progress
from report.models.find.names import Source, size_of
from report.text import count, lasting, sized

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

HOST_BYTES = 10**9
"""What GitHub Pages takes of a site, uncompressed (its documentation: "no larger than 1 GB")."""

LITTLE = 10**9
"""Bytes of memory below which nothing is said: the libraries alone take a third of it, so whatever
machine has them has as much."""

HALF = ("bfloat16", "float16")
"""Dtypes of files of half the bytes of float32."""

A_CELL = 80
"""Bytes of memory of a cell, a current and a target token, while a text is measured and shown: ten
numbers of the head that is looked at."""

MEASURING, WRITING = "Measuring", "Writing"
"""What progress is told of."""

WITHOUT = "Measuring without each head"
"""The same of ablations."""

WARM = 2.0
"""Seconds of texts after the first, from which the time of the others is told."""

LONG = 2
"""Seconds that are told."""

TIMES = 3
"""How often a short sample is taken."""

OFF, SURE = 4 / 3, 0.15
"""By which factor an announcement is wrong that is renewed, once this share of it is over."""

SAMPLE, MAKING = 50_000, 3
"""Numbers that are written to tell how long others take, and how many times as long it takes to
make, check, write and read them."""

SOME = 6
"""Layers whose datasets are made to tell the size of all."""


def reads(model: str, what: str, tokens: int, passes: int, about: bool = False) -> str:
    """The sentence about what a model will be given.

    what: "a passage and 2 texts"; tokens, passes: of all forward passes
    about: whether the tokens were counted in some of the texts only
    """
    number = f"{'about ' if about else ''}{count(tokens, 'token')}"
    return f"{model} reads {what}: {number} in {passes:,} forward pass{'es' * (passes != 1)}."


def needs(loaded: "LoadedModel", together: int = 0, kept: int = 0, logits: int = 0) -> str:
    """The sentence about the memory that a run takes, after a space; "" where it is little.

    together: tokens of all texts that go through the layers together, if one layer is held at a
        time
    kept: tokens of the text of which every head's queries and keys are kept, 0 for none
    logits: of how many tokens logits are computed at once, 0 for none
    The interpreter and its libraries, some 0.3 GB, are not counted.
    """
    about, weights = loaded.identity, loaded.weight_bytes
    heads = loaded.measured_layers * about["num_attention_heads"]
    # float32: a query and a key of each head; logits, their logarithms, and two copies on the way
    by_layer = loaded.partial is not None and loaded.partial.layer_by_layer
    together *= about["hidden_size"] * by_layer
    beside = 4 * (
        together + kept * heads * about["head_dim"] * 2 + logits * about["vocabulary"] * 4
    )
    if weights + beside < LITTLE:
        return ""
    said = f" It needs about {sized(weights + beside)} of memory"
    if beside > weights / 100:
        said += f", {sized(beside)} of it beside the weights"
    stored = about.get("stored_dtype", "").split(", ")[0]
    if about["dtype"] != "float32" or stored not in HALF:
        return f"{said}."
    return (
        f"{said}; the weights are in float32, twice the {stored} of the file (dtype: bfloat16 "
        "takes half, and rounds more)."
    )


def require_whole(loaded: "LoadedModel") -> None:
    """Refuse a model that is to stay in memory, and of which only a layer at a time fits there.

    raises: ReportError with what its weights need, what is free, and how many layers would fit
    """
    from report.models.load import memory

    if loaded.partial is None or not loaded.partial.layer_by_layer:
        return
    about, most = loaded.identity, loaded.measured_layers
    free = memory.available(memory.device_named(about["device"]))
    needs_of = weights_of(loaded.folder, loaded.model.dtype.itemsize)
    needed = needs_of(None if most == about["num_hidden_layers"] else most)
    raise ReportError(
        f"model '{about['name']}' would need {sized(needed)} of memory to stay there, and "
        f"{sized(free)} are free, of which weights may take {memory.SHARE:.0%}"
        f"{_instead(needs_of, most, memory.SHARE * free)}"
    )


def require_together(sources: Sequence[Source], settings: Sequence[dict]) -> None:
    """Refuse models that are to stay in memory together, before the weights of the first are read.

    sources: those whose files are not on this machine do not count, as nobody knows their size
    settings: of each, as `measuring_settings` gives them
    raises: ReportError with what each needs, what is free, and how many layers of each would fit
    """
    from report.models.load import memory
    from report.models.load.load import DTYPES

    free, needed, of_layers, most = memory.free(settings[0]["device"]), {}, [], []
    for source, how in zip(sources, settings, strict=True):
        if source.model.folder is not None:
            needs_of = weights_of(source.model.folder, DTYPES[how["dtype"]].itemsize)
            needed[len(needed), source.title] = needs_of(how["layers"])
            of_layers.append(needs_of)
            most.append(how["layers"] or size_of(source).layers or 0)
    if sum(needed.values()) <= memory.SHARE * free:
        return

    def together(layers):
        return sum(needs_of(layers) for needs_of in of_layers)

    each = ", ".join(f"{title} {sized(size)}" for (_, title), size in needed.items())
    raise ReportError(
        f"together these models would need {sized(sum(needed.values()))} of memory to stay there "
        f"({each}), and {sized(free)} are free, of which weights may take {memory.SHARE:.0%}"
        f"{_instead(together, min(most), memory.SHARE * free)}; or name fewer"
    )


def fits_beside(source: Source, how: dict) -> bool:
    """Whether there is memory for a model beside all that is loaded now; False if nobody knows.

    how: as `measuring_settings` gives them
    """
    from report.models.load import memory
    from report.models.load.load import DTYPES

    if source.model.folder is None:
        return False
    needed = weights_of(source.model.folder, DTYPES[how["dtype"]].itemsize)(how["layers"])
    return needed <= memory.SHARE * memory.free(how["device"])


def weights_of(folder: Path, itemsize: int) -> Callable[[int | None], int]:
    """A function that gives the bytes of a checkpoint's weights in memory, without reading them: of
    so many first layers, or of all for None.

    itemsize: bytes of a number
    """
    from report.models.find.weights import first_layers, parameters
    from report.models.partial.reader import open_checkpoint

    held = open_checkpoint(folder).shapes(whole=False)

    def needs_of(layers):
        wanted = layers and partial(first_layers, count=layers)
        return parameters(folder, held, wanted) * itemsize

    return needs_of


def _instead(needs_of, most, room):
    """What would fit, after a sign: "; not even …", ": --layers 0-7 needs …"."""
    fitting = [n for n in range(1, most + 1) if needs_of(n) <= room]
    if not fitting:
        return "; not even its first layer would fit"
    layers = f"0-{fitting[-1] - 1}" if fitting[-1] > 1 else "0"
    return f": --layers {layers} needs {sized(needs_of(fitting[-1]))}"


def require_room(tokens: int) -> None:
    """Refuse a text that there is no memory for, to measure and to show it.

    raises: ReportError with what it needs, and what is free
    """
    from report.models.load import memory

    needed, free = A_CELL * tokens**2, memory.available(memory.device_named("cpu"))
    if needed > free:
        raise ReportError(
            f"the text has {tokens:,} tokens, for which about {sized(needed)} of memory are "
            f"needed, and {sized(free)} are free; shorten it."
        )


def beyond(identity: dict, tokens: int) -> str:
    """The sentence about a text that is longer than those that a model was made for, or "".

    identity: of the model, see `report.models.load.load.LoadedModel`
    """
    limit = identity.get("made_for")
    if limit is None or tokens <= limit:
        return ""
    return (
        f"{identity['name']} was made for texts of at most {limit:,} tokens, as its config.json "
        f"says, and reads {tokens:,} here: what its heads do far from the beginning may be nothing "
        "that it has learnt."
    )


@dataclass(frozen=True)
class Size:
    """Of datasets that will be written."""

    bytes: float
    seconds: float = 0
    """How long they take to make; 0 where nobody has tried."""

    def __add__(self, other: "Size") -> "Size":
        return Size(self.bytes + other.bytes, self.seconds + other.seconds)


def size(
    of_head: Callable[[int, int], Iterable[tuple[dict, int]]],
    layers: int,
    heads: int,
    at_once: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Size:
    """About how many bytes the datasets of all heads take, and how long, from one head of some
    layers.

    of_head: called with layer and head, gives its datasets, each with how many heads share it
    at_once: how many processes make them; clock: seconds from any beginning
    The first of several heads is the slowest, as libraries come to life with it: its time does not
    count. Most of the time is of what is a head's own, so all of it counts for each.
    """
    some = [n * layers // min(SOME, layers) for n in range(min(SOME, layers))]
    sizes, times = [], []
    for layer in some:
        began = clock()
        made = [
            (len(store.text_of(data, "a sample").encode()), shared)
            for data, shared in of_head(layer, layer % heads)
        ]
        sizes.append(sum(each / shared for each, shared in made))
        times.append(clock() - began)
    warm = times[1:] or times
    number = layers * heads
    return Size(sum(sizes) * number / len(some), sum(warm) * number / len(warm) / at_once)


def time_of_writing(number: float, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds that so many bytes of datasets take to write, by a list of small whole numbers, which
    most of them are.

    clock: seconds from any beginning
    """
    sizes = []

    def sample():
        text = store.dumps([place * place % 2000 - 1000 for place in range(SAMPLE)])
        json.loads(text)  # as what is written is read again
        sizes.append(len(text))

    return timed(sample, MAKING * number, clock) / sizes[-1]


def writes(model: str, size: Size | int) -> str:
    """The sentence about what will be written, and what to do if no host takes it.

    size: or its bytes alone
    """
    size = size if isinstance(size, Size) else Size(size)
    said = f"{model}: about {sized(size.bytes)} of datasets will be written."
    if size.bytes <= HOST_BYTES:
        return said
    return (
        f"{said} GitHub Pages takes sites of at most {sized(HOST_BYTES)}: measure fewer layers "
        "(--layers 0-3) or a shorter passage, keep fewer heads of each layer (--heads 0-2), or "
        "publish on another host."
    )


@dataclass(frozen=True)
class Part:
    """Some of the work of a model, of which progress is told under a name of its own."""

    what: str
    """As `Progress` is told."""
    seconds: float | None = None
    """How long all of it takes, by a sample; None: its own first steps are the sample."""
    steps: Sequence[float] = ()
    """How much each step is, in any unit, such as tokens; (): all are alike."""
    beyond: float = 0.0
    """The same of those after these."""

    def share(self, done: int, total: int) -> float:
        """How much of it is done, 0 to 1."""
        if not self.steps:
            return done / max(1, total)
        return self._work(done) / max(1e-9, self._work(total))

    def _work(self, steps):
        known = min(steps, len(self.steps))
        return self._sums[known] + (steps - known) * self.beyond

    @cached_property
    def _sums(self):
        return [*accumulate(self.steps, initial=0.0)]


def timed(
    sample: Callable[[], object],
    stands_for: float = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Seconds that the work takes of which a sample is a part: by the mean of `TIMES` samples, or
    of fewer if one is long. The first does not count if it is short, as libraries come to life.

    stands_for: how many times as long the work takes; clock: seconds from any beginning
    """
    times = [clock()]
    while len(times) <= TIMES + 1 and (len(times) < 3 or times[-1] - times[1] < WARM / 2):
        sample()
        times.append(clock())
        if times[-1] - times[0] >= 2 * WARM:
            break
    counted = times[1:] if len(times) > 2 else times
    return (counted[-1] - counted[0]) / (len(counted) - 1) * stands_for


def will_take(progress: Progress, model: str, parts: Callable[[], Iterable[Part]]) -> None:
    """Have it announced how long the rest of a model's measuring takes, and its writing.

    progress: as a kind of article is given it; nothing is done where no `Pace` listens
    parts: called, as it may take samples; all that is left, with `WRITING` where that is known
    """
    if isinstance(progress, Pace):
        progress.will(model, parts())


class Pace:
    """Passes progress on, and says how long a model's measuring and writing will take: once, as
    soon as each part of the work was sampled, and once more where that turns out to be wrong.

    The first step of a part that is its own sample does not count where it is short: with it
    libraries come to life. Those after it do, once they have taken `WARM` seconds.
    """

    def __init__(
        self, progress: Progress, announce: Announce, clock: Callable[[], float] = time.perf_counter
    ):
        """clock: seconds from any beginning"""
        self.progress, self.announce, self.clock = progress, announce, clock
        self.before, self.of = 0, None
        self.model, self.parts = "", {}
        self.shares: dict[str, float] = {}
        """What is done -> how much of it, 0 to 1."""
        self.since: list[tuple[float, float]] = []
        """Of the part that is its own sample: when, and how much of it was done; at the beginning,
        after its first step, and after its last one."""
        self.said: tuple[float, float] | None = None
        """When how long was announced."""
        self.renewed = False

    def within(self, before: int, of: int | None) -> None:
        """The next steps of `MEASURING` are those after `before` of `of`; None: they are all."""
        self.before, self.of = before, of

    def will(self, model: str, parts: Iterable[Part]) -> None:
        """The rest of the work; see `will_take`."""
        self.model, self.parts = model, {part.what: part for part in parts}
        for what, part in self.parts.items():
            if part.seconds is None:
                self.since = [(self.clock(), self.shares.get(what, 0.0))]
        self._tell()

    def __call__(self, what: str, done: int, total: int) -> None:
        """As `Progress`."""
        if what == MEASURING and self.of is not None:
            done, total = self.before + done, self.of
        self.progress(what, done, total)
        part = self.parts.get(what, Part(what))
        self.shares[what] = part.share(done, total)
        if self.parts:
            self._tell(what)

    def _tell(self, what=""):
        now = self.clock()
        if self.said is None:
            if self._sampled(what, now):
                rest = self._rest()
                self.said = now, rest
                if rest >= LONG:
                    self._say("this will take", rest, "")
            return
        at, rest = self.said
        done = rest - self._rest()
        if self.renewed or done < SURE * rest or now - at < LONG:
            return
        slower = (now - at) / done
        left = slower * (rest - done)
        if left >= LONG and not 1 / OFF < slower < OFF:
            self.renewed = True
            self._say(f"{'slower' if slower > 1 else 'faster'} than that,", left, " to go")

    def _sampled(self, what, now):
        """Whether the time of every part is known; what: the part of which progress was told."""
        name = next((name for name, part in self.parts.items() if part.seconds is None), None)
        if name is None:
            return True
        share = self.shares.get(name, 0.0)
        if share > self.since[-1][1]:
            self.since = [*self.since[:2], (now, share)]
        (began, before), *steps = self.since
        if not steps and before < 1:
            return False
        first, last = (steps or self.since)[0], self.since[-1]
        if last[1] > first[1] and last[0] - first[0] >= WARM:
            began, before = first
        elif share < 1 and what == name and first[0] - began < 2 * WARM:
            return False  # where another part has begun, there are no more to wait for
        each = (last[0] - began) / (last[1] - before) if last[1] > before else 0.0
        self.parts[name] = replace(self.parts[name], seconds=each)
        return True

    def _say(self, how, seconds, to_go):
        writing = "writing included" if WRITING in self.parts else "without writing"
        self.announce(f"{self.model}: {how} about {lasting(seconds)}{to_go}, {writing}.")

    def _rest(self):
        return sum(
            part.seconds * (1 - self.shares.get(what, 0.0)) for what, part in self.parts.items()
        )


class Rest:
    """Says once how long the rest will take on a cluster, when the first results have come back."""

    def __init__(self, unit: str, announce: Announce):
        """unit: what is counted, "text" or "model" """
        self.unit, self.announce = unit, announce
        self.measured, self.seconds = 0, 0.0
        self.said = False

    def add(self, measured: int, seconds: float) -> None:
        """Count what a worker measured, in so many seconds without those of loading a model."""
        if measured:
            self.measured += measured
            self.seconds += seconds

    def tell(self, rest: int, workers: int) -> None:
        """Say it, if anything is measured; rest: what is not; workers: how many there are now."""
        if self.said or not self.measured:
            return
        self.said = True
        if not rest:
            return
        which = f"first {self.unit}"
        if self.measured > 1:
            which = f"first {self.measured} {self.unit}s"
        lasts = self.seconds / self.measured * rest / max(1, min(workers, rest))
        self.announce(
            f"The {which} took {lasting(self.seconds)} of a worker; the other {rest} will take "
            f"about {lasting(max(0.1, lasts))} with {count(max(1, workers), 'worker')}."
        )
