"""What there is to see in figures: sentences for every state that a reader can choose.

A sentence asks for the numbers of one head, and to read these takes longer than to say what is in
them. So all figures of an article are asked about a head before the next one is read.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile

from report.figures.build import defaults
from report.figures.build.per_model import PARAM as MODEL
from report.figures.build.per_model import names
from report.figures.parts import choices
from report.figures.parts.choices import Control, State, Switch
from report.pages.placed import PlacedFigure, controls_for
from report.text import split_sentences

MOST = 16_384
"""A figure with more states has one sentence only, of the state in which it opens.

It is enough for 32 layers of 32 heads, each with the 11 ranks of `attention_breakdown`. Sentences
of so many states take about 3 MB, and up to half a minute to compute.
"""

IN_A_FILE = 512
"""The most sentences of a file, less than 100 kB: a reader fetches no more to see one of them."""


def address(placed: PlacedFigure) -> str:
    """The name of the file with the sentence of a state: "attention_map.seen.{layer}.json".

    Where a figure has few states there is one file; else the values of the first controls are in
    the name.

    returns: "" if there is nothing to choose, nothing is said, or there are more states than `MOST`
    """
    known = list(_choices(placed))
    if not 1 < sum(defaults.number_of_states(changing) for _, _, changing in known) <= MOST:
        return ""
    if not placed.figure.seen(placed.data, **placed.state):
        return ""
    named = [[*fixed, *(control.param for control in changing)] for fixed, _, changing in known]
    # models may differ in their controls
    alike = takewhile(lambda same: len(set(same)) == 1, zip(*named, strict=False))
    params = [param for param, *_ in alike]
    for parts in range(len(params) + 1):
        counts = [
            defaults.number_of_states(changing[max(parts - len(fixed), 0) :])
            for fixed, _, changing in known
        ]
        if (max(counts) if parts else sum(counts)) <= IN_A_FILE:
            break
    return ".".join([placed.name, "seen", *(f"{{{param}}}" for param in params[:parts]), "json"])


def sentence_files(
    placed: Iterable[PlacedFigure], look: Callable[[], object] = lambda: None
) -> dict[str, dict[str, list[str]]]:
    """The files of sentences of an article's figures.

    look: called before each sentence; what it raises ends this
    returns: name -> "layer=3,head=0" -> [that in words, the first sentence, the others]
    """
    states = [
        (state, figure, place, controls)
        for figure in placed
        if (place := address(figure))
        for fixed, controls, changing in _choices(figure)
        for state in (fixed | others for others in defaults.every_state(changing))
    ]
    contents = {}
    # those that read the same dataset come together
    states.sort(key=lambda item: [f"{item[0].get(name, '')}" for name in (MODEL, "layer", "head")])
    for state, figure, place, controls in states:
        look()
        content = contents.setdefault(place.format_map(state), {})
        content[",".join(f"{name}={value}" for name, value in state.items())] = [
            choices.said(choices.at_state(controls, state)),
            *in_two(figure.figure.seen(figure.data, **state)),
        ]
    return contents


def in_two(text: str) -> tuple[str, str]:
    """The sentence of a text that is shown at once, and those that are folded; "" for none."""
    first, *others = split_sentences(text.replace("\n", " ")) or [""]
    return first, " ".join(others)


def _choices(
    placed: PlacedFigure,
) -> Iterator[tuple[State, list[Control | Switch], list[Control | Switch]]]:
    """Of each model that its switch leads to: iterator of (the state of the switch, all controls,
    those besides the switch that change what is said)."""
    models = names(placed.figure.one_model, placed.data) if placed.figure.one_model else [None]
    for name in models:
        fixed = {MODEL: name} if name else {}
        controls = controls_for(placed.figure, placed.data, fixed)
        changing = [
            control
            for control in controls
            if control.param != MODEL and not choices.is_look(control)
        ]
        yield fixed, controls, sorted(changing, key=choices.is_behind)  # as the page has them
