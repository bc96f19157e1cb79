"""How deep the effect of an addition goes: one head of several layers, without it and with it."""

from report.figures.parts import one_row, received, received_numbers
from report.figures.parts.received import Panels


def title(data: Panels) -> str:
    place = data.places[0]
    return f"{place.model.name} head {place.head} from layer to layer"


def caption(data: Panels) -> str:
    without, with_it = data.lines.values()
    if data.adds:
        compared = (
            f"What each token of the prompt as it is (“{without}”) gains or loses with "
            f"{received.named(data)}{f' (“{with_it}”)' if with_it != data.label else ''}."
        )
    else:
        compared = (
            f"What each token that “{without}” and “{with_it}” both have gains or loses in the "
            "second, at the positions of the first."
        )
    bands = received.bands(data, "Where both lines are drawn, bands")
    return (
        f"A line is what each token gains or loses. {compared} Heads of the same number in "
        "different layers have nothing in common "
        f"but their number.{bands}\n{received.explained(data)}"
    )


def seen(data: Panels, **state: str) -> str:
    return received_numbers.seen_kept(data, state["reduction"]) + received.straddling(data)


figure = one_row.figure(
    __doc__, title, caption, seen, styles=(received.BLUE, received.RED), cut=True
)
