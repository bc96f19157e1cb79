"""The datasets of a built site: every schema, checksum and number, and that all fit together.

Beyond schemas: the probabilities of a shard sum to what they should, which they do only if none is
lost; effects on predictions sum and are in order; the parts of a table fit together.
"""

import functools
from pathlib import Path

import numpy as np

from report import files
from report.datasets import store
from report.datasets.formats import answers, attention, class_shares, generated, keys
from report.datasets.formats.prediction_head import step_of
from report.datasets.formats.prediction_lens import STEP as LENS_STEP
from report.datasets.formats.token_classes import CLASSES
from report.datasets.verify.conditions import verify_effects, verify_received, verify_texts
from report.errors import ReportError
from report.kinds.prediction.data import PredictionData, Sentence
from report.kinds.prediction.pieces import Head
from report.kinds.table.data import TableData

CLASS_SUM_ERROR = len(CLASSES) * class_shares.STEP
"""How far the sum over the classes of a head may be off: each share is rounded."""
SHARE_ERROR = 0.002
"""How far a share may be from the one computed from the attention files, which are rounded."""


def verify_table(data: TableData) -> None:
    """Verify the datasets of one article about a table.

    raises: ReportError if tokens lie outside the table, if the classes of a head do not add up to
        1, or if the shares of the first rendering do not follow from its attention files
    """
    rows, columns = data.about["rows"], len(data.about["columns"])
    for text in data.renderings.values():
        for token in text.tokens:
            needed = {"value": token.row >= 0 <= token.column, "header": token.column >= 0}
            inside = token.row < rows and token.column < columns
            if not (inside and needed.get(token.role, token.row == token.column == -1)):
                raise ReportError(
                    f"rendering {text.name!r}: token {token.index} is a {token.role} of row "
                    f"{token.row}, column {token.column}, in a table of {rows} rows and {columns} "
                    "columns"
                )
    first = data.first
    if [token.id for token in first.tokens] != [token.id for token in data.tokens]:
        raise ReportError(f"rendering {first.name!r} has other tokens than the passage")
    for name in data.renderings:
        total = sum(data.shares(target, name) for target in data.targets)
        if (np.abs(total - 1) > CLASS_SUM_ERROR).any():
            layer, head = np.unravel_index(np.abs(total - 1).argmax(), total.shape)
            raise ReportError(
                f"rendering {name!r}: the classes of layer {layer} head {head} do not add up"
            )
    _verify_shares(data, first.name)


def _verify_shares(data, name):
    targets = data.targets[: -1 if "other" in data.targets else None]
    given = {target: data.shares(target, name) for target in targets}
    classes = data.classes[data.current]
    for layer, head in np.ndindex(data.layers, data.heads):
        probability = data.attention(layer, head).probability[data.current]
        for target in targets:
            member = classes == list(CLASSES).index(target)
            computed = (probability * member).sum(1).mean()
            if abs(computed - given[target][layer, head]) > SHARE_ERROR:
                raise ReportError(
                    f"rendering {name!r}: layer {layer} head {head} gives {computed:.4f} to "
                    f"{target}, but the dataset says {given[target][layer, head]:.4f}"
                )


def verify_prediction(data: PredictionData) -> None:
    """Verify the datasets of one article about predictions.

    raises: ReportError if direct effects do not sum to the logit, a head's targets not to its
        effect, its probabilities to more than 1, parts of a score not to it, or if a guess is less
        likely than the next one
    """
    for sentence in data.sentences:
        _verify_sum(sentence)
        if data.has_lens:
            _verify_lens(sentence)
        for layer, head in np.ndindex(sentence.heads.shape[1:]):
            _verify_head(sentence, sentence.head(layer, head))


def _verify_sum(sentence):
    parts = [sentence.heads, sentence.attention_bias, sentence.feed_forward]
    parts = [part.reshape(sentence.rows, -1) for part in parts]
    parts += [sentence.embedding[:, None], sentence.rest[:, None]]
    whole = np.concatenate(parts, 1)
    _require_sum(sentence, "direct effects", whole.sum(1), sentence.logit, whole.shape[1] + 2)
    if len(sentence.tokens) != sentence.length:
        raise ReportError(f"{_name(sentence)} has {len(sentence.tokens)} tokens")
    if sentence.rows != sentence.length - (not sentence.asks):
        raise ReportError(f"{_name(sentence)} has {sentence.rows} rows")


def _verify_head(sentence, head: Head):
    name = f"effects by target of L{head.layer}H{head.head}"
    direct = sentence.heads[:, head.layer, head.head]
    step = step_of(sentence.length)
    _require_sum(sentence, name, head.effect.sum(1), direct, sentence.length + 1, step)
    share = head.probability.sum(1)
    if (head.probability < 0).any() or (share > 1 + step * sentence.length / 2).any():
        raise ReportError(f"{_name(sentence)}: L{head.layer}H{head.head} gives {share.max():.4f}")
    if head.origins is not None:
        score = head.origins.score - head.origins.position
        for parts in (head.origins.by_query, head.origins.by_key):
            name = f"parts of the scores of L{head.layer}H{head.head}"
            _require_sum(sentence, name, parts.sum(0), score, len(parts) + 2, 0.001)


def _verify_lens(sentence: Sentence):
    lens = sentence.lens
    if lens.tokens.shape[:2] != (2 * sentence.heads.shape[1] + 1, sentence.rows):
        raise ReportError(f"{_name(sentence)}: its lens has {lens.tokens.shape[:2]} states")
    if (np.diff(lens.log_probability, axis=-1) > LENS_STEP).any():
        raise ReportError(f"{_name(sentence)}: a guess of its lens is likelier than the one before")
    if (lens.log_probability > 0).any() or (lens.target_log_probability > 0).any():
        raise ReportError(f"{_name(sentence)}: its lens has a probability above 1")


def _require_sum(sentence, what, found, told, terms, step=0.0001):
    """Each of the terms is off by half a step, at most."""
    most = terms * step / 2 * 1.001 + 1e-4
    off = np.abs(found - told)
    if (off > most).any():
        raise ReportError(
            f"{_name(sentence)}: {what} sum to {found[off.argmax()]:.4f}, not to "
            f"{told[off.argmax()]:.4f}"
        )


def _name(sentence):
    return f"text {sentence.number}"


SUM_ERROR = 1e-4
"""How far the sum of a row's probabilities may be off: the normalizers are rounded."""


def verify_attention(shard: dict) -> None:
    """Verify one attention/3 dataset, or one attention/4 dataset with its keys.

    raises: ReportError if values are missing or too many, if the probabilities of a row do not add
        up to 1 less what the sink takes, or if targets or markers do not fit what is visible
    """
    where, ranks = f"layer {shard['layer']} head {shard['head']}", attention.RANKS
    decoded = attention.decode(shard)
    left = 1.0
    if decoded.sink is not None:
        with np.errstate(over="ignore"):
            left -= np.exp(decoded.sink - decoded.log_normalizer)
    wrong = ~(np.abs(decoded.probability.sum(1) - left) <= SUM_ERROR)
    if wrong.any():
        raise ReportError(f"{where}: probabilities of token {wrong.argmax()} do not add up")
    visible = decoded.visible
    ends = zip(visible.first.tolist(), visible.last.tolist(), strict=True)
    for current, (first, last) in enumerate(ends):
        targets = decoded.largest_targets[current].tolist()
        number = min(ranks, last - first + 1)
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
"""The dataset that those of all heads are compared with."""


def check_datasets(folder: Path, counts: dict[str, int]) -> list[str]:
    """What is wrong with the datasets of a built site, as phrases that begin with the file.

    folder: of the site
    counts: its entry "datasets" is raised by one a dataset
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
            wrong = _check_numbers(name, data, manifest, beside)
            problems += [f"{where}: {problem}" for problem in wrong]
            counts["datasets"] += 1
        there = {p.relative_to(manifest_path.parent) for p in manifest_path.parent.rglob("*.json")}
        listed = {Path(name) for name in [*manifest["files"], "manifest.json"]}
        problems += [
            f"{(manifest_path.parent / name).relative_to(folder)}: is in no manifest"
            for name in sorted(there - listed)
        ]
        whole = {manifest["kind"], *(["prediction"] if "prediction" in manifest else [])}
        for kind in sorted(whole & WHOLE.keys()):
            problems += _check_whole(kind, manifest_path.parent, folder)
    return problems


WHOLE = {
    "table": lambda path: verify_table(TableData(path)),
    "prediction": lambda path: verify_prediction(PredictionData(path)),
}
"""Kind of article -> checks all its datasets together; ReportError if they do not fit. A passage
may have predictions besides."""


def _check_whole(kind, path, folder):
    """What does not fit together in the datasets of an article, as phrases."""
    try:
        WHOLE[kind](path)
    except ReportError as error:
        return [f"{path.relative_to(folder)}: {error}"]
    return []


def _beside(folder, name):
    """Another dataset of a folder."""
    return store.read(files.inside(folder, name))


def _check_numbers(name, data, manifest, beside):
    """What is wrong with the numbers of a dataset beyond its schema, as phrases.

    name: of its file in the folder of the datasets
    beside: gives other datasets of that folder by their names
    """
    verifying = {
        "attention/3": _verify_shard,
        "attention/4": _verify_shard,
        "keys/1": _verify_keys,
        "conditions/1": lambda name, data, *_: verify_texts(data),
        "received/1": _verify_received,
    }
    if name == "effects.json":
        verifying["table/1"] = _verify_effects
    if name == answers.FILE:
        verifying["table/1"] = _verify_answers
    if name == generated.FILE:
        verifying["table/1"] = _verify_generated
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
    if name != keys.name(data["layer"], data["key_head"]):
        raise ReportError(f"is of layer {data['layer']} key head {data['key_head']}")
    keys.decode(data)


def _verify_received(name, received, manifest, beside):
    _require_place(name, "received", received)
    terms = manifest["model"]["capabilities"]["terms"]
    verify_received(received, beside(TEXTS), terms)


def _verify_effects(_, effects, manifest, beside):
    model = manifest["model"]
    layers, heads = model["layers_measured"], model["num_attention_heads"]
    verify_effects(effects, beside(TEXTS), layers, heads)


def _verify_answers(_, table, manifest, __):
    answers.decode(table, manifest["answers"])


def _verify_generated(_, table, manifest, __):
    model = manifest["model"]
    layers = model["layers_measured"]
    generated.decode(table, manifest["generated"], layers * model["num_attention_heads"], layers)


def _require_place(name, kind, data):
    if name != f"{kind}/{data['layer']}/{data['head']}.json":
        raise ReportError(f"is of layer {data['layer']} head {data['head']}")
