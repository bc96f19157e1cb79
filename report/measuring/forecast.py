"""What a run will do, said before it does it: what is read, for how long, in how much memory, and
how much is written.

No estimate is from a table of machines or models. The time is that of the first texts of the run
itself, the size, and the time of writing, that of some of its datasets, and the memory that of the
weights as they are held and of the largest tensors that are kept beside them.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
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

WARM = 1.0
"""Seconds of texts after the first, from which the time of the others is told."""

LONG = 2
"""Seconds of writing that are told."""

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
    logits: tokens of the longest text whose next tokens are predicted, 0 for none
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
    count.
    """
    some = [n * layers // min(SOME, layers) for n in range(min(SOME, layers))]
    sizes, times = [], []
    for layer in some:
        began = clock()
        made = [
            (len(store.dumps(data).encode()), shared)
            for data, shared in of_head(layer, layer % heads)
        ]
        sizes.append(sum(each / shared for each, shared in made))
        times.append((clock() - began) * sizes[-1] / max(1, sum(each for each, _ in made)))
    warm = times[1:] or times
    number = layers * heads
    return Size(sum(sizes) * number / len(some), sum(warm) * number / len(warm) / at_once)


def writes(model: str, size: Size | int) -> str:
    """The sentence about what will be written, how long that takes where it is long, and what to do
    if no host takes it.

    size: or its bytes alone
    """
    size = size if isinstance(size, Size) else Size(size)
    said = f"{model}: about {sized(size.bytes)} of datasets will be written."
    if size.seconds >= LONG:
        said = f"{said[:-1]}, which will take about {lasting(size.seconds)}."
    if size.bytes <= HOST_BYTES:
        return said
    return (
        f"{said} GitHub Pages takes sites of at most {sized(HOST_BYTES)}: measure fewer layers "
        "(--layers 0-3) or a shorter passage, keep fewer heads of each layer (--heads 0-2), or "
        "publish on another host."
    )


class Pace:
    """Passes progress on, and says once how long the rest of the texts will take.

    The first text tells nothing of it: with it libraries come to life, and it may be a passage,
    which is none of the others' length. So those after it count, once they have taken `WARM`
    seconds; where one is left, the first has to do.
    """

    def __init__(
        self, progress: Progress, announce: Announce, clock: Callable[[], float] = time.perf_counter
    ):
        """clock: seconds from any beginning"""
        self.progress, self.announce, self.clock = progress, announce, clock
        self.began: tuple[float, int] | None = None
        """When nothing was measured yet, and how many texts were done then."""
        self.warm: tuple[float, int] | None = None
        """The same of when the first ones were measured."""
        self.said = False

    def __call__(self, what: str, done: int, total: int) -> None:
        """As `Progress`; the first call is the beginning."""
        self.progress(what, done, total)
        now = self.clock()
        if self.began is None:
            self.began = now, done
        if self.said or done <= self.began[1]:
            return
        if self.warm is None:
            self.warm = now, done
        since, before = self.began if total - done == 1 == done - self.began[1] else self.warm
        measured, seconds = done - before, now - since
        if done >= total or not measured or (seconds < WARM and since == self.warm[0]):
            return
        self.said = True
        left = total - done
        self.announce(
            f"{measured} text{'s' * (measured > 1)} took {lasting(seconds)}; the other {left} will "
            f"take about {lasting(max(0.1, seconds / measured * left))}."
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
