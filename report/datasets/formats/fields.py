"""What every field of a shard means, its unit and its exactness: a part of the manifest."""

from collections.abc import Iterable
from dataclasses import dataclass

from report.datasets.formats import rounding
from report.datasets.formats.attention_terms import PLACED

LOG = "score, natural logarithm"

TERMS = {
    ("content", "cell"): "query times key, both without their bias and not rotated, scaled: what "
    "the two tokens say to each other; without what positions add to the embeddings",
    ("content_position", "cell"): "the current token's part of the query times the position's part "
    "of the key, scaled",
    ("position_content", "cell"): "the position's part of the query times the target token's part "
    "of the key, scaled",
    ("position_position", "cell"): "the position's part of the query times that of the key, scaled",
    ("mixed", "cell"): "query times key, both without their bias and not rotated, scaled: what the "
    "two hidden states say to each other, which hold both tokens and the positions added to their "
    "embeddings",
    ("bias", "target"): "query bias times key, not rotated, scaled: depends on the target token "
    "alone",
    ("position", "target_difference"): "what the distance of the two tokens adds (ALiBi: the "
    "tensor the model passes, scaled)",
    ("position", "cell"): "what the rotation of query and key adds (RoPE), 0 where a token looks "
    "at itself",
    ("row_constant", "current"): "what the current token adds for all targets alike; it counts "
    "where scores are capped or a sink takes part",
    ("score", "cell"): "what enters the softmax; its terms could not be measured",
}
"""(name of a term, what its values belong to) -> description."""

OTHERS = {
    "visible": (
        "first and last target that a current token may attend to, both included",
        "index from 0",
    ),
    "softcap": ("scores enter the softmax as softcap * tanh(score / softcap)", "score"),
    "sink": ("a score that takes part in every softmax without being a target", LOG),
    "log_normalizer": (
        "logarithm of the sum of exp(score), as it enters the softmax, over the targets of a "
        "current token, and the sink if there is one",
        "natural logarithm",
    ),
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
    "largest_targets": ("targets of a current token by falling probability", "index from 0 or -1"),
}


@dataclass(frozen=True)
class Fields:
    """Which fields a shard has."""

    terms: dict[str, str]
    """Name of a term -> what its values belong to."""
    others: frozenset[str]
    """Keys of `OTHERS`."""
    products: bool = False
    """Whether it has queries and keys."""

    @classmethod
    def of(cls, shard: dict) -> "Fields":
        """Those of an attention/3 or attention/4 dataset."""
        terms = {name: term["per"] for name, term in shard["terms"].items()}
        return cls(terms, frozenset(shard.keys() & OTHERS.keys()), "queries" in shard)


def described(shards: Iterable[Fields]) -> dict[str, dict[str, str]]:
    """Field -> {"description", "unit"}, for the fields that occur in some shards."""
    terms, others, forms = {}, set(), set()
    for shard in shards:
        terms |= shard.terms
        others |= shard.others
        forms.add(shard.products)
    fields = {
        f"terms.{name}": (f"{TERMS[name, per]}; {_exactness(name, per, terms, forms)}", LOG)
        for name, per in terms.items()
    }
    fields |= {name: about for name, about in OTHERS.items() if name in others}
    return {name: {"description": text, "unit": unit} for name, (text, unit) in fields.items()}


def _exactness(name, per, terms, forms):
    products = per == "cell" and True in forms
    told = [_of_cells(name, per, terms)] if False in forms or not products else []
    if products:
        both = 1 + (name == "position")  # it also has the error of content
        told.append(
            f"where a file has queries and keys, within {both * rounding.TOP_ERROR:g} at the "
            f"largest targets and {both * rounding.CELL_ERROR:g} elsewhere, probabilities within "
            f"{rounding.PROBABILITY_ERROR}"
        )
    return "; ".join(told)


def _of_cells(name, per, terms):
    if per != "cell":
        half = rounding.STEPS[name] / 2
        return f"within {2 * half if per == 'target_difference' else half:g}"
    if name == "position" or name in PLACED[1:]:
        bounds = [(p, _half(p)) for p, _ in rounding.CELL_COARSENING]
        return f"within {_listed(bounds)}, the largest targets within {bounds[0][1]:g}"
    # this term takes up the rounding errors of the others, beside its own
    alone = sum(rounding.STEPS[n] / 2 for n, p in terms.items() if p in ("target", "current"))
    alone += rounding.STEPS["position"] * (terms.get("position") == "target_difference")
    others = [n for n, p in terms.items() if p == "cell" and (n == "position" or n in PLACED[1:])]
    bounds = [
        (p, rounding.STEPS[name] * multiple / 2 + alone + len(others) * _half(p))
        for p, multiple in rounding.COARSENING
    ]
    return f"within {_listed(bounds)}; probabilities within {rounding.PROBABILITY_ERROR}"


def _half(probability):
    """The largest error of a term of cells that content corrects, at a probability."""
    multiple = next(m for lower, m in rounding.CELL_COARSENING if probability >= lower)
    return rounding.CELL_STEP * multiple / 2


def _listed(bounds):
    errors = ", ".join(f"{error:.3g}" for _, error in bounds)
    return f"{errors} where the probability is at least {', '.join(f'{p:g}' for p, _ in bounds)}"
