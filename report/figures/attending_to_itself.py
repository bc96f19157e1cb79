"""How often a token's largest target is the token itself, head by head and layer by layer."""

from report.figures.parts import head_sorted

figure = head_sorted.figure(
    __doc__,
    head_sorted.Measure(
        column="itself",
        title="Attending to itself",
        counted="How often the largest target of a token is the token itself.",
        axis="share of tokens whose largest target is themselves",
        number=".1%",
        described="Fraction of tokens that attend most to themselves",
        does=(
            "{head} has the current token itself as its largest target most often, for {value} of "
            "the tokens"
        ),
    ),
)
