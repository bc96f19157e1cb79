"""What must hold of a study of conditions beyond its schemas: positions, counts, probabilities."""

import numpy as np

from report.datasets.formats import columnar, conditions
from report.errors import ReportError

SINK = {"row_constant", "score"}
"""Terms of models in which a part of the attention may go to no token."""


def verify_texts(texts):
    """Verify one conditions/1 dataset.

    raises: ReportError if segments, counts or positions do not fit the tokens
    """
    first = texts["conditions"][0]
    names = [each["name"] for each in texts["conditions"]]
    if len(set(names)) < len(names):
        raise ReportError(f"two conditions have one name: {', '.join(names)}")
    for each in texts["conditions"]:
        where, counts = f"condition {each['name']!r}", np.asarray(each["counts"])
        if len(each["tokens"]) > len(counts):
            raise ReportError(f"{where}: {len(each['tokens'])} tokens, {len(counts)} positions")
        if len(counts) == 0 or counts[0] != texts["prompts"] or (np.diff(counts) > 0).any():
            raise ReportError(f"{where}: counts do not fall from {texts['prompts']}, the prompts")
        for segment in each["segments"]:
            if not segment["first"] <= segment["last"] < len(each["tokens"]):
                raise ReportError(f"{where}: segment {segment['name']!r} is not within the tokens")
        if each["added"] not in (None, *(segment["name"] for segment in each["segments"])):
            raise ReportError(f"{where}: no segment is called {each['added']!r}")
        positions = np.asarray(each["positions"], int)
        if len(positions) != len(first["counts"]) or positions.max() >= len(counts):
            raise ReportError(
                f"{where}: positions are not {len(first['counts'])} from -1 to {len(counts) - 1}"
            )


def verify_received(received, texts, terms):
    """Verify one received/1 dataset.

    texts: the conditions/1 dataset beside it; terms: of the model's scores, by their names
    raises: ReportError if conditions or positions are others, if a value is no probability or an
        error is there for a single prompt, or if the probabilities of rows do not add up
    """
    where = f"layer {received['layer']} head {received['head']}"
    decoded = decoded_received(received, texts)
    for each in texts["conditions"]:
        counts = np.asarray(each["counts"])
        for name, (mean, error) in decoded[each["name"]].items():
            said = f"{where}, {each['name']!r}, {name}"
            if not ((mean >= 0) & (mean <= 1)).all():
                raise ReportError(f"{said}: a mean of probabilities is not between 0 and 1")
            if (np.isnan(error) != (counts == 1)).any():
                raise ReportError(f"{said}: errors are not of the positions of several prompts")
            if name != "mean":
                _verify_sum(said, mean, counts, received["step"], sink=bool(SINK & set(terms)))


def decoded_received(received, texts):
    """What `conditions.decode_received` gives, if it has a value for each position of the texts.

    raises: ReportError if conditions, reductions or positions are others
    """
    where = f"layer {received['layer']} head {received['head']}"
    names = [each["name"] for each in texts["conditions"]]
    if list(received["conditions"]) != names:
        raise ReportError(f"{where}: has conditions {', '.join(received['conditions'])}")
    decoded = conditions.decode_received(received)
    for each in texts["conditions"]:
        reductions, number = decoded[each["name"]], len(each["counts"])
        if list(reductions) != texts["reductions"]:
            raise ReportError(f"{where}, {each['name']!r}: has {', '.join(reductions)}")
        for name, (mean, _) in reductions.items():
            if len(mean) != number:
                said = f"{where}, {each['name']!r}, {name}"
                raise ReportError(f"{said}: {len(mean)} values, not {number}")
    return decoded


def verify_effects(effects, texts, layers, heads):
    """Verify the table/1 dataset of effects.

    texts: the conditions/1 dataset beside it; layers, heads: how many there are
    raises: ReportError if rows are missing or too many, or a share is not between 0 and 1
    """
    changed = sum(each["added"] is not None for each in texts["conditions"])
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


def _verify_sum(said, mean, counts, step, sink):
    """Probabilities of a row sum to 1, so weighted by the prompts that have them they do too.

    The same holds of the mean over all rows; where there is a sink, they sum to at most 1.
    """
    total = (mean * counts).sum() / counts[0]
    off = step * (counts.sum() / counts[0]) + 1e-4  # each was rounded
    if total > 1 + off or (total < 1 - off and not sink):
        raise ReportError(f"{said}: probabilities sum to {total:.4f}, not 1")
