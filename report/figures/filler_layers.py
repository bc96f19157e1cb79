"""How deep a filler's effect goes: one head of several layers, without a filler and with it."""

from report.figures import _controls, _received
from report.figures._one_row import OneRow
from report.figures._received import use  # noqa: F401 (a figure has it)

NAME = "filler_layers"
ROW = OneRow(NAME, (_received.BLUE, _received.RED), cut=True)
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
    head = place.head + _received.COUNTED_FROM
    return f"{place.model.name} Head {head} from layer to layer"


def caption(data):
    without, with_it = data.lines.values()
    return (
        f"“{without}” is the prompt as it is, “{with_it}” the one with "
        f"{_received.named(data)}, which are cut out here, so that both lines are over the same "
        "tokens; positions are those of the prompt without them. Heads of the same number in "
        f"different layers have nothing in common but their number.{_received.bands(data)}\n"
        f"{_received.explained(data)}"
    )


def seen(data, **state):
    return _received.seen_kept(data, **_controls.values(controls(data), state))
