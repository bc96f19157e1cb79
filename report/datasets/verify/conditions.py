"""What must hold of a study of conditions beyond its schemas: positions, counts, probabilities."""

from collections.abc import Iterable

import numpy as np

from report.datasets.formats import columnar, conditions
from report.errors import ReportError

SINK = {"row_constant", "score"}
"""Terms of models in which part of the attention may go to no token."""


def verify_texts(texts: dict) -> None:
    """Verify one conditions/1 dataset.

    raises: ReportError if segments, counts or positions do not fit the tokens
    """
    first = texts["conditions"][0]
    names = [condition["name"] for condition in texts["conditions"]]
    if len(set(names)) < len(names):
        raise ReportError(f"two conditions have one name: {', '.join(names)}")
    for condition in texts["conditions"]:
        where, counts = f"condition {condition['name']!r}", np.asarray(condition["counts"])
        tokens, segments = len(condition["tokens"]), condition["segments"]
        if tokens > len(counts):
            raise ReportError(f"{where}: {tokens} tokens, {len(counts)} positions")
        if len(condition.get("shown", condition["tokens"])) != tokens:
            raise ReportError(
                f"{where}: what {tokens} tokens show has {len(condition['shown'])} texts"
            )
        if len(counts) == 0 or counts[0] != texts["prompts"] or (np.diff(counts) > 0).any():
            raise ReportError(
                f"{where}: counts must begin at the number of prompts, {texts['prompts']}, and "
                "never rise"
            )
        for segment in segments:
            if not segment["first"] <= segment["last"] < tokens:
                raise ReportError(f"{where}: segment {segment['name']!r} is not within the tokens")
        if condition["added"] not in (None, *(segment["name"] for segment in segments)):
            raise ReportError(f"{where}: no segment is called {condition['added']!r}")
        positions = np.asarray(condition["positions"], int)
        if len(positions) != len(first["counts"]) or positions.max() >= len(counts):
            raise ReportError(
                f"{where}: positions are not {len(first['counts'])} from -1 to {len(counts) - 1}"
            )


def verify_received(received: dict, texts: dict, terms: Iterable[str]) -> None:
    """Verify one received/1 dataset.

    texts: the conditions/1 dataset beside it; terms: names of the terms of the model's scores
    raises: ReportError if conditions or positions are not those of the texts, if a value is no
        probability or a single prompt has an error, or if the probabilities of rows do not add up
    """
    where = f"layer {received['layer']} head {received['head']}"
    decoded = decoded_received(received, texts)
    for condition in texts["conditions"]:
        counts = np.asarray(condition["counts"])
        for name, (mean, error) in decoded[condition["name"]].items():
            what = f"{where}, {condition['name']!r}, {name}"
            if not ((mean >= 0) & (mean <= 1)).all():
                raise ReportError(f"{what}: a mean of probabilities is not between 0 and 1")
            if (np.isnan(error) != (counts == 1)).any():
                raise ReportError(f"{what}: errors are not of the positions of several prompts")
            if name != "mean":
                _verify_sum(what, mean, counts, received["step"], sink=bool(SINK & set(terms)))


def decoded_received(
    received: dict, texts: dict
) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """The result of `conditions.decode_received`, with a value for each position of the texts.

    texts: the conditions/1 dataset beside it
    raises: ReportError if conditions, reductions or positions are not those of the texts
    """
    where = f"layer {received['layer']} head {received['head']}"
    names = [condition["name"] for condition in texts["conditions"]]
    if list(received["conditions"]) != names:
        raise ReportError(f"{where}: has conditions {', '.join(received['conditions'])}")
    decoded = conditions.decode_received(received)
    for condition in texts["conditions"]:
        reductions, number = decoded[condition["name"]], len(condition["counts"])
        if list(reductions) != texts["reductions"]:
            raise ReportError(f"{where}, {condition['name']!r}: has {', '.join(reductions)}")
        for name, (mean, _) in reductions.items():
            if len(mean) != number:
                what = f"{where}, {condition['name']!r}, {name}"
                raise ReportError(f"{what}: {len(mean)} values, not {number}")
    return decoded


def verify_effects(effects: dict, texts: dict, layers: int, heads: int) -> None:
    """Verify the table/1 dataset of effects.

    texts: the conditions/1 dataset beside it; layers, heads: how many there are
    raises: ReportError if rows are missing or too many, or a share is not between 0 and 1
    """
    changed = sum(condition["added"] is not None for condition in texts["conditions"])
    sizes = {"effects": layers * heads, "layers": layers}
    decoded = columnar.decode(effects)
    if decoded.keys() != sizes.keys():
        raise ReportError(f"has the tables {', '.join(decoded)}, not {', '.join(sizes)}")
    for name, size in sizes.items():
        columns, rows = decoded[name], changed * len(conditions.ROWS) * size
        if len(columns["layer"]) != rows:
            raise ReportError(f"table {name!r} has {len(columns['layer'])} rows, not {rows}")
        for share in ("lambda", "total_variation"):
            values = columns[share]
            if not ((values >= 0) & (values <= 1)).all():
                raise ReportError(f"table {name!r}: {share} is not between 0 and 1")


def _verify_sum(what, mean, counts, step, sink):
    """Stop unless the probabilities of a row sum to 1, or to at most 1 where there is a sink.

    mean: [position] over the prompts that have it; weighting each by the number of those prompts
        gives the mean over prompts of the row's sum. The same holds for the mean over all rows
    """
    total = (mean * counts).sum() / counts[0]
    off = step * (counts.sum() / counts[0]) + 1e-4  # each was rounded
    if total > 1 + off or (total < 1 - off and not sink):
        raise ReportError(f"{what}: probabilities sum to {total:.4f}, not 1")
