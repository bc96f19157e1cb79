"""The look of the figures as custom properties, written before `web/figure/figures.css`."""

from report.figures.parts import target_classes, theme

ROOT = 20
"""Pixels of a rem, as Material for MkDocs has it where a window is not very wide."""


TOKENS = {
    "light": ("#dfe5f7", "#fbe3d3", "#d9efe6", "#f2dff0", "#f6edc6", "#d8edf5"),
    "dark": ("#363f63", "#5c3d2a", "#23503f", "#573553", "#524a1e", "#234b5a"),
}
"""Behind the tokens of a passage, in turn: they part neighbours, and have no meaning."""

LOOKED = ("#f0962e", "#95530a")
"""Behind a token that gets all attention: (colour on light, colour on dark). It is the orange of
another token in `theme.KINDS`, in a lightness on which text is read."""


def css() -> str:
    """A style sheet with the sizes of type and every colour; on paper, colours are light."""
    sizes = [f"--type-{name}: {size / ROOT:g}rem;" for name, size in theme.TYPE.items()]
    light, dark = ([f"--figure-{n}: {pair[s]};" for n, pair in _colours().items()] for s in (0, 1))
    return "\n".join(
        [
            "/* Written from report/figures/parts/theme.py; edit that. */",
            _block(":root", [f"--figure-font: {theme.FONT};", *sizes, *light]),
            "@media screen {",
            _block('[data-md-color-scheme="slate"]', dark),
            "}\n\n",
        ]
    )


def _block(selector, lines):
    return "\n".join([f"{selector} {{", *(f"  {line}" for line in lines), "}"])


def _colours():
    """dict of name to (colour on light, colour on dark)."""
    shades = {"ink": theme.INK, "paper": theme.PAPER, "soft": theme.SOFT}
    shades |= {"context": theme.CONTEXT, "faint": theme.FAINT}
    roles = {f"role-{name}": look[1:] for name, look in target_classes.ROLES.items()}
    tokens = zip(TOKENS["light"], TOKENS["dark"], strict=True)
    return {
        **{name: (colour["light"], colour["dark"]) for name, colour in shades.items()},
        "accent": theme.FIRST,
        **roles,
        **{f"token-{number}": pair for number, pair in enumerate(tokens)},
        "looked": LOOKED,
    }
