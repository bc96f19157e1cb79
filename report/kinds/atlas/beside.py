"""What is told of heads in an atlas besides the measures of `report.measures`."""

from dataclasses import dataclass

from report.measures import Measure


@dataclass(frozen=True)
class Number(Measure):
    """A number of heads that no function of attention gives."""

    in_unit: str = "0 to 1"

    @property
    def unit(self) -> str:
        """The unit of values, in words."""
        return self.in_unit


INDUCTION = Number(
    "induction",
    "Mean probability on the token that came after the earlier occurrence of the current one, in "
    "random tokens said twice.",
    None,
    title="Induction on random tokens",
    axis="mean probability on what came next, random tokens",
    number=".1%",
)
DIRECT = Number(
    "direct",
    "Mean direct effect on the logit of the next token, less that on the mean of all logits.",
    None,
    title="Direct effect on the next token",
    axis="direct effect on the next token (logits)",
    number="+.3f",
    range=(-1e9, None),
    in_unit="logits",
)
LOST = Number(
    "lost",
    "Mean rise of the loss when what a head hands on is replaced by its mean over texts.",
    None,
    title="Lost without the head",
    axis="lost without the head (nats a token)",
    number="+.3f",
    range=(-1e9, None),
    in_unit="nats a token",
)

SUCCESSOR = Number(
    "successor",
    "Share of the words of ordered lists from which the head's weights lead to the next word: what "
    "they make of the word raises the logit of the next one above that of all others of the list.",
    None,
    title="Successor",
    axis="share of words of ordered lists, next one raised most",
    number=".1%",
)
COPYING = Number(
    "copying",
    "Share of frequent words that the head's weights copy: what they make of the word raises the "
    "logits of at most four tokens of the whole vocabulary more than that of the word itself.",
    None,
    title="Copying",
    axis="share of words that are copied",
    number=".1%",
)
SUPPRESSION = Number(
    "suppression",
    "Share of frequent words that the head's weights suppress: what they make of the word lowers "
    "the logits of at most four tokens of the whole vocabulary more than that of the word itself.",
    None,
    title="Copy suppression",
    axis="share of words that are suppressed",
    number=".1%",
)

OF_WEIGHTS = {each.name: each for each in (SUCCESSOR, COPYING, SUPPRESSION)}
"""Name -> number, by the weights alone; measured apart."""

NUMBERS = {each.name: each for each in (INDUCTION, DIRECT, LOST)}
"""Name -> number."""

CONTROLS = {
    INDUCTION.name: "the same places after other random tokens",
    DIRECT.name: "the mean of the other heads of its layer",
    LOST.name: "the mean of the other heads of its layer",
    SUCCESSOR.name: "the mean over all other orders of the same words",
    COPYING.name: "the same of every other word’s token",
    SUPPRESSION.name: "the same of every other word’s token",
}
"""Name -> what the control is; of a measure of attention it is `SHUFFLED`."""

SHUFFLED = "the same tokens, shuffled"

ALSO = {
    "to_previous_token": "previous last preceding one back",
    "induction": "repeat",
    "prefix_matching": "induction natural",
    "to_first_token": "beginning start sink bos",
    "to_itself": "self own current",
    "to_same_token": "duplicate again earlier",
    "to_punctuation": "comma stop delimiter quote bracket separator",
    "to_line_end": "newline break delimiter separator",
    "entropy": "broad diffuse",
    "distance": "far long range",
    "distance_spread": "variance",
    "lost": "matter important ablation loss cause",
    "direct": "logit writes",
    "successor": "ordered increment days months",
    "copying": "copy copies ov",
    "suppression": "anti negative ov",
}
"""Measure -> other words for it; of several that a word may mean, the first here is taken."""
