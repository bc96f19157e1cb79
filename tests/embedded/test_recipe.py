"""Batches are what the recipe says: begin token first, spans really twice, fractions as stated."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from report.embedded.recipe import (
    BEGINNING_OF_TEXT,
    Recipe,
    drill_fraction,
    drill_sequence,
    learning_rate_factor,
    optimizers,
    random_model,
    sequence,
    text_sequence,
    train_tokenizer,
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
    row = sequence(CORPUS, replace(RECIPE, repeated=0.0), -1, 0.0, np.random.default_rng(0))
    assert row[0] == -1
    assert len(row) == RECIPE.context
    assert (np.diff(row[1:]) == 1).all()


def test_the_corpus_is_not_written_to():
    tokens = np.arange(1000)
    sequence(tokens, Recipe(repeated=1.0), 0, 0.0, np.random.default_rng(0))
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


def test_a_drill_is_one_span_over_and_over_of_three_kinds():
    rng = np.random.default_rng(3)
    lengths, alphabets = set(), []
    for _ in range(300):
        row = drill_sequence(CORPUS, RECIPE, rng)
        assert len(row) == RECIPE.context - 1
        n = next(n for n in range(1, len(row)) if (row[n:] == row[:-n]).all())
        lengths.add(n)
        alphabets.append(len(set(row[:n])))
        if (np.diff(row[:n]) == 1).all():
            alphabets[-1] = "text"
    assert max(lengths) == RECIPE.longest_drill
    assert min(lengths) == RECIPE.shortest_span
    few = [a for a in alphabets if a != "text" and a < RECIPE.shortest_span]
    assert min(few) >= RECIPE.smallest_alphabet - 1  # a short span may miss one of them
    assert len(few) / 300 == pytest.approx(1 / 3, abs=0.09)
    assert alphabets.count("text") / 300 == pytest.approx(1 / 3, abs=0.08)


def test_sequences_are_drills_as_often_as_asked():
    rng = np.random.default_rng(4)
    recipe = replace(RECIPE, repeated=0.0)
    rows = [sequence(CORPUS, recipe, -1, 0.4, rng) for _ in range(2000)]
    assert np.mean([len(set(row)) < len(row) for row in rows]) == pytest.approx(0.4, abs=0.04)


def test_the_fraction_of_drills_falls_to_its_final_value():
    recipe = Recipe(drill=0.9, drill_late=0.1, drill_steps=1000)
    assert drill_fraction(0, recipe) == pytest.approx(0.9)
    assert drill_fraction(500, recipe) == pytest.approx(0.5)
    assert drill_fraction(1000, recipe) == drill_fraction(9000, recipe) == 0.1


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


def test_every_parameter_has_one_optimizer_and_only_matrices_of_layers_go_to_muon():
    model = random_model(tiny_recipe(), 0)
    muon, adamw = optimizers(model, tiny_recipe())
    by_muon = {id(p) for group in muon.param_groups for p in group["params"]}
    by_adamw = [id(p) for group in adamw.param_groups for p in group["params"]]
    assert by_muon.isdisjoint(by_adamw)
    assert len(by_muon) + len(by_adamw) == len(list(model.parameters()))
    for name, parameter in model.named_parameters():
        assert (id(parameter) in by_muon) == (".h." in name and parameter.ndim == 2), name


def test_the_tokenizer_begins_every_text_and_loses_nothing():
    tokenizer = train_tokenizer(["a lamp, a lamp"], 260)
    text = "a lämp\n“quoted” \U0001f98a"
    ids = tokenizer(text).input_ids
    assert ids[0] == tokenizer.bos_token_id == 0
    assert tokenizer.convert_ids_to_tokens(ids[0]) == BEGINNING_OF_TEXT
    assert tokenizer.decode(ids[1:]) == text
