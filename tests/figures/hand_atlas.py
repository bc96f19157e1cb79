"""A small atlas of heads, made of numbers and not by a model, in the files that a real one has."""

from types import SimpleNamespace

import numpy as np

from report.datasets.formats import composition, head_statistics, head_writes
from report.datasets.formats import portraits as form
from report.datasets.write.folder import Folder
from report.kinds.atlas.beside import COPYING, NUMBERS, SUCCESSOR, SUPPRESSION
from report.kinds.atlas.data import opened
from report.kinds.atlas.measure import Means
from report.measurements.portraits import STARTS, Portraits, TextPortrait
from report.measures import shipped
from tests.figures import hand_made

LAYERS, HEADS, TEXTS = 3, 4, 9
PREVIOUS, INDUCTION = (1, 2), (2, 1)
"""Heads that do one thing: look at the token before, and find what came next."""
TOLD = {
    "to_previous_token": (PREVIOUS, 0.9, 0.88),
    "prefix_matching": (INDUCTION, 0.6, 0.04),
    "induction": (INDUCTION, 0.8, 0.02),
    "direct": (INDUCTION, 0.5, 0.1),
    "lost": (PREVIOUS, 0.25, -0.02),
}
"""Measure -> the head that has most, how much, and its control."""
WORDS = dict(
    enumerate(
        ["The", " lamp", " on", " the", " hill", "\n", "<b>&amp;", " \u05e9\u05dc\u05d5\u05dd"]
    )
)
"""Token -> its text."""
UNKNOWN = (0, 3)
"""A head that `to_line_end` does not apply to."""


def study(folder, without=(), examples=True, key="0123456789ab", name="hand"):
    """`AtlasData`, written into `folder`; without: measures that were not taken; name: of the
    model."""
    path = folder / key
    files = Folder(path)
    for taken, measure in (shipped() | NUMBERS).items():
        if taken not in without:
            sources = {source: means(taken, source) for source in ("corpus", "control")}
            table = head_statistics.encode(measure, sources)
            files.write(head_statistics.FILE.format(taken), table)
    words = {token: {"text": text} for token, text in WORDS.items()}
    files.write(form.FILE, form.encode(portraits(), words, examples, {}))
    about = {
        "corpus": {"texts": TEXTS, "tokens": 480, "left_out": 0, "license": "CC0 1.0"},
        "atlas": {
            "sequences": 8,
            "length": 64,
            "effects": {"texts": 4, "tokens": 200},
            "reason": "",
        },
    }
    _close(files, path, "atlas", about, name)
    return opened([path])


def _close(files, path, kind, about, name="hand"):
    model = {"name": name, "num_attention_heads": HEADS, "layers_measured": LAYERS}
    hand_made.close(path, kind, model, files.files, **about)


COMPOSED = (INDUCTION, PREVIOUS, 0.6)
"""A reader, a writer, and how much one reads of the other for its keys."""

SUCCEEDING = (2, 3)
"""The head that turns words of lists into the next ones."""

SIZE, CHANCE = 16, 0.25
"""Of hidden states, and what scores are then expected to be."""


def composed(folder):
    """The same with composition scores, at chance but for `COMPOSED`, and what else is measured of
    weights."""
    data, path = study(folder), folder / "ba9876543210"
    place = np.arange(LAYERS * HEADS).reshape(LAYERS, HEADS)
    scores = {name: np.full((LAYERS, HEADS) * 2, np.nan) for name in "qkv"}
    for values in scores.values():
        for layer in range(LAYERS):
            values[layer, :, :layer] = CHANCE + 0.01 * place[:layer]
    reader, writer, score = COMPOSED
    scores["k"][*reader, *writer] = score
    files = Folder(path)
    files.write(composition.FILE, composition.encode(scores, SIZE))
    pairs = HEADS**2 * LAYERS * (LAYERS - 1) // 2
    _close(files, path, "composition", {"composition": {"pairs": pairs, "hidden_size": SIZE}})
    return data.with_apart([path, successors(folder), copies(folder)])


COPIED = [3, 1, 6, 7, 2, 4]
"""Tokens that heads read; `INDUCTION` raises each of them most."""

OWN_BYTES = {"text": "\ufffd", "bytes": "e4 bd"}
"""A token that is only a part of a character, and that the other heads raise most."""


def copies(folder, words=True):
    """The folder of what heads write: `INDUCTION` copies, `PREVIOUS` suppresses, others neither."""
    path = folder / "c0b1e5543210"
    files = Folder(path)
    for measure, head in ((COPYING, INDUCTION), (SUPPRESSION, PREVIOUS)):
        table = head_statistics.encode(measure, _of_weights(head))
        files.write(head_statistics.FILE.format(measure.name), table)
    known = {token: {"text": text} for token, text in WORDS.items()} | {9: OWN_BYTES}
    shape = LAYERS, HEADS, len(COPIED), 5
    gained, lost = np.full(shape, 9), np.full(shape, 5)
    gained[*INDUCTION, :, 0] = lost[*PREVIOUS, :, 0] = COPIED
    by = np.broadcast_to(np.arange(6, 1, -1.0), shape) - np.arange(len(COPIED))[:, None] / 10
    found = SimpleNamespace(gained=gained, gained_by=by, lost=lost, lost_by=-by)
    if words:
        files.write(head_writes.FILE, head_writes.encode(found, COPIED, known))
    _close(files, path, "copying", {"copying": {"words": len(COPIED), "tokens": 5}})
    return path


def _of_weights(most):
    """`Means` of a score by the weights, of which one head has most, and the first layer none."""
    values, error = np.full((2, LAYERS, HEADS), 0.0625), np.full((LAYERS, HEADS), 0.05)
    values[0][most] = 0.75
    values[:, 0] = np.nan
    return {
        source: Means(each, error, 16)
        for source, each in zip(("corpus", "control"), values, strict=True)
    }


def successors(folder):
    """The folder of successor scores: `SUCCEEDING` has most, the first layer none."""
    path = folder / "c0ffee543210"
    files = Folder(path)
    numbers = _of_weights(SUCCEEDING)
    files.write("heads/successor.json", head_statistics.encode(SUCCESSOR, numbers))
    _close(files, path, "successor", {"successor": {"steps": 16, "lists": {"days": 7}}})
    return path


def means(name, source):
    """`Means` of a measure over the texts or the control."""
    head, most, control = TOLD.get(name, ((0, 0), 0.3, 0.2))
    place = np.arange(LAYERS * HEADS).reshape(LAYERS, HEADS)
    values = 0.01 * place + (0.001 if source == "control" else 0.002)
    values[head] = most if source == "corpus" else control
    if name == "to_line_end":
        values[UNKNOWN] = np.nan
    return Means(values, np.full(values.shape, 0.01), TEXTS)


def portraits():
    """`Portraits` of `TEXTS` texts: `PREVIOUS` looks at the token before, others nearly evenly."""
    found = Portraits.empty(LAYERS, HEADS)
    for number in range(TEXTS):
        ids = [(3 * place + number) % len(WORDS) for place in range(10 + 12 * number)]
        found.add(number, portrait(ids, number), sample=True, tokens=True, shown=True)
    return found


def portrait(ids, number):
    """`TextPortrait` of a text."""
    length = len(ids)
    query, key = np.indices((length, length))
    even = np.tril(1 / (1 + query))
    drawn = np.tril(1 + np.isin(ids, (1, 4)) * (0.5 + query % 3))  # all like " lamp" and " hill"
    drawn /= drawn.sum(1, keepdims=True)
    maps = np.broadcast_to(drawn, (LAYERS, HEADS, length, length)).copy()
    share = 1 - number / 20
    maps[PREVIOUS] = (1 - share) * even + share * (key == np.maximum(query - 1, 0))
    bins = np.where(key == 0, 0, np.searchsorted(STARTS, abs(query - key), side="right"))
    return TextPortrait(
        ids,
        np.pad(maps[..., 1:], [(0, 0)] * 3 + [(0, 1)]).max(-1),
        1 + maps[..., 1:].argmax(-1),
        maps[:, :, 1:].sum(2),
        np.tile(even[1:].sum(0), (LAYERS, 1, 1)),
        binned(maps, bins),
        binned(np.tile(even, (LAYERS, 1, 1, 1)), bins),
    )


def binned(maps, bins):
    """[layer, head, bin], all rows but the first one."""
    each = [(maps * (bins == place))[:, :, 1:].sum((2, 3)) for place in range(len(STARTS) + 1)]
    return np.stack(each, -1)
