"""A grid with one row of panels: heads side by side, two conditions in each."""

from dataclasses import dataclass

from report.figures.parts import choices, received


@dataclass(frozen=True)
class OneRow:
    """What such a figure is made of, all but its words; a figure module takes its methods."""

    name: str
    styles: tuple
    """A `_received.Style` for each condition."""
    cut: bool
    """Whether what the second condition adds is left out, so that both are over the same tokens."""
    span: str = ""
    """What a grey span is called where the conditions have what they add; shown if all have it at
    the same positions. "": none."""

    def left_out(self, data):
        """Why this figure cannot be drawn, in one sentence; "" if it can."""
        return received.left_out(data, len(self.styles))

    def controls(self, data):
        return [received.reduction_control()]

    def columns(self, data):
        """Panels side by side."""
        return len(data.places)

    def boxes(self, data):
        """The room of each panel."""
        return received.boxes(data, 1)

    def panels(self, data):
        """Titles of the panels."""
        return [place.title for place in data.places]

    def legends(self, data):
        """What the lines are."""
        span = self.span if self.shaded(data) else ""
        return [received.legend(received.styled(data, *self.styles), span)]

    def shaded(self, data):
        """Whether all panels have the grey span."""
        return all(self._span(data, place) for place in data.places)

    def chart(self, data, panel=0, **state):
        at = choices.at_state(self.controls(data), state)
        parts = self._panel(data, panel)
        span = self._span(data, parts["place"])
        return received.chart(self.name, **parts, controls=at, filler=span)

    def rows(self, data, panel=0, **state):
        at = choices.values(self.controls(data), state)
        return received.rows(**self._panel(data, panel), **at)

    def alt(self, data, panel=0, **state):
        at = choices.values(self.controls(data), state)
        return received.alt(**self._panel(data, panel), **at)

    def _span(self, data, place):
        """The span's name, if a place has one."""
        added = {place.model.condition(name).new for name in data.lines}
        return self.span if len(added) == 1 and all(added) else ""

    def _panel(self, data, number):
        received.check(self.name, data, len(self.styles))
        lines = received.styled(data, *self.styles)
        return {"place": data.places[number], "lines": lines, "cut": self.cut}
