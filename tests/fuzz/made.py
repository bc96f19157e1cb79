"""Datasets of every kind, made of numbers: whole folders with checksums, and each file alone."""

from datetime import date
from types import SimpleNamespace

import numpy as np

from report import files
from report.datasets import store
from report.datasets.formats import attention_pair, sides
from report.datasets.read.study import open_study
from report.measurements.effect_rows import EffectRows
from report.measurements.head_statistics import HeadStatistics
from report.measurements.portraits import PortraitTally
from report.measurements.tally import Tally
from report.pages.provenance import provenance
from tests import factored, made_conditions
from tests.figures import hand_atlas, hand_made, hand_table

KINDS = {
    "passage": lambda folder: hand_made.study(folder, "alibi_bias").path,
    "window": lambda folder: hand_made.study(folder, "window").path,
    "sink": lambda folder: hand_made.study(folder, "sink").path,
    "encoder": lambda folder: hand_made.study(folder, "encoder_rotary").path,
    "conditions": lambda folder: made_conditions.study(folder).models[0].path,
    "table": lambda folder: hand_table.study(folder).path,
}


def folder(where, kind):
    """A folder of datasets below `where`, with a manifest as measuring writes it."""
    path = KINDS[kind](where / kind)
    manifest = store.read(path / "manifest.json")
    manifest["files"] = {
        each.relative_to(path).as_posix(): {
            "bytes": each.stat().st_size,
            "sha256": files.sha256(each),
        }
        for each in sorted(path.rglob("*.json"))
        if each.name != "manifest.json"
    }
    manifest.pop("seal", None)
    store.write(path / "manifest.json", store.sealed(manifest))
    return path


def every_dataset(where, prediction):
    """dict of schema to contents of a dataset of it (a dict), of all schemas there are.

    prediction: a `PredictionData` of a study of the tiny model
    """
    found = _factored()
    folders = [prediction.path]
    folders += [folder(where, kind) for kind in ("passage", "conditions", "table")]
    for path in folders:
        for each in sorted(path.rglob("*.json")):
            data = store.read(each)
            found[data["schema"]] = data
    front = SimpleNamespace(title="Heads", author="Ann", date=date(2026, 1, 2))
    study = SimpleNamespace(name="heads", front_matter=front)
    told = provenance(study, open_study([where / "passage"]))
    found["provenance/1"] = store.check(told, "made")
    values = np.arange(12).reshape(3, 4)
    sums = {"itself": np.stack([values] * 6).astype(object)}
    tally = Tally(HeadStatistics(3, 4, sums, rows=40, texts=3), 43, 1)
    found["batch/3"] = store.check(store.sealed(tally.as_json()), "made")
    effects = {"heads": values / 7, "feed_forward": values[:, 0] / 3, "attention_bias": np.zeros(3)}
    rows = EffectRows(
        {0: effects | {"logit": np.float64(1 / 3), "first": np.float64(1)}}, tokens=14
    )
    found["effect-rows/1"] = store.check(rows.as_json(), "made")
    words = {1: {"text": " lamp"}, 2: {"text": "\ufffd", "bytes": "e4 bd"}}
    portraits = PortraitTally(**vars(tally), portraits=hand_atlas.portraits(), words=words)
    found["portrait-batch/2"] = store.check(store.sealed(portraits.as_json()), "made")
    both = attention_pair.encode(found["attention/4"], found["attention/4"])
    found[both["schema"]] = store.check(both, "made")
    return found


def _factored():
    """A file of queries, and one of keys."""
    [queries, *_] = factored.datasets(factored.measured("llama"), 0)
    of_keys = queries.pop("keys")
    named = queries | {"keys": sides.name(of_keys["layer"], of_keys["key_head"])}
    return {each["schema"]: store.check(each, "made") for each in (named, of_keys)}


def everything(path):
    """All that figures can read of a folder of datasets, as dict of name to value or array."""
    [one] = open_study([path]).models
    found = {"manifest": one.manifest, "layers": one.layers, "heads": one.heads}
    if one.manifest["kind"] == "conditions":
        return found | _of_conditions(one)
    found["tokens"] = one.tokens
    for layer, head in np.ndindex(one.layers, one.heads):
        shard = one.attention(layer, head)
        for name in ("score", "probability", "marker_count", "largest_targets"):
            found[name, layer, head] = getattr(shard, name)
    if one.manifest["kind"] == "table":
        about = one.about, one.renderings, one.current, one.classes, one.targets
        shares = [one.shares(target, name) for target in one.targets for name in one.renderings]
        return (
            found
            | {"about": about[:3], "classes": about[3], "targets": about[4]}
            | {("share", number): share for number, share in enumerate(shares)}
        )
    for layer in range(one.layers):
        for table, columns in one.updates(layer).items():
            found |= {("updates", layer, table, name): v for name, v in columns.items()}
    return found | {("heads", name): v for name, v in one.head_statistics.items()}


def _of_conditions(one):
    found = {"prompts": one.prompts}
    for each in one.conditions:
        about = each.label, each.tokens, each.segments, each.added, each.crossings
        found["condition", each.name] = about
        found["counts", each.name] = each.counts
        found["aligned", each.name] = each.aligned(np.arange(len(each.counts)))
    for layer, head in np.ndindex(one.layers, one.heads):
        for name, reductions in one.received(layer, head).items():
            for reduction, (mean, error) in reductions.items():
                found["mean", layer, head, name, reduction] = mean
                found["error", layer, head, name, reduction] = error
    found |= {("effects", name): values for name, values in one.effects.items()}
    return found | {("layers", name): values for name, values in one.layer_effects.items()}


def same(one, other):
    """Whether two results of `everything` are the same, unknown numbers included."""
    if list(one) != list(other):
        return False
    return all(_equal(one[name], other[name]) for name in one)


def _equal(one, other):
    if isinstance(one, np.ndarray) and one.dtype.kind == "f":
        return np.array_equal(one, other, equal_nan=True)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return one == other
