"""Batches are what the recipe says: begin token first, spans really twice, fractions as stated."""

import re
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from report.kinds.folders import findings as of
from tests.figures import hand_sweep
from training.recipe import (
    BEGINNING_OF_TEXT,
    RECIPES,
    Recipe,
    learning_rate_factor,
    optimizers,
    random_model,
    train_tokenizer,
)
from training.sequences import (
    drill_fraction,
    loop_of_few_tokens,
    loop_of_random_tokens,
    loop_of_text,
    pairs,
    sequence,
    text_sequence,
    training_batch,
)

from .conftest import tiny_recipe

# All different, and random ids from so many that none comes up twice by chance.
CORPUS = np.arange(1_000_000)
RECIPE = Recipe(vocab_size=10**12)


def spans(row):
    """The two places of the tokens that occur twice, int [2, n]; n is 0 without a repeat."""
    _, first, counts = np.unique(row, return_index=True, return_counts=True)
    assert counts.max() <= 2
    twice = np.sort(first[counts == 2])
    second = [np.flatnonzero(row == row[place])[1] for place in twice]
    return np.array([twice, second], dtype=int)


def test_a_sequence_is_the_begin_token_and_consecutive_text():
    recipe = replace(RECIPE, repeated=0.0, drill=0.0, drill_late=0.0)
    row = sequence(CORPUS, recipe, -1, 0, np.random.default_rng(0))
    assert row[0] == -1
    assert len(row) == RECIPE.context
    assert (np.diff(row[1:]) == 1).all()


def test_the_corpus_is_not_written_to():
    tokens = np.arange(1000)
    for make in (text_sequence, loop_of_text, pairs):
        make(tokens, Recipe(repeated=1.0), np.random.default_rng(0))
    assert (tokens == np.arange(1000)).all()


def test_a_repeat_is_one_span_of_the_stated_length_twice():
    rng = np.random.default_rng(1)
    for _ in range(200):
        first, second = spans(text_sequence(CORPUS, replace(RECIPE, repeated=1.0), rng))
        assert RECIPE.shortest_span <= len(first) <= RECIPE.longest_span
        assert (np.diff(first) == 1).all()
        assert (np.diff(second) == 1).all()
        assert second[0] > first[-1]


def test_the_stated_fractions_are_repeated_and_random():
    rng = np.random.default_rng(2)
    recipe = replace(RECIPE, repeated=0.3)
    rows = [text_sequence(CORPUS, recipe, rng) for _ in range(2000)]
    found = [(row, spans(row)[0]) for row in rows]
    repeated = [(row, places) for row, places in found if len(places)]
    assert len(repeated) / len(rows) == pytest.approx(0.3, abs=0.03)
    of_text = [(np.diff(row[places]) == 1).all() for row, places in repeated]
    assert np.mean(of_text) == pytest.approx(1 - RECIPE.random_spans, abs=0.06)


def period(row):
    """Length of the span that a row repeats."""
    return next(n for n in range(1, len(row)) if (row[n:] == row[:-n]).all())


@pytest.mark.parametrize("make", [loop_of_random_tokens, loop_of_few_tokens, loop_of_text])
def test_a_loop_is_one_span_over_and_over(make):
    rng = np.random.default_rng(3)
    rows = [make(CORPUS, RECIPE, rng) for _ in range(300)]
    assert {len(row) for row in rows} == {RECIPE.context - 1}
    lengths = {period(row) for row in rows}
    assert min(lengths) == RECIPE.shortest_span
    assert max(lengths) == RECIPE.longest_drill
    different = [len(set(row)) for row in rows]
    if make is loop_of_few_tokens:
        assert max(different) == RECIPE.largest_alphabet
        assert np.median(different) < RECIPE.shortest_span
    else:
        assert different == [period(row) for row in rows]
    if make is loop_of_text:
        assert all((np.diff(row[: period(row)]) == 1).all() for row in rows)


def test_pairs_say_every_two_tokens_twice():
    rng = np.random.default_rng(5)
    rows = [pairs(CORPUS, RECIPE, rng) for _ in range(200)]
    assert {len(row) for row in rows} == {RECIPE.context - 1}
    starts = set()
    for row in rows:
        same = row[:-2] == row[2:]  # where a token is the one before the one before
        start = next(s for s in range(4) if same[s::4].all() and same[s + 1 :: 4].all())
        assert not same[start + 2 :: 4].any()
        starts.add(start)
    assert starts == {0, 1, 2, 3}
    of_text = [np.abs(np.diff(row)).max() <= 1 for row in rows]
    assert np.mean(of_text) == pytest.approx(1 - RECIPE.random_spans, abs=0.1)


def test_sequences_are_drills_as_often_as_stated_and_loops_at_first():
    recipe = replace(RECIPE, repeated=0.0, drill=0.5, drill_slope=0.0, loops_only=10)
    rng = np.random.default_rng(4)
    for step, loops in ((9, 0.5), (10, 0.5 * recipe.drill_kinds[0])):
        rows = [sequence(CORPUS, recipe, -1, step, rng)[1:] for _ in range(1500)]
        drills = [row for row in rows if len(set(row)) < len(row)]
        assert len(drills) / len(rows) == pytest.approx(0.5, abs=0.04)
        random = [r for r in drills if 16 <= len(set(r)) <= 64 and np.abs(np.diff(r)).max() > 100]
        assert len(random) / len(rows) == pytest.approx(loops, abs=0.05)


def test_the_fraction_of_drills_falls_to_its_final_value():
    recipe = Recipe(drills_only=10, drill=0.9, drill_late=0.1, drill_slope=0.001)
    fractions = [drill_fraction(step, recipe) for step in (0, 9, 10, 510, 810, 9000)]
    assert fractions == pytest.approx([1, 1, 0.9, 0.4, 0.1, 0.1])
    assert sum(Recipe().drill_kinds) == pytest.approx(1)


def test_a_batch_depends_on_seed_and_step_alone():
    recipe = tiny_recipe()
    tokens = np.arange(200)
    batch = training_batch(tokens, recipe, 0, 5)
    assert batch.shape == (recipe.batch, recipe.context)
    assert (batch[:, 0] == 0).all()
    assert torch.equal(batch, training_batch(tokens, replace(recipe, steps=999), 0, 5))
    assert not torch.equal(batch, training_batch(tokens, recipe, 0, 6))
    assert not torch.equal(batch, training_batch(tokens, replace(recipe, seed=1), 0, 5))


def test_the_learning_rate_warms_up_stays_and_falls():
    recipe = Recipe(steps=1000, warmup_steps=100, cooldown=0.3)
    factors = [learning_rate_factor(step, recipe) for step in range(1000)]
    assert factors[0] == pytest.approx(0.01)
    assert set(factors[99:700]) == {1.0}
    assert (np.diff(factors[700:]) < 0).all()
    assert factors[850] == pytest.approx(0.51)
    assert factors[-1] == pytest.approx(0.02, abs=0.001)


@pytest.mark.parametrize("name", RECIPES)
def test_every_parameter_has_one_optimizer_and_only_matrices_of_layers_go_to_muon(name):
    recipe = replace(RECIPES[name], num_hidden_layers=2, vocab_size=32)
    model = random_model(recipe, 0)
    muon, adamw = optimizers(model, recipe)
    by_muon = {id(p) for group in muon.param_groups for p in group["params"]}
    by_adamw = [id(p) for group in adamw.param_groups for p in group["params"]]
    assert by_muon.isdisjoint(by_adamw)
    assert len(by_muon) + len(by_adamw) == len(list(model.parameters()))
    for name, parameter in model.named_parameters():
        matrix = parameter.ndim == 2 and re.search(r"\.(h|layers)\.", name)
        assert (id(parameter) in by_muon) == bool(matrix), name


def test_the_tokenizer_begins_every_text_and_loses_nothing():
    tokenizer = train_tokenizer(["a lamp, a lamp"], 260)
    text = "a lämp\n“quoted” \U0001f98a"
    ids = tokenizer(text).input_ids
    assert ids[0] == tokenizer.bos_token_id == 0
    assert tokenizer.convert_ids_to_tokens(ids[0]) == BEGINNING_OF_TEXT
    assert tokenizer.decode(ids[1:]) == text


@pytest.mark.parametrize("name", RECIPES)
def test_an_article_finds_the_drills_that_the_training_drew(tmp_path, name):
    find = of(hand_sweep.study(tmp_path))["find"]
    model = SimpleNamespace(recipe=asdict(RECIPES[name]))
    for step in range(0, RECIPES[name].steps + 1, 100):
        assert find.drills(step, model) == pytest.approx(drill_fraction(step, RECIPES[name]))
