"""Articles that ship, word by word: what each says of data that differ, in `golden/`.

    python -m tests.findings.test_articles    # writes the sentences anew: read what changed

An article's own template is rendered with data made of numbers; no picture is drawn. The first
case of an article stands there whole, of others the sentences that are not those of their base,
numbers aside.
"""

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets import store
from report.figures.parts.heads import MagnitudeRatio
from report.kinds.conditions.findings import Against
from report.kinds.conditions.findings import Findings as ConditionsFindings
from report.kinds.passage.findings import Findings
from report.kinds.table.findings import TableFindings
from report.study.study import read_study
from tests import made_answers, made_conditions, rendered
from tests.commands import ROOT
from tests.figures import hand_made, hand_sweep, hand_table

GOLDEN = Path(__file__).with_name("golden")
NUMBER = re.compile(r"−?\d[\d.,]*")
HASH = r"\b(?=[a-f]*\d)[0-9a-f]{7,}\b…?|(?<=data )[0-9a-f]+"
OTHERS = r"\n## References.*?(?=\n## )|(?<=Made with )[^;]*"
"""What no finding says: works of others, and the program's version."""


SHORT = 60
"""Characters of a sentence of the base, by which one finds it there."""

COUNTING = ("reading-a-table", "filler-tokens")
"""Articles that may begin a sentence with a number."""


@dataclass(frozen=True)
class Case:
    """Data of an article, and what makes them."""

    article: str
    name: str
    base: str
    """The case that it differs from; its own name: the case stands there whole."""
    data: Callable[[Path], object]
    patches: tuple = ()
    """Arguments of `setattr`."""
    options: dict = field(default_factory=dict)
    """Front matter."""


def of_passage(kind, manifest=None):
    """A function from a folder to a study of a kind of model; manifest: changes to it."""

    def made(folder):
        data = hand_made.study(folder / "datasets", kind)
        for name, values in (manifest or {}).items():
            data.manifest[name] = data.manifest.get(name, {}) | values
        return data

    return made


MANIFEST, ENCODED, TERMS = (hand_made.manifest, hand_made.encoded_passage, hand_made.every_term)
ENCODE = hand_made.updates.encode


def size(**sizes):
    return tuple((hand_made, name, value) for name, value in sizes.items())


class Even(hand_made.Statistics):
    """Hardly a head has the first token as its top target."""

    def mean(self, name):
        values = super().mean(name)
        return values / 250 if name in hand_made.FIRST else values


class Narrow(hand_made.Statistics):
    """The top target hardly leads the second in layer 0."""

    def mean(self, name):
        values = np.full((hand_made.LAYERS, hand_made.HEADS), 0.6)
        if name == "concentration":
            values[:] = 0.3
            values[0] = 0.01
        return values if name in hand_made.FIRST else super().mean(name)


def no_term(*arguments):
    terms = TERMS(*arguments)
    return [SimpleNamespace(name=t.name, per=t.per, values=0 * t.values) for t in terms]


def a_sink(*arguments):
    terms = TERMS(*arguments)
    terms[0].values[1:, 0] += 5
    return terms


def bare(kind):
    """A passage to which no token is added."""
    encoded = ENCODED(kind)
    for token in encoded["tokens"]:
        token.pop("special", None)
    return encoded


def turned(far):
    """Updates half of which turn so far against the hidden state, and half along it."""

    def encode(layer, magnitude, alignment, *others):
        signs = np.where(np.arange(len(alignment)) % 2, 1, -1)[:, None]
        return ENCODE(layer, magnitude, signs * np.full(alignment.shape, far), *others)

    return ((hand_made.updates, "encode", encode),)


def short(layer, magnitude, *others):
    return ENCODE(layer, magnitude / 20, *others)


EVEN = ((hand_made, "every_term", no_term), (hand_made, "Statistics", Even))
LONGER, SHORTER = (MagnitudeRatio(1, 0.2, 0.1, 2), MagnitudeRatio(1, 0.1, 0.2, 1))
ALIKE = MagnitudeRatio(0, 0.1, 0.1, 0)
LAYERS = [MagnitudeRatio(1, 0.1, 0.4), *(MagnitudeRatio(n, 0.2, 0.2) for n in (0, 2))]
RESTS = {
    "all shorter": [SHORTER, SHORTER, ALIKE],
    "most shorter": [SHORTER, SHORTER, LONGER],
    "more longer": [SHORTER, LONGER, LONGER, ALIKE],
    "few shorter": [SHORTER, ALIKE, ALIKE],
    "longer": [ALIKE, LONGER],
    "alike": [ALIKE, ALIKE],
    "one head": [LONGER],
    "no head": [],
}
"""Heads whose updates towards the first token are longer or shorter."""
WAYS = {"none": [0, 0, 0], "all against": [-1, -1, -1], "both": [-1, 1, 0], "one along": [0, 1, 0]}
"""How longer updates of each layer turn."""
CORRECTED = {"alibi_factor": 2, "dtype": "bfloat16", "revision": "a" * 40}


def passages() -> Iterator[Case]:
    def case(name, kind, patches=(), **manifest):
        article = "attention-focus-plots"
        base = kind if name != kind else next(iter(hand_made.KINDS))
        return Case(article, name, base, of_passage(kind, manifest), patches)

    for kind in hand_made.KINDS:
        yield case(kind, kind)
    few = {"num_hidden_layers": 32}
    yield case("first layers", "rotary", model=few)
    yield case("first layer", "rotary", size(LAYERS=1), model=few)
    yield case("encoder of a layer", "encoder", size(LAYERS=1))
    yield case("2 by 2", "alibi_bias", size(LAYERS=2, HEADS=2))
    yield case("1 by 1", "rotary_bias", size(LAYERS=1, HEADS=1))
    yield case("8 tokens", "learned_bias", size(LENGTH=8))
    yield case("8 tokens, encoder", "encoder_rotary", size(LENGTH=8))
    yield case("twice ALiBi, bfloat16, a revision", "alibi_bias", model=CORRECTED)
    yield case("chat", "rotary", determined_by={"settings": {"chat": True}})
    yield case("even", "content", EVEN)
    for kind in ("content", "encoder", "sink"):
        yield case(f"even, 6 tokens, {kind}", kind, (*EVEN, *size(LENGTH=6)))
    yield case("a sink without a name", "content", ((hand_made, "every_term", a_sink),))
    yield case("narrow", "content", ((hand_made, "Statistics", Narrow),))
    yield case("short updates", "content", ((hand_made.updates, "encode", short),))
    for far in (0.8, 0.3, 0.03):
        yield case(f"turned by {far}", "content", turned(far))
    for name, heads in RESTS.items():
        patches = ("first_token_updates", LAYERS), ("first_token_updates_of_heads", heads)
        yield case(f"rest: {name}", "content", tuple((Findings, *each) for each in patches))
    for name, ways in WAYS.items():
        patch = (Findings, "length_with_orientation", ways)
        yield case(f"length with orientation: {name}", "content", (patch,))
    yield case("nothing added", "alibi_bias", ((hand_made, "encoded_passage", bare),))
    for kinds in (("rotary", "alibi_bias"), ("rotary", "rotary"), ("score", "alibi_bias")):
        several = replace(case(" beside ".join(kinds), kinds[0]), data=beside(kinds))
        yield several


def beside(kinds):
    labels = [f"{kind} {n}" for n, kind in enumerate(kinds)]
    return lambda folder: hand_made.several(folder / "datasets", kinds, labels)


def given(data, wanted):
    """Data whose heads all give what is wanted to classes in the CSV; None: what is left."""
    table = dict(data.class_shares)
    table["probability"] = table["probability"].copy()
    csv = table["rendering"] == "csv"
    rest = 1 - sum(
        (wanted[name] or 0)
        if name in wanted
        else table["probability"][csv & (table["target"] == name)].mean()
        for name in data.targets
    )
    for name, value in wanted.items():
        table["probability"][csv & (table["target"] == name)] = rest if value is None else value
    data.__dict__["class_shares"] = table
    return data


def gives(**wanted):
    return lambda data: given(data, wanted | {"other_cells": None})


def even_columns(data):
    return given(
        data, {"same_column": TableFindings(data).even("same_column"), "other_cells": None}
    )


def strong(data):
    """Heads that read the column, in every way to write the table."""
    data = given(data, {"same_column": 0.7, "other_cells": 0.05})
    table = data.class_shares
    column = table["target"] == "same_column"
    table["probability"][column & (table["rendering"] != "csv")] = 0.6
    return data


def many_delimiters(data):
    """More for the delimiters of the JSON than for those of the CSV."""
    table = data.class_shares
    at = (table["target"] == "delimiter") & (table["rendering"] == "json")
    table["probability"][at] = 0.6
    return data


def of_table(kinds, change=lambda data: data, **model):
    def made(folder):
        first, *others = (
            change(hand_table.study(folder / f"{n}", kind)) for n, kind in enumerate(kinds)
        )
        for number, data in enumerate([first, *others] if others else []):
            data.manifest["model"]["name"] = f"{kinds[number]} {number}"
        first.manifest["model"] |= model
        if others:
            first.beside = others
        return first

    return made


def tables() -> Iterator[Case]:
    def case(name, *kinds, change=lambda data: data, patches=(), **model):
        base = kinds[0] if name != kinds[0] else next(iter(hand_made.KINDS))
        return Case("reading-a-table", name, base, of_table(kinds, change, **model), patches)

    for kind in hand_made.KINDS:
        yield case(kind, kind)
    yield case("of the hub", "alibi_bias", source="hub")
    yield case("first layers", "rotary", num_hidden_layers=32)
    yield case("header", "content", change=gives(header=0.001))
    yield case("even", "content", change=even_columns)
    yield case("a sink", "content", change=gives(first_token=0.6))
    yield case("hardly a sink", "content", change=gives(first_token=0.001))
    yield case("strong", "content", change=strong)
    chance = (TableFindings, "even_part", lambda find, kind: 0.9)
    yield case("repetition by chance", "content", change=gives(same_column=0.9), patches=(chance,))
    for steady in (True, False):
        name, patch = (
            f"JSON, steady: {steady}",
            (TableFindings, "steady", lambda *_, is_so=steady: is_so),
        )
        yield case(name, "alibi_bias", change=many_delimiters, patches=(patch,))
    yield case("rotary beside alibi_bias", "rotary", "alibi_bias")


def sweeps() -> Iterator[Case]:
    made, first = hand_sweep.repetition, next(iter(hand_sweep.KINDS))

    def case(name, kind=first, *patches):
        return Case(
            "how-heads-form", name, first, lambda at: hand_sweep.study(at / "d", kind), patches
        )

    def two_heads(at, heads, learns=True):
        found = made(at, heads, learns)
        found.induction[:, 1, 0] = found.induction[:, 2, 1] * 0.995
        return found

    def only_large(at, heads, learns=True):
        return made(at, heads, learns and heads > 2)

    for kind in hand_sweep.KINDS:
        yield case(kind, kind)
    yield case("two good heads", first, (hand_sweep, "repetition", two_heads))
    yield case("a model has not learnt it", first, (hand_sweep, "repetition", only_large))
    others = {"finished": (4, 2000, True), "other": (2, 700, True)}
    yield case("all drilled", first, (hand_sweep, "OTHERS", others))
    begun = hand_sweep.Kind(recipe=hand_sweep.RECIPE | {"architecture": "qwen2"})
    yield case("begun", first, (hand_sweep, "KINDS", hand_sweep.KINDS | {first: begun}))


SMALL = (
    {"name": "small-llama", "layers": 3, "heads": 32, "family": "llama", "seed": 1},
    {"name": "qwen2-5x28", "layers": 3, "heads": 28, "family": "qwen2", "seed": 2},
    {"name": "gemma3-6x8", "layers": 3, "heads": 8, "family": "gemma3_text", "seed": 3},
)
FEW = tuple(each | {"heads": heads} for each, heads in zip(SMALL, (8, 7, 4), strict=True))
"""The same with fewer heads, whose files are written and read sooner."""
TINY = ({"layers": 1, "heads": 1}, {"name": "tiny-2", "layers": 1}, {"name": "tiny-3"})
LARGE = (
    ("meta-llama/Llama-3.1-8B-Instruct", 32),
    ("Qwen/Qwen2.5-Math-7B", 28),
    ("google/gemma-3-4b-it", 8),
)
LARGE = tuple(
    {"name": name, "heads": heads, "source": "hub", "num_hidden_layers": 32}
    | {"parameters": 8_000_000_000}
    for name, heads in LARGE
)
OF_ALL = {
    "scores alone": {"error": np.nan},
    "all but exact": {"error": 0.001, "moved": 0},
    "exact": {"error": 0.12},
    "less exact": {"error": 0.3},
    "poor": {"error": 0.8},
    "hardly taken": {"taken": 0.01},
    "taken 0.1": {"taken": 0.1},
    "taken 0.5": {"taken": 0.5},
    "taken 0.7": {"taken": 0.7},
    "moved 0": {"moved": 0.0},
    "moved 0.8": {"moved": 0.8},
    "learned positions": {"terms": ["content"]},
    "merged": {"merged": True},
    "other lengths": {"lengths": {"sentence": 7}},
}
PLACES = [((1, 0, 0), 0.2, 0.4), ((0, 0, 26), 0.25, 0.5)]
AGAINST = {
    "one inside": Against(PLACES, [(0, 0, 26)], []),
    "one inside, one level": Against(PLACES, [(0, 0, 26)], [(1, 0, 0)]),
    "one level": Against(PLACES, [], [(1, 0, 0)]),
    "none inside": Against(PLACES, [], []),
}


def studies() -> Iterator[Case]:
    # hundreds of small files, which other tests check against their schemas
    unchecked = ((store, "check", lambda data, source: data),)

    def case(name, base, models, *patches, front=None, **options):
        names = front or [each.get("name", "tiny") for each in models]
        return Case(
            "filler-tokens",
            name,
            base,
            lambda folder: made_conditions.study(folder / "d", models, **options),
            unchecked + patches,
            {"models": names},
        )

    def against(value):
        return (ConditionsFindings, "against", lambda *_: value)

    yield case("small", "small", SMALL)
    yield case("few", "small", FEW)
    alternatives = [
        f"{each['name']} or {small['name']}" for each, small in zip(LARGE, SMALL, strict=True)
    ]
    yield case("large", "small", LARGE, front=alternatives)
    stand_ins = [alternatives[0], "b/c or qwen2-5x28", "gemma3-6x8"]
    yield case("stand-ins", "small", SMALL, front=stand_ins)
    yield case("tiny", "few", TINY)
    yield case("one model", "few", FEW[:1])
    yield case("one tiny model", "one model", TINY[2:])
    yield case("two models", "few", FEW[:2])
    yield case("fewer", "small", [SMALL[0] | {"heads": 25}, SMALL[1] | {"layers": 2}])
    yield case("one prompt", "few", FEW, prompts=1)
    yield case("no sentence", "few", FEW, conditions=("none", "filler"))
    for name, changes in OF_ALL.items():
        yield case(name, "few", [each | changes for each in FEW])
    yield case("much taken", "few", [each | {"taken": [0.8, 0.4, 0.2]} for each in FEW[:2]])
    later = FEW[1] | {"taken": [0.2, 0.2, 0.8]}
    yield case("taken in a later layer", "few", [FEW[0], later, FEW[2]])
    for diluted in (True, False):
        patch = (ConditionsFindings, "diluted", lambda *_, diluted=diluted: diluted)
        yield case(f"diluted: {diluted}", "few", FEW, patch)
    for name, value in AGAINST.items():
        yield case(f"against: {name}", "small", SMALL, against(value))
    for name, made in ANSWERS.items():
        base = "answers: both" if name != "both" else "one tiny model"
        answered = case(f"answers: {name}", base, TINY[2:])
        yield replace(answered, data=answers(made))


ANSWERS = {
    "both": {},
    "help": {"signs": (1, 1)},
    "harm": {"signs": (-1, -1)},
    "nothing": {"gain": 0, "hits": 0},
    "against attention": {"gain": -0.5},
    "no attention": {"attended": False},
}


def answers(made):
    def data(folder):
        conditions = made_conditions.study(folder / "c", ({"layers": 2, "heads": 2},))
        return conditions.with_apart([made_answers.write(folder / "0", name="m0", **made)])

    return data


CASES = {
    (case.article, case.name): case
    for cases in (passages(), tables(), sweeps(), studies())
    for case in cases
}


@cache
def page(article, name):
    """The sentences of an article, its figures first, one a line: list of str."""
    case = CASES[article, name]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        rendered.words_only(patch)
        for arguments in case.patches:
            patch.setattr(*arguments)
        study = read_study(ROOT / "templates" / "articles" / f"{article}.md.j2", **case.options)
        text = rendered.text_of(study, case.data(Path(folder)), Path(folder))
    require_well_put(article, text)
    words = re.sub(OTHERS, "", rendered.plain(text).split("---\n", 2)[2], flags=re.DOTALL)
    words = re.sub(HASH, "#", words)
    return ["Figures: " + ", ".join(rendered.figures(text)), *sentences(words)]


def require_well_put(article, text):
    """Assert what holds of an article, whatever was measured."""
    prose = rendered.prose(text)
    assert not re.search(r"\d", rendered.answer(text))
    assert article == "filler-tokens" or rendered.explains_its_first_head(prose)
    assert article in COUNTING or not rendered.begins_with_a_digit(prose)
    assert "{{" not in prose.replace("Think {{ 1 }} <i>well</i>.", "").replace("{{x}}", "")
    assert not re.search(r"\b([a-z]+) \1\b", prose), re.search(r"\b([a-z]+) \1\b.*", prose)


def sentences(text):
    """Sentences and rows of tables, one a line: list of str."""
    lines = []
    for block in re.split(r"\n\s*\n", text):
        rows = [" ".join(row.split(" ")).strip() for row in block.strip().split("\n")]
        if not rows[0].startswith("|"):
            rows = re.split(r"(?<=[.?!]) (?=\S)", " ".join(rows))
        lines += [row for row in rows if row]
    return lines


def golden(case):
    """Lines that stand in the file of an article for a case."""
    now = page(case.article, case.name)
    if case.base == case.name:
        return now
    base = page(case.article, case.base)
    words = [[NUMBER.sub("0", line) for line in lines] for lines in (base, now)]
    changes = difflib.SequenceMatcher(None, *words, autojunk=False).get_opcodes()
    return [
        line
        for tag, start, end, first, last in changes
        if tag != "equal"
        for line in (
            *(f"- {each[:SHORT]}" for each in base[start:end]),
            *(f"+ {each}" for each in now[first:last]),
        )
    ]


@cache
def stored(article):
    """Lines of each case in the file of an article: dict of name to list of str."""
    cases = (GOLDEN / f"{article}.md").read_text("utf-8").split("\n=== ")[1:]
    return {head: lines for head, *lines in (case.rstrip("\n").split("\n") for case in cases)}


@pytest.mark.parametrize(("article", "name"), CASES)
def test_an_article_says_what_it_said(article, name):
    assert golden(CASES[article, name]) == stored(article)[name]


def test_no_case_is_left_over():
    assert {(path.stem, name) for path in GOLDEN.iterdir() for name in stored(path.stem)} == {
        *CASES
    }


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for wanted in dict.fromkeys(article for article, _ in CASES):
        text = "".join(
            f"\n=== {case.name}\n" + "\n".join(golden(case))
            for case in CASES.values()
            if case.article == wanted
        )
        (GOLDEN / f"{wanted}.md").write_text(f"{text}\n", "utf-8")
