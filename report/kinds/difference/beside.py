"""What is told of heads in two models besides the measures of `report.measures`."""

from report.measures import Measure

DISTANCE = Measure(
    "js_distance",
    "Mean Jensen-Shannon distance between the rows of attention of two models: 0 for equal rows, 1 "
    "for rows that share no target.",
    None,
    title="How far attention moved",
    axis="distance of attention from the reference (0 to 1)",
    number=".3f",
    does="The attention of {head} moved most, by {value} on average",
    counted="A point is a head: how far its attention is from that in the reference, the mean "
    "Jensen-Shannon distance of rows.",
    alt="Mean Jensen-Shannon distance of a head's attention from that in the reference",
)
COSINE = Measure(
    "update_cosine",
    "Mean cosine of what a head adds to the hidden state in two models: 1 for one direction.",
    None,
    title="Direction of the update",
    axis="cosine of the update with that in the reference",
    number=".3f",
    range=(-1, 1),
)
MAGNITUDE = Measure(
    "update_magnitude",
    "Mean length of what a head adds to the hidden state, over that of the hidden state.",
    None,
    title="Length of the update",
    axis="length of the update (of the hidden state’s)",
    number=".1%",
    range=(0, None),
)

EFFECT = Measure(
    "direct_effect",
    "Mean of what a head adds by itself to the logit of the token that comes next, less the mean "
    "over the vocabulary: its direct effect.",
    None,
    title="Direct effect on the next token",
    axis="direct effect on the next token (logits)",
    number=".3f",
    range=(None, None),
)

BOTH = {each.name: each for each in (MAGNITUDE, EFFECT)}
"""Name -> what is measured in both models besides the measures of `report.measures`."""

APART = {each.name: each for each in (DISTANCE, COSINE)}
"""Name -> what is measured of a pair of heads."""
