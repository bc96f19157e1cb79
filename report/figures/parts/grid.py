"""The room that charts have: a figure is one chart, or a grid of them, its panels."""

from dataclasses import dataclass

WIDTH = 720
"""Width in pixels of the picture of a chart that has the width of the text."""

PHONE_WIDTH = 358
"""The same on a phone of 390 pixels."""

GRID_WIDTH = 930
"""The same of all panels of a row together, which may be wider than the text."""


@dataclass(frozen=True)
class Box:
    """The room of one chart, known before it is drawn, so that nothing moves when it is."""

    aspect: float
    """Width / height."""
    phone_aspect: float
    """The same where panels are below each other."""
    width: int = WIDTH
    """Of the still picture, in pixels: about what it has on a page, so that letters keep their
    size."""
    span: int = 1
    """Columns of the grid that it takes."""

    @property
    def size(self):
        """Width and height of the still picture in pixels."""
        return self.width, round(self.width / self.aspect)

    @property
    def phone_size(self):
        """The same of the picture that a phone gets, or None where the other fits it too, with
        letters of the same size."""
        if self.width <= 1.2 * PHONE_WIDTH:
            return None
        return PHONE_WIDTH, round(PHONE_WIDTH / self.phone_aspect)


def boxes(figure, data):
    """The `Box` of every chart of a figure module, in order."""
    if hasattr(figure, "boxes"):
        return figure.boxes(data)
    phone = getattr(figure, "PHONE_ASPECT", figure.ASPECT)
    side_by_side = columns(figure, data)
    width = WIDTH if side_by_side == 1 else GRID_WIDTH // side_by_side
    number = len(figure.panels(data)) if hasattr(figure, "panels") else 1
    return [Box(figure.ASPECT, phone, width)] * number


def columns(figure, data):
    """How many panels stand side by side where there is room; 1 for a figure that is no grid."""
    if hasattr(figure, "columns"):
        return figure.columns(data)
    return getattr(figure, "COLUMNS", 1)


def row_starts(boxes, columns):
    """Which boxes begin a row of the grid: list of bool."""
    found, taken = [], columns
    for box in boxes:
        found.append(taken + box.span > columns)
        taken = box.span if found[-1] else taken + box.span
    return found
