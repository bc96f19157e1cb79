"""What every field of a shard means, its unit and its exactness: a part of the manifest."""

from collections.abc import Iterable
from dataclasses import dataclass

from report.datasets.formats import rounding

LOG = "score, natural logarithm"

CELLS = (
    f"within {rounding.TOP_ERROR:g} at the largest targets of a row and {rounding.CELL_ERROR:g} "
    f"elsewhere, probabilities within {rounding.PROBABILITY_ERROR}"
)
CONTENT = (
    f"{CELLS}; {rounding.TOP_ERROR:g} and {rounding.ROTARY_CELL_ERROR:g} beside a rotation; "
    f"{4 * rounding.TOP_ERROR:g} and {2 * rounding.CELL_ERROR:g} where what positions add is told "
    "apart"
)
ROTATION = (
    f"within {2 * rounding.TOP_ERROR:g} at the largest targets of a row and "
    f"{2 * rounding.ROTARY_CELL_ERROR:g} elsewhere"
)
"""How exact a term of cells is; the rest beside others has the errors of all."""

TERMS = {
    ("content", "cell"): "query times key, both without their bias and not rotated, scaled: what "
    "the two tokens say to each other; without what positions add to the embeddings; " + CONTENT,
    ("content_position", "cell"): "the current token's part of the query times the position's part "
    f"of the key, scaled; {CELLS}",
    ("position_content", "cell"): "the position's part of the query times the target token's part "
    f"of the key, scaled; {CELLS}",
    ("position_position", "cell"): "the position's part of the query times that of the key, "
    f"scaled; {CELLS}",
    ("mixed", "cell"): "query times key, both without their bias and not rotated, scaled: what the "
    "two hidden states say to each other, which hold both tokens and the positions added to their "
    f"embeddings; {CELLS}",
    ("bias", "target"): "query bias times key, not rotated, scaled: depends on the target token "
    f"alone; within {rounding.STEPS['bias'] / 2:g}",
    ("position", "target_difference"): "what the distance of the two tokens adds (ALiBi: the "
    f"tensor the model passes, scaled); within {rounding.STEPS['position']:g}",
    ("position", "cell"): "what the rotation of query and key adds (RoPE), 0 where a token looks "
    f"at itself; {ROTATION}",
    ("row_constant", "current"): "what the current token adds for all targets alike; it counts "
    "where scores are capped or a sink takes part; within "
    f"{rounding.STEPS['row_constant'] / 2:g}",
    ("score", "cell"): f"what enters the softmax; its terms could not be measured; {CELLS}",
}
"""(name of a term, what its values belong to) -> description, and how exact it is."""

OTHERS = {
    "visible": (
        "first and last target that a current token may attend to, both included",
        "index from 0",
    ),
    "softcap": ("scores enter the softmax as softcap * tanh(score / softcap)", "score"),
    "sink": ("a score that takes part in every softmax without being a target", LOG),
    "queries": (
        "what the head asks of other tokens, not rotated, times the scale of scores",
        "square root of score; its components are scaled to be as large as those of keys",
    ),
    "keys": ("the file of the keys that these queries are multiplied by", "name"),
    "targets": (
        "targets of a current token by falling probability, told by their places among those "
        "sorted by score",
        "place from 0",
    ),
    "marker_count": (
        "largest targets that make up half of the probability, or 11 where that takes more",
        "targets, 1 to 11",
    ),
}


@dataclass(frozen=True)
class Fields:
    """Which fields a shard has."""

    terms: dict[str, str]
    """Name of a term -> what its values belong to."""
    others: frozenset[str]
    """Keys of `OTHERS`."""

    @classmethod
    def of(cls, shard: dict) -> "Fields":
        """Those of an attention/4 dataset."""
        terms = {name: term["per"] for name, term in shard["terms"].items()}
        return cls(terms, frozenset(shard.keys() & OTHERS.keys()))


def described(shards: Iterable[Fields]) -> dict[str, dict[str, str]]:
    """Field -> {"description", "unit"}, for the fields that occur in some shards."""
    terms, others = {}, set()
    for shard in shards:
        terms |= shard.terms
        others |= shard.others
    fields = {f"terms.{name}": (TERMS[name, per], LOG) for name, per in terms.items()}
    fields |= {name: about for name, about in OTHERS.items() if name in others}
    return {name: {"description": text, "unit": unit} for name, (text, unit) in fields.items()}
