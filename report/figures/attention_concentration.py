"""How far the top target stands out from the second, head by head and layer by layer."""

from report.figures.parts import head_sorted

figure = head_sorted.figure(
    __doc__,
    head_sorted.Measure(
        column="concentration",
        title="Attention concentration",
        counted=(
            "A point is a head: how far its largest probability is above the second, on average."
        ),
        axis="largest − second largest probability, mean",
        number=".3f",
        described="Mean difference between the largest and the second largest probability",
        does="{head} is the most concentrated, its top target {value} ahead of the next",
    ),
)
