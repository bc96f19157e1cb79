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
    """Width of the still picture in pixels: about that of a page, so that letters keep their size.
    """
    span: int = 1
    """Columns of the grid that it takes."""
    view: str = ""
    """The value of the switch `view` at which a narrow page shows this panel, where panels draw the
    same numbers in several ways; a wide page shows all of them. "": always."""
    wide: bool = False
    """True if a phone has no room for it."""
    tall: bool = False
    """True if it is as high as all others together, which stand below each other beside it."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the still picture in pixels."""
        return self.width, round(self.width / self.aspect)

    @property
    def phone_size(self) -> tuple[int, int] | None:
        """Width and height in pixels of the picture that a phone gets.

        None where a phone shows the other picture with letters of the same size.
        """
        if self.width <= 1.2 * PHONE_WIDTH:
            return None
        return PHONE_WIDTH, round(PHONE_WIDTH / self.phone_aspect)


def equal_boxes(count: int, columns: int, aspect: float, phone_aspect: float) -> list[Box]:
    """Boxes of one size for `count` charts, `columns` of them side by side."""
    width = WIDTH if columns == 1 else GRID_WIDTH // columns
    return [Box(aspect, phone_aspect, width)] * count


def row_starts(boxes: list[Box], columns: int) -> list[bool]:
    """Whether each box begins a row of the grid."""
    starts, taken = [], columns
    for box in boxes:
        starts.append(taken + box.span > columns)
        taken = box.span if starts[-1] else taken + box.span
        if box.tall:  # what stands beside it has rows of its own
            taken = columns
    return starts
