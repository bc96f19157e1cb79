"""How often a token's top target is the first token, head by head and layer by layer."""

from report.figures.parts import head_sorted

figure = head_sorted.figure(
    __doc__,
    head_sorted.Measure(
        column="first_token",
        title="Attending to the first token",
        counted="A point is a head: how often its top target is the first token.",
        axis="share of tokens whose top target is token 0",
        number=".1%",
        described="Fraction of tokens that attend most to the first token",
        does=("{head} has the first token as its top target most often, for {value} of the tokens"),
    ),
)
