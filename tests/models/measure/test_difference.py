"""Two models head by head, beside plain loops over transformers' own attention and plain hooks."""

import math

import numpy as np
import pytest
import torch

from report import families
from report.errors import ReportError
from report.families.verify import in_float64
from report.measurements.difference import cosines, row_distances
from report.measures import shipped
from report.models.measure import difference
from report.models.measure.difference import CHANGE, COSINE, DISTANCE, MAGNITUDE, REFERENCE, compare
from report.models.measure.passage import measure_corpus
from tests.models.recording import eager, plain, some_tokens

TEXTS = [some_tokens(length, seed) for seed, length in enumerate((9, 70, 23, 5))]
MEASURES = [*shipped().values()]


def pair(family):
    """Two random models of one shape."""
    return families.loaded(family), families.loaded(family, seed=1)


def whole(first, second, texts=TEXTS, measures=()):
    """The sums over both halves."""
    one, other = compare(first, second, texts, measures)
    return one.merge(other)


def entropy(row):
    return -sum(p * math.log2(p) for p in row if p)


def distance(first, second):
    """Jensen-Shannon distance of two rows by its definition."""
    middle = [(p + q) / 2 for p, q in zip(first, second, strict=True)]
    return math.sqrt(max(0.0, entropy(middle) - (entropy(first) + entropy(second)) / 2))


def attention(loaded, text):
    """float64 [layer, head, query, key] as transformers computes it in plain steps."""
    found = plain(eager(loaded.model), text, output_attentions=True).attentions
    return torch.cat(found).double().numpy()


@pytest.mark.parametrize("family", ["llama", "gemma2", "qwen2", "bert"])
def test_distances_are_those_of_a_plain_loop(family):
    with in_float64():
        first, second = pair(family)
        texts = [text[: first.identity["context"]] for text in TEXTS]
        found = whole(first, second, texts)
        total, rows = 0, 0
        for text in texts:
            before, now = attention(first, text), attention(second, text)
            layers, heads, length, _ = before.shape
            total = total + np.array(
                [
                    [
                        sum(distance(before[n, h, i], now[n, h, i]) for i in range(1, length))
                        for h in range(heads)
                    ]
                    for n in range(layers)
                ]
            )
            rows += length - 1
    np.testing.assert_allclose(found.mean(DISTANCE), total / rows, atol=1e-7)
    assert found.mean(DISTANCE).min() > 0.05  # random models differ


def updates(loaded, text):
    """What each head adds, [layer][head] -> float64 [T, hidden], and what enters each layer."""
    contexts, entered, hooks = [], [], []
    for part in loaded.structure:
        hooks.append(
            part.output_projection.register_forward_pre_hook(
                lambda _, args: contexts.append(args[0][0].double())
            )
        )
        hooks.append(
            part.module.register_forward_pre_hook(
                lambda _, args, kwargs: entered.append(
                    (args[0] if args else kwargs["hidden_states"])[0].double()
                ),
                with_kwargs=True,
            )
        )
    plain(loaded.model, text)
    for hook in hooks:
        hook.remove()
    found = []
    for part, context in zip(loaded.structure, contexts, strict=True):
        weight = part.output_projection.weight.detach().double()
        size = context.shape[1] // part.heads
        spans = [slice(head * size, (head + 1) * size) for head in range(part.heads)]
        found.append([context[:, span] @ weight[:, span].T for span in spans])
    return found, entered


def test_updates_are_those_of_plain_hooks():
    with in_float64():
        first, second = pair("llama")
        found = whole(first, second)
        cosine, lengths, rows = 0, [0, 0], 0
        for text in TEXTS:
            both = [updates(loaded, text) for loaded in (first, second)]
            layers, heads = len(both[0][0]), len(both[0][0][0])
            each = np.zeros((3, layers, heads))
            for n, h in np.ndindex(layers, heads):
                for i in range(1, len(text)):
                    u, v = (one[0][n][h][i] for one in both)
                    each[0, n, h] += float(u @ v / u.norm() / v.norm())
                    each[1, n, h] += float(u.norm() / both[0][1][n][i].norm())
                    each[2, n, h] += float(v.norm() / both[1][1][n][i].norm())
            cosine, rows = cosine + each[0], rows + len(text) - 1
            lengths = [length + more for length, more in zip(lengths, each[1:], strict=True)]
    np.testing.assert_allclose(found.mean(COSINE), cosine / rows, atol=1e-8)
    np.testing.assert_allclose(found.mean(REFERENCE + MAGNITUDE), lengths[0] / rows, atol=1e-8)
    np.testing.assert_allclose(found.mean(MAGNITUDE), lengths[1] / rows, atol=1e-8)


def test_measures_are_those_of_each_model_alone_and_errors_those_of_paired_texts():
    first, second = pair("llama")
    found = whole(first, second, measures=MEASURES)
    alone = [measure_corpus(loaded, TEXTS) for loaded in (first, second)]
    by_text = [[measure_corpus(one, [text]) for text in TEXTS] for one in (first, second)]
    for name in ("entropy", "to_first_token", "distance"):
        before, now = (one.mean(name) for one in alone)
        np.testing.assert_allclose(found.mean(REFERENCE + name), before, atol=1e-6)
        np.testing.assert_allclose(found.mean(name), now, atol=1e-6)
        np.testing.assert_allclose(found.mean(CHANGE + name), now - before, atol=1e-6)
        rows = np.array([len(text) - 1 for text in TEXTS])[:, None, None]
        changes = np.stack([b.mean(name) - a.mean(name) for a, b in zip(*by_text, strict=True)])
        mean = (rows * changes).sum(0) / rows.sum()
        off = ((rows * (changes - mean)) ** 2).sum(0) * len(TEXTS) / (len(TEXTS) - 1)
        np.testing.assert_allclose(
            found.error(CHANGE + name), np.sqrt(off) / rows.sum(), rtol=1e-4, atol=1e-7
        )


@pytest.mark.parametrize("family", ["llama", "falcon", "gpt_oss", "gemma3"])
def test_a_model_is_no_way_from_itself(family):
    model = families.loaded(family)
    found = whole(model, model, measures=MEASURES)
    assert (found.mean(DISTANCE) == 0).all()
    np.testing.assert_allclose(found.mean(COSINE), 1, atol=1e-12)
    changes = [found.mean(name) for name in found.measures if name.startswith(CHANGE)]
    assert all((np.nan_to_num(change) == 0).all() for change in changes)


def test_both_ways_are_equally_far():
    first, second = pair("llama")
    there, back = (whole(*each, measures=MEASURES) for each in ((first, second), (second, first)))
    for name in (DISTANCE, COSINE):
        np.testing.assert_allclose(there.mean(name), back.mean(name), atol=1e-6)
    for name in ("entropy", MAGNITUDE):
        np.testing.assert_allclose(there.mean(CHANGE + name), -back.mean(CHANGE + name), atol=1e-5)


def test_rows_far_and_near():
    rows = torch.eye(3)
    assert row_distances(rows[0], rows[1]) == 1  # no target is shared
    assert row_distances(rows[0], rows[0]) == 0
    one, other = torch.tensor([0.2, 0.1]), torch.tensor([0.1, 0.2])
    expected = distance([0.2, 0.1, 0.7], [0.1, 0.2, 0.7])
    assert float(row_distances(one, other, sink=True)) == pytest.approx(expected, abs=1e-6)
    near = torch.tensor([0.5 + 1e-9, 0.5 - 1e-9], dtype=torch.float64)
    # where rows are close the divergence is a quarter of chi-squared: here 1e-18 / (2 ln 2)
    assert float(row_distances(near, torch.tensor([0.5, 0.5]))) == pytest.approx(
        math.sqrt(1e-18 / 2 / math.log(2)), rel=1e-4
    )
    assert cosines(torch.zeros(2), torch.ones(2)).isnan()


def test_halves_are_as_large_and_do_not_depend_on_the_order():
    half = difference.halves(TEXTS)
    assert sorted(half) == [0, 0, 1, 1]
    assert difference.halves(TEXTS[::-1]) == half[::-1]


def test_models_of_other_shapes_are_refused():
    first, second = pair("llama")
    vars(second)["structure"] = second.structure[:-1]
    with pytest.raises(ReportError, match=r"llama has 3 × 4 heads .* has 2 × 4 heads"):
        compare(first, second, TEXTS, [])


def test_models_that_see_other_targets_are_refused():
    with pytest.raises(ReportError, match="layer 0 of gemma3 sees other targets"):
        compare(families.loaded("llama"), families.loaded("gemma3"), TEXTS, [])


def test_other_tokens_are_refused_by_text_and_place():
    names = "one", "other"
    difference.require_same_tokens(names, [[1, 2, 3]], [[1, 2, 3]])
    with pytest.raises(ReportError, match=r"one and other .* text 1 differs from token 2 on"):
        difference.require_same_tokens(names, [[1], [1, 2, 3]], [[1], [1, 2, 4]])
    with pytest.raises(ReportError, match=r"text 0 differs from token 2 on \(2 tokens and 3\)"):
        difference.require_same_tokens(names, [[1, 2]], [[1, 2, 3]])


def test_one_text_has_no_halves():
    model = families.loaded("llama")
    with pytest.raises(ReportError, match="over 2 texts or more"):
        compare(model, model, TEXTS[:1], [])
