"""Every measure of heads against a plain loop over attention, and what an author's own may be."""

import functools
import math

import numpy as np
import pytest
import torch

from report import measures
from report.errors import ReportError
from report.measurements.block import Block
from report.measurements.head_statistics import HeadStatistics
from report.measurements.rows import Sums, Text
from report.measures import OwnMeasure, made, shipped

TEXT = [
    "<s>",
    "The",
    " cat",
    ",",
    " the",
    " cat",
    ".",
    "\n",
    "\ufffd",
    "The",
    " cat",
    " sat",
    "...",
    "...",  # the token after the last one was before is this one itself
]
LENGTH, HEADS, LAYERS = len(TEXT), 3, 2
IDS = [TEXT.index(text) for text in TEXT]
MARKS, ENDS = {3, 6, 12, 13}, {7}
KINDS = {
    "decoder": (lambda i: 0, lambda i: i, 0),
    "window": (lambda i: max(0, i - 3), lambda i: i, 0),
    "encoder": (lambda i: 0, lambda i: LENGTH - 1, 0),
    "sink": (lambda i: 0, lambda i: i, 1),
}
"""Name -> the first and the last target of a token, and how large a sink's score is; 0: none."""


def attention(kind, seed=0):
    """float64 [layer, head, query, key]: scores and probabilities, and the ranges of targets."""
    first, last, sink = KINDS[kind]
    score = np.random.default_rng(seed).normal(0, 2, (LAYERS, HEADS, LENGTH, LENGTH))
    seen = np.array([[first(i) <= j <= last(i) for j in range(LENGTH)] for i in range(LENGTH)])
    score = np.where(seen, score, np.finfo(np.float32).min)
    weight = np.where(seen, np.exp(np.where(seen, score, 0)), 0)
    total = weight.sum(-1, keepdims=True) + (math.exp(sink) if sink else 0)
    return score, weight / total, seen


def blocks(score, probability, seen, rows, heads):
    """The attention of one layer in blocks, as the kernel shows it."""
    places = [np.flatnonzero(row) for row in seen]
    for start in range(0, LENGTH, rows):
        here = range(start, min(start + rows, LENGTH))
        first, last = (torch.tensor([places[i][end] for i in here]) for end in (0, -1))
        keys = slice(int(first.min()), int(last.max()) + 1)
        for head in range(0, HEADS, heads):
            part = np.s_[head : head + heads, here.start : here.stop, keys]
            both = torch.tensor(score[part]).float(), torch.tensor(probability[part]).float()
            yield Block(head, start, keys.start, *both, first, last)


def sums(kind, taken, rows=5, heads=2, value=None, seed=0):
    """The `Sums` of one text."""
    found = Sums(taken, LAYERS, HEADS, Text(IDS, lambda ids: [TEXT[i] for i in ids]))
    score, probability, seen = attention(kind, seed)
    for layer in range(LAYERS):
        add = found.layer(layer, value)
        for block in blocks(score[layer], probability[layer], seen, rows, heads):
            add(block)
    return found


@functools.cache
def of_shipped(kind):
    """Statistics of all measures that ship, of a text whose attention is of that kind."""
    return statistics(kind)


def statistics(kind, taken=None, **how):
    taken = [*shipped().values()] if taken is None else taken
    return HeadStatistics.of_text(sums(kind, taken, **how), LENGTH)


def top(p, i):
    return max(range(LENGTH), key=lambda j: p[i][j])


def before(i):
    """Where the token was last before, or None."""
    return next((j for j in reversed(range(i)) if IDS[j] == IDS[i]), None)


def entropy(p, i):
    given = sum(p[i])
    return -sum(x / given * math.log2(x / given) for x in p[i] if x > 0)


def prefix(p, i):
    return None if before(i) is None or before(i) + 1 >= i else p[i][before(i) + 1]


def ahead(p, i):
    second, first = sorted(p[i])[-2:]
    return first - second


def elsewhere(p, i, places):
    return 1 - (p[i][i] + p[i][0]) / sum(p[i]) if i in places else None


def spread(p, i):
    share = [x / sum(p[i]) for x in p[i]]
    mean = sum(x * abs(i - j) for j, x in enumerate(share))
    return math.sqrt(sum(x * (abs(i - j) - mean) ** 2 for j, x in enumerate(share)))


def same(p, i):
    return None if before(i) is None else sum(p[i][j] for j in range(i) if IDS[j] == IDS[i])


LOOPS = {
    "first_token": lambda p, i: top(p, i) == 0,
    "previous_token": lambda p, i: top(p, i) == i - 1,
    "next_token": lambda p, i: top(p, i) == i + 1 if i + 1 < LENGTH and p[i][i + 1] else None,
    "itself": lambda p, i: top(p, i) == i,
    "concentration": ahead,
    "to_first_token": lambda p, i: p[i][0],
    "to_previous_token": lambda p, i: p[i][i - 1] if i > 1 else None,
    "to_itself": lambda p, i: p[i][i],
    "entropy": entropy,
    "distance": lambda p, i: sum(x * abs(i - j) for j, x in enumerate(p[i])) / sum(p[i]),
    "distance_spread": spread,
    "to_same_token": same,
    "prefix_matching": prefix,
    "to_punctuation": lambda p, i: sum(p[i][j] for j in MARKS),
    "to_line_end": lambda p, i: sum(p[i][j] for j in ENDS),
    "from_punctuation": lambda p, i: elsewhere(p, i, MARKS),
    "from_line_end": lambda p, i: elsewhere(p, i, ENDS),
}
"""Measure -> its value for current token i, given all probabilities; None where there is none."""

CHANCE = {
    "first_token": LOOPS["to_first_token"],
    "previous_token": lambda p, i: p[i][i - 1],
    "next_token": lambda p, i: (p[i][i + 1] or None) if i + 1 < LENGTH else None,
    "itself": LOOPS["to_itself"],
}
"""Of these, even attention says how often a target would be the largest by chance."""


def mean(values):
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else math.nan


def test_every_measure_has_its_loop():
    assert LOOPS.keys() == shipped().keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LOOPS)
def test_a_measure_is_what_a_plain_loop_says(name, kind):
    _, probability, _ = attention(kind)
    found = of_shipped(kind).mean(name)
    for layer in range(LAYERS):
        for head in range(HEADS):
            p = probability[layer, head].tolist()
            expected = mean(LOOPS[name](p, i) for i in range(1, LENGTH))
            assert found[layer, head] == pytest.approx(expected, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("kind", ["decoder", "window", "encoder"])
@pytest.mark.parametrize("name", LOOPS)
def test_the_control_is_the_same_of_even_attention(name, kind):
    seen = attention(kind)[2]
    even = (seen / seen.sum(1, keepdims=True)).tolist()
    loop = CHANCE.get(name, LOOPS[name])
    expected = mean(loop(even, i) for i in range(1, LENGTH))
    if name == "concentration":  # no target is ahead of another, where there are two
        expected = mean(0 for _ in range(1, LENGTH))
    found = of_shipped(kind).even(name)
    assert found == pytest.approx(np.full((LAYERS, HEADS), expected), abs=1e-5, nan_ok=True)


@pytest.mark.parametrize(("rows", "heads"), [(1, 1), (4, 3), (64, 2)])
def test_no_measure_depends_on_how_attention_is_cut(rows, heads):
    whole, cut = statistics("window"), statistics("window", rows=rows, heads=heads)
    for name in shipped():
        np.testing.assert_allclose(cut.mean(name), whole.mean(name), atol=1e-6)
        np.testing.assert_allclose(cut.even(name), whole.even(name), atol=1e-6)


def own(text, name="mine"):
    return OwnMeasure(name, f"measures/{name}.py", text)


TWO_BACK = '''"""Mean attention to the token two back."""

RANGE = 0, 1


def rows(attention):
    return attention.to(attention.query - 2)
'''


def test_a_measure_of_ones_own_needs_a_docstring_and_a_function():
    measure = made(own(TWO_BACK, "two_back"))
    assert measure.title == "Two back"
    assert measure.axis == "mean attention to the token two back"
    found = statistics("decoder", [measure]).mean("two_back")
    p = attention("decoder")[1]
    expected = np.stack([p[..., i, i - 2] for i in range(2, LENGTH)]).mean(0)
    np.testing.assert_allclose(found, expected, atol=1e-6)


LENGTHS = '''"""Mean length of the values."""

RANGE = 0, None
NEEDS = ("values",)


def rows(attention):
    return (attention.probability * attention.value_length[:, None]).sum(-1)
'''


def test_a_measure_may_read_the_lengths_of_values():
    """Values of key heads that are shared by groups; a model that gives none has no number."""
    value = torch.tensor(np.random.default_rng(1).normal(0, 1, (1, LENGTH, 4))).float()
    found = statistics("encoder", [made(own(LENGTHS))], value=value).mean("mine")
    p, length = attention("encoder")[1], value[0].norm(dim=-1).numpy()
    np.testing.assert_allclose(found, (p[..., 1:, :] * length).sum(-1).mean(-1), atol=1e-5)
    assert np.isnan(statistics("encoder", [made(own(LENGTHS))]).mean("mine")).all()


WRONG = {
    "def rows(attention): return 1": r"mine.py: a measure needs a docstring",
    '"""What."""': r"has no function `rows\(attention\)`",
    '"""What."""\nrows = 3': "has no function",
    '"""What."""\nTITEL = "x"\ndef rows(attention): pass': "`TITEL` is no part.*`TITLE`",
    '"""What."""\nTitle = "x"\ndef rows(attention): pass': "`Title` is no part.*`TITLE`",
    '"""What."""\nneeds = ("values",)\ndef rows(attention): pass': "`needs` is no part.*`NEEDS`",
    '"""What."""\nTITLE = 3\ndef rows(attention): pass': "`TITLE` must be a text",
    '"""What."""\nRANGE = 1\ndef rows(attention): pass': "`RANGE` must be the smallest",
    '"""What."""\nRANGE = 2, 1\ndef rows(attention): pass': "`RANGE` must be",
    '"""What."""\nNUMBER = "x"\ndef rows(attention): pass': "`NUMBER` a format",
    '"""What."""\nDOES = "{x}"\ndef rows(attention): pass': "`DOES` a sentence",
    '"""What."""\nNEEDS = "values"\ndef rows(attention): pass': "`NEEDS` must be a tuple",
    '"""What."""\ndef rows(attention) return': "measures/mine.py, line 2",
    '"""What."""\nimport nothing_like_it\ndef rows(a): pass': "measures/mine.py, line 2",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_file_that_is_no_measure_is_a_sentence(text):
    with pytest.raises(ReportError, match=WRONG[text]) as error:
        made(own(text))
    assert "\n" not in str(error.value)


WRONG_ROWS = {
    "return 3": "`rows` must return a tensor of a number for each head.*no tensor",
    "return attention.probability": "it returned a tensor",
    "return attention.given[0]": "it returned a tensor",
    "return attention.given / 0": "`rows` gave inf, and its `RANGE` is 0 to 1",
    "return attention.given + 1": "`rows` gave 2, and its `RANGE` is 0 to 1",
    "return attention.nothing": "mine.py, line 2: .*nothing",
    "return 1 / 0": "mine.py, line 2: .*ZeroDivisionError",
}


@pytest.mark.parametrize("line", WRONG_ROWS)
def test_what_its_function_gets_wrong_is_a_sentence(line):
    measure = made(own(f'"""What."""\ndef rows(attention): {line}'))
    with pytest.raises(ReportError, match=WRONG_ROWS[line]) as error:
        statistics("decoder", [measure])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "line",
    [
        "x = attention.probability; x.zero_(); return x.sum(-1)",
        "attention.score.zero_(); return attention.given",
        "x = attention.to(0); x *= 0.5; return x",
        "x = attention.given; x *= 0.5; return x",
        "attention.largest[0].zero_(); return attention.is_top(0)",
        "attention.is_punctuation.fill_(True); return attention.given",
        "attention.last_before().fill_(0); return attention.given",
        "attention.strings.clear(); return attention.given",
        "attention.query.zero_(); attention.key.zero_(); return attention.given",
        "attention.first.zero_(); attention.last.zero_(); return attention.given",
    ],
)
def test_what_a_measure_changes_in_place_changes_no_other(line):
    mine, *others = made(own(f'"""What."""\ndef rows(attention): {line}')), *shipped().values()
    alone, beside = statistics("window"), statistics("window", [mine, *others, mine])
    for name in shipped():
        np.testing.assert_array_equal(beside.mean(name), alone.mean(name))
        np.testing.assert_array_equal(beside.even(name), alone.even(name))


def test_words_do_not_change_what_counts_and_code_does():
    worded = TWO_BACK.replace("RANGE", 'TITLE = "Another"\nRANGE').replace("Mean", "The mean")
    assert own(worded).sha256 == own(TWO_BACK).sha256
    for changed in (TWO_BACK.replace("- 2", "- 3"), TWO_BACK.replace("0, 1", "0, 2")):
        assert own(changed).sha256 != own(TWO_BACK).sha256


@pytest.mark.parametrize("name", ["Two", "2back", "two-back", "a" * 65])
def test_a_name_that_no_dataset_can_have_is_refused(tmp_path, name):
    (tmp_path / f"{name}.py").write_text(TWO_BACK)
    with pytest.raises(ReportError, match="small letters, digits and underscores"):
        measures.own_measures(measures.own_files(tmp_path))


@pytest.mark.parametrize("name", ["entropy", "first_token"])
def test_the_name_of_a_measure_that_ships_is_refused(tmp_path, name):
    """`attending_to_first_token` would draw the author's numbers under the words of ours."""
    (tmp_path / f"{name}.py").write_text(TWO_BACK)
    with pytest.raises(ReportError, match=f"a measure '{name}' ships.*another name"):
        measures.own_measures(measures.own_files(tmp_path))


def test_an_unknown_name_names_the_nearest():
    with pytest.raises(ReportError, match=r"did you mean 'entropy'.*measured are: concentration"):
        measures.named("entrop", shipped())
