"""The datasets of a built site: every schema, checksum and number, and that all fit together.

Beyond schemas: a shard has all its values, and largest targets that it sees; effects on predictions
sum and are in order; the parts of a table fit together.
"""

import functools
from pathlib import Path

from report import files
from report.datasets import store
from report.datasets.formats import attention, sides
from report.datasets.formats.ranking import RANKS
from report.datasets.verify.conditions import verify_effects, verify_received, verify_texts
from report.errors import ReportError
from report.kinds import folders, questions


def verify_attention(shard: dict) -> None:
    """Verify the attention/4 dataset of one head.

    shard: if it has "keys", with the keys/1 dataset there in place of its name
    raises: ReportError if values are missing or too many, or if a current token lists targets that
        it does not see, or has more markers than targets
    """
    where = f"layer {shard['layer']} head {shard['head']}"
    decoded = attention.decode(shard)
    visible = decoded.visible
    ends = zip(visible.first.tolist(), visible.last.tolist(), strict=True)
    for current, (first, last) in enumerate(ends):
        targets = decoded.largest_targets[current].tolist()
        number = min(RANKS, last - first + 1)
        listed = targets[:number]
        inside = all(first <= target <= last for target in listed)
        padded = all(target == -1 for target in targets[number:])
        if not (inside and padded and len(set(listed)) == number):
            raise ReportError(
                f"{where}: the largest targets of token {current} are not {number} that it sees"
            )
        if decoded.marker_count[current] > number:
            raise ReportError(f"{where}: token {current} has more markers than targets")


TEXTS = "conditions.json"
"""The conditions/1 dataset, the prompts that received/1 datasets and effects have to fit."""


def check_datasets(folder: Path, counts: dict[str, int]) -> list[str]:
    """Problems of the datasets of a built site: phrases that begin with the file.

    folder: of the site
    counts: its entry "datasets" grows by one a dataset, but for manifests and unreadable files
    """
    problems = []
    for manifest_path in sorted(folder.glob("datasets/*/*/manifest.json")):
        try:
            manifest = store.read(manifest_path)
        except ReportError as error:
            problems.append(str(error))
            continue
        if not store.is_whole(manifest):
            where = manifest_path.relative_to(folder)
            problems.append(f"{where}: not the manifest that was written")
        beside = functools.lru_cache(4)(functools.partial(_beside, manifest_path.parent))
        for name, facts in manifest["files"].items():
            try:
                path = files.inside(manifest_path.parent, name)
                data = store.read(path)
            except ReportError as error:
                problems.append(str(error))
                continue
            where = path.relative_to(folder)
            if files.sha256(path) != facts["sha256"]:
                problems.append(f"{where}: not the file that was measured")
            of_numbers = _check_numbers(name, data, manifest, beside)
            problems += [f"{where}: {problem}" for problem in of_numbers]
            counts["datasets"] += 1
        there = {p.relative_to(manifest_path.parent) for p in manifest_path.parent.rglob("*.json")}
        listed = {Path(name) for name in [*manifest["files"], "manifest.json"]}
        problems += [
            f"{(manifest_path.parent / name).relative_to(folder)}: is in no manifest"
            for name in sorted(there - listed)
        ]
        kinds = {manifest["kind"], *(kind for kind in questions() if kind in manifest)}
        for kind in sorted(kinds):
            problems += _check_together(kind, manifest_path.parent, folder)
    return problems


def _check_together(kind, path, folder):
    """Problems of the datasets of one kind and model that do not fit together: phrases.

    path: of the datasets; folder: of the site
    """
    try:
        folders.verify(kind, path)
    except ReportError as error:
        return [f"{path.relative_to(folder)}: {error}"]
    return []


def _beside(folder, name):
    """Another dataset of a folder."""
    return store.read(files.inside(folder, name))


def _check_numbers(name, data, manifest, beside):
    """Problems of the numbers of a dataset beyond its schema: phrases, at most one.

    name: of its file in the folder of the datasets
    beside: function of the name of another dataset of that folder -> its content
    """
    verifying = {
        "attention/4": _verify_shard,
        "keys/1": _verify_keys,
        "conditions/1": lambda name, data, *_: verify_texts(data),
        "received/1": _verify_received,
    }
    if name == "effects.json":
        verifying["table/1"] = _verify_effects
    try:
        if data["schema"] in verifying:
            verifying[data["schema"]](name, data, manifest, beside)
    except ReportError as error:
        return [str(error)]
    return []


def _verify_shard(name, shard, manifest, beside):
    _require_place(name, "attention", shard)
    if shard["tokens"] != manifest["passage"]["tokens"]:
        raise ReportError(
            f"has {shard['tokens']} tokens, the passage {manifest['passage']['tokens']}"
        )
    if "keys" in shard:
        shard = shard | {"keys": beside(shard["keys"])}
    verify_attention(shard)


def _verify_keys(name, data, *_):
    if name != sides.name(data["layer"], data["key_head"]):
        raise ReportError(f"is of layer {data['layer']} key head {data['key_head']}")
    sides.decode(data)


def _verify_received(name, received, manifest, beside):
    _require_place(name, "received", received)
    terms = manifest["model"]["capabilities"]["terms"]
    verify_received(received, beside(TEXTS), terms)


def _verify_effects(_, effects, manifest, beside):
    model = manifest["model"]
    layers, heads = model["layers_measured"], model["num_attention_heads"]
    verify_effects(effects, beside(TEXTS), layers, heads)


def _require_place(name, kind, data):
    if name != f"{kind}/{data['layer']}/{data['head']}.json":
        raise ReportError(f"is of layer {data['layer']} head {data['head']}")
