"""How deep a filler's effect goes: one head of several layers, without a filler and with it."""

from report.figures.parts import choices, received
from report.figures.parts.one_row import OneRow
from report.figures.parts.received import use  # noqa: F401 (a figure has it)

NAME = "filler_layers"
ROW = OneRow(NAME, (received.BLUE, received.RED), cut=True)
left_out = ROW.left_out
controls = ROW.controls
columns = ROW.columns
boxes = ROW.boxes
panels = ROW.panels
legends = ROW.legends
chart = ROW.chart
rows = ROW.rows
alt = ROW.alt


def title(data):
    place = data.places[0]
    head = place.head + received.COUNTED_FROM
    return f"{place.model.name} Head {head} from layer to layer"


def caption(data):
    without, with_it = data.lines.values()
    return (
        f"“{without}” is the prompt as it is, “{with_it}” the one with "
        f"{received.named(data)}, which are cut out here, so that both lines are over the same "
        "tokens; positions are those of the prompt without them. Heads of the same number in "
        f"different layers have nothing in common but their number.{received.bands(data)}\n"
        f"{received.explained(data)}"
    )


def seen(data, **state):
    return received.seen_kept(data, **choices.values(controls(data), state))
