"""How deep a filler's effect goes: one head of several layers, without a filler and with it."""

from report.figures.parts import choices, one_row, received
from report.figures.parts.received import Panels


def title(data: Panels) -> str:
    place = data.places[0]
    head = place.head + received.COUNTED_FROM
    return f"{place.model.name} Head {head} from layer to layer"


def caption(data: Panels) -> str:
    without, with_it = data.lines.values()
    return (
        f"“{without}” is the prompt as it is, “{with_it}” the one with "
        f"{received.named(data)}, which are cut out here, so that both lines are over the same "
        "tokens; positions are those of the prompt without them. Heads of the same number in "
        f"different layers have nothing in common but their number.{received.bands(data)}\n"
        f"{received.explained(data)}"
    )


def seen(data: Panels, **state: str) -> str:
    return received.seen_kept(data, **choices.values(figure.controls(data), state))


figure = one_row.figure(
    __doc__, title, caption, seen, styles=(received.BLUE, received.RED), cut=True
)
