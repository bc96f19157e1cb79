"""How often a token's top target is the token itself, head by head and layer by layer."""

from report.figures.parts import head_sorted

figure = head_sorted.figure(
    __doc__,
    head_sorted.Measure(
        column="itself",
        title="Attending to itself",
        counted="A point is a head: how often its top target is the current token itself.",
        axis="share of tokens whose top target is themselves",
        number=".1%",
        described="Fraction of tokens that attend most to themselves",
        does=(
            "{head} has the current token itself as its top target most often, for {value} of "
            "the tokens"
        ),
    ),
)
