"""The grounds behind the tokens of a passage."""

TOKENS = {
    "light": ("#dfe5f7", "#fbe3d3", "#d9efe6", "#f2dff0", "#f6edc6", "#d8edf5"),
    "dark": ("#363f63", "#5c3d2a", "#23503f", "#573553", "#524a1e", "#234b5a"),
}
"""In turn: they part neighbours, and have no meaning."""

LOOKED = ("#f0962e", "#95530a")
"""Behind a token that gets all attention: (colour on light, colour on dark). It is the orange of
another token in `theme.KINDS`, in a lightness on which text is read."""
