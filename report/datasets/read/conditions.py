"""Checks of a study of conditions beyond its schemas: segments, counts and positions must fit."""

import numpy as np

from report.datasets.formats import conditions
from report.errors import ReportError


def verify_texts(texts: dict) -> None:
    """Verify a conditions/1 dataset.

    raises: ReportError if two conditions have one name, or if segments, counts or positions do not
        fit the tokens
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


def decoded_received(
    received: dict, texts: dict
) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Decode the received/1 dataset of a head, and verify that it fits its texts.

    texts: the conditions/1 dataset beside it
    returns: condition -> reduction -> (mean, standard error), each float [positions]
    raises: ReportError if conditions, reductions or positions are not those of the texts
    """
    where = f"layer {received['layer']} head {received['head']}"
    names = [condition["name"] for condition in texts["conditions"]]
    if list(received["conditions"]) != names:
        raise ReportError(f"{where}: has conditions {', '.join(received['conditions'])}")
    decoded = conditions.decode_received(received)
    for condition in texts["conditions"]:
        reductions, length = decoded[condition["name"]], len(condition["counts"])
        if list(reductions) != texts["reductions"]:
            raise ReportError(f"{where}, {condition['name']!r}: has {', '.join(reductions)}")
        for name, spread in reductions.items():
            if any(len(values) != length for values in spread):
                what = f"{where}, {condition['name']!r}, {name}"
                raise ReportError(f"{what}: not {length} values, and as many errors")
    return decoded
