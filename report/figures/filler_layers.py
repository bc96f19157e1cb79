"""How deep the effect of an addition goes: one head of several layers, without it and with it."""

from report.figures.parts import one_row, received, received_difference, received_numbers
from report.figures.parts.received import Panels


def title(data: Panels) -> str:
    place = data.places[0]
    head = place.head + received.COUNTED_FROM
    return f"{place.model.name} Head {head} from layer to layer"


def caption(data: Panels) -> str:
    without, with_it = data.lines.values()
    if data.adds:
        cut, them = received.number_of(data, "are", "is"), received.number_of(data, "them", "it")
        compared = (
            f"“{without}” is the prompt as it is, “{with_it}” the one with {received.named(data)}, "
            f"which {cut} cut out here. So both lines are over the same tokens, at the positions "
            f"of the prompt without {them}."
        )
    else:
        compared = (
            f"“{without}” and “{with_it}” are two prompts; both lines are over the tokens that "
            "both have, at the positions of the first."
        )
    said = received_difference.said(f"in “{without}”")
    bands = received.bands(data, "Where both lines are drawn, bands")
    return (
        f"{compared} {said} Heads of the same number in different layers have nothing in common "
        f"but their number.{bands}\n{received.explained(data)}"
    )


def seen(data: Panels, **state: str) -> str:
    over = received_difference.reduction(figure.controls(data), state)
    return received_numbers.seen_kept(data, over)


figure = one_row.figure(
    __doc__, title, caption, seen, styles=(received.BLUE, received.RED), cut=True
)
