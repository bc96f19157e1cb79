"""A small study of a table, made of numbers and not by a model, in the files of a real one."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from report.datasets import store
from report.datasets.formats import attention, class_shares, passage, renderings
from report.datasets.formats.token_classes import CLASSES, current_tokens, token_classes
from report.datasets.formats.visible import Visible
from report.inputs.tables import Cell, Table
from report.inputs.tables import renderings as every_rendering
from report.kinds.table.data import TableData
from tests.figures import hand_made
from tests.figures.hand_made import HEADS, KINDS, LAYERS, LENGTH, OF_WORDS

TABLE = Table(
    "hand-made",
    ("<b>a</b>", '{{x}}|"'),
    (
        (Cell("12", True), Cell("<b>&amp;!")),
        (Cell("12", True), Cell("</script>")),
        (Cell("7", True), Cell("a,\n|b|")),
    ),
)
"""What a page or a template might take for its own."""

CHUNK = {"csv": 4, "json": 6, "sentences": 5}
"""Characters of a token at most; so the CSV has as many tokens as a hand-made passage."""


def study(folder, kind="alibi_bias", table=TABLE):
    """`TableData` over datasets of a kind of `hand_made.KINDS`, written into `folder`."""
    rng, kind = np.random.default_rng(8), (KINDS | OF_WORDS)[kind]
    texts = [tokens(each, kind) for each in every_rendering(table)]
    assert len(texts[0].tokens) == LENGTH, len(texts[0].tokens)
    about = {"name": table.name, "title": "By hand", "source": "", "licence": "", "language": ""}
    store.write(folder / "passage.json", passage.encode(SimpleNamespace(**about), texts[0].tokens))
    store.write(folder / "renderings.json", renderings.encode(table, texts))
    shards = {
        (layer, head): hand_made.one_head(rng, layer, head, kind)
        for layer, head in np.ndindex(LAYERS, HEADS)
    }
    for (layer, head), shard in shards.items():
        store.write(folder / "attention" / f"{layer}" / f"{head}.json", shard)
    shares = {text.name: of_rendering(rng, text, kind) for text in texts}
    shares["csv"] = of_shards(texts[0], shards)
    store.write(folder / "class_shares.json", class_shares.encode(shares))
    store.write(folder / "manifest.json", store.sealed(manifest(kind, table)))
    return TableData(folder)


def tokens(rendering, kind):
    """A rendering as tokens of some characters each, as `report.models.text.cells.TableText`."""
    first = hand_made.added_by(kind)[:1] if "front" in kind.special else []
    pieces = [{"id": 0, "text": text, "special": True} for text in first]
    places = [SimpleNamespace(role="added", row=-1, column=-1) for _ in first]
    size = CHUNK[rendering.name]
    for part in rendering.parts:
        # without a token in front, the first character stands alone: as many tokens as with one
        starts = [*([] if pieces else [0]), *range(0 if pieces else 1, len(part.text), size)]
        for start, end in pairwise([*starts, len(part.text)]):
            text = part.text[start:end]
            pieces.append({"id": 1 + sum(map(ord, text)) % 300, "text": text})
            places.append(part)
    crossings = [len(pieces) - 2] if rendering.name == "json" else []
    return SimpleNamespace(
        name=rendering.name,
        label=rendering.label,
        tokens=pieces,
        places=places,
        crossings=crossings,
    )


def of_shards(text, shards):
    """The shares that the attention of shards adds up to."""
    current, classes = current_tokens(text.places), token_classes(text.places)
    members = np.arange(len(CLASSES)) == classes[..., None]  # [current, key, class]
    probability = np.zeros((LAYERS, HEADS, len(CLASSES)))
    even = np.zeros((LAYERS, len(CLASSES)))
    for (layer, head), shard in shards.items():
        decoded = attention.decode(shard)
        given = decoded.probability[current]
        probability[layer, head] = (given[..., None] * members).sum(1).mean(0)
        seen = decoded.visible.mask()[current]
        even[layer] = even_of(seen, members)
    return SimpleNamespace(probability=probability, even=even)


def of_rendering(rng, text, kind):
    """Random shares of the classes that occur, and the even ones of causal attention."""
    current, classes = current_tokens(text.places), token_classes(text.places)
    members = np.arange(len(CLASSES)) == classes[..., None]
    length = len(text.places)
    visible = Visible.causal(length) if kind.causal else Visible.full(length)
    even = even_of(visible.mask()[current], members)
    given = rng.dirichlet(np.where(even > 0, 1.5, 1e-9), (LAYERS, HEADS))
    return SimpleNamespace(probability=given, even=np.tile(even, (LAYERS, 1)))


def even_of(seen, members):
    return ((seen / seen.sum(1, keepdims=True))[..., None] * members).sum(1).mean(0)


def manifest(kind, table):
    found = hand_made.manifest(kind)
    del found["corpus"]
    about = {"name": table.name, "rows": len(table.rows), "columns": list(table.columns)}
    return found | {"kind": "table", "table": about}
