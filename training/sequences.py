"""The sequences that a model is trained on: text, generated prompts, and drills.

In a drill, finding what came before is all there is to learn. Text comes from the training books,
and some of it holds a span twice.
"""

from collections.abc import Callable

import numpy as np
import torch

from training.problems import prompt
from training.recipe import Recipe

Encode = Callable[[str], np.ndarray]
"""From a text to its tokens, int [tokens]."""


def training_batch(
    tokens: np.ndarray, recipe: Recipe, begin_id: int, step: int, encode: Encode | None = None
) -> torch.Tensor:
    """The batch of one step, int64 [batch, context]; depends on the seed and the step alone."""
    rng = np.random.default_rng([recipe.seed, step])
    rows = [sequence(tokens, recipe, begin_id, step, rng, encode) for _ in range(recipe.batch)]
    return torch.from_numpy(np.stack(rows)).long()


def drill_fraction(step: int, recipe: Recipe) -> float:
    """Fraction of sequences at this step that are a drill, in [0, 1]."""
    if step < recipe.drills_only:
        return 1.0
    since = step - recipe.drills_only
    return max(recipe.drill_late, recipe.drill - recipe.drill_slope * since)


def sequence(
    tokens: np.ndarray,
    recipe: Recipe,
    begin_id: int,
    step: int,
    rng: np.random.Generator,
    encode: Encode | None = None,
) -> np.ndarray:
    """One training sequence [context]: the beginning-of-text token, then text or a drill.

    tokens: int [corpus]; encode: str to int [tokens], needed by recipes with prompts
    """
    if rng.random() >= drill_fraction(step, recipe):
        if recipe.prompts and rng.random() < recipe.prompts:
            body = prompt_sequence(recipe, rng, encode)
        else:
            body = text_sequence(tokens, recipe, rng)
    elif step < recipe.loops_only:
        body = loop_of_random_tokens(tokens, recipe, rng)
    else:
        body = DRILLS[rng.choice(len(DRILLS), p=recipe.drill_kinds)](tokens, recipe, rng)
    return np.concatenate([[begin_id], body])


def prompt_sequence(recipe: Recipe, rng: np.random.Generator, encode: Encode) -> np.ndarray:
    """A generated prompt with word problems from its start on, int [context - 1]."""
    length, text = recipe.context - 1, encode(prompt(rng))
    while len(text) < length:
        text = np.concatenate([text, encode("\n" + prompt(rng))])
    return text[:length]


def loop_of_random_tokens(
    tokens: np.ndarray, recipe: Recipe, rng: np.random.Generator
) -> np.ndarray:
    """A span of random tokens over and over, int [context - 1]: a drill for induction heads."""
    n = _loop_length(recipe, rng)
    return np.resize(_random_tokens(n, recipe, rng), recipe.context - 1)


def loop_of_few_tokens(tokens: np.ndarray, recipe: Recipe, rng: np.random.Generator) -> np.ndarray:
    """A span of a few different tokens over and over, int [context - 1]."""
    n = _loop_length(recipe, rng)
    size = rng.integers(recipe.smallest_alphabet, recipe.largest_alphabet + 1)
    return np.resize(rng.choice(_random_tokens(size, recipe, rng), n), recipe.context - 1)


def loop_of_text(tokens: np.ndarray, recipe: Recipe, rng: np.random.Generator) -> np.ndarray:
    """A span of text over and over, int [context - 1]."""
    n = _loop_length(recipe, rng)
    return np.resize(_text(tokens, n, rng), recipe.context - 1)


def pairs(tokens: np.ndarray, recipe: Recipe, rng: np.random.Generator) -> np.ndarray:
    """Every two tokens repeated once (a b a b c d c d), int [context - 1], text or random tokens.

    A drill for previous-token heads: half of the time, the next token is the previous one.
    """
    half = recipe.context // 2 + 2
    random = rng.random() < recipe.random_spans
    said = _random_tokens(half, recipe, rng) if random else _text(tokens, half, rng)
    twice = np.repeat(said[: half // 2 * 2].reshape(-1, 2), 2, axis=0).ravel()
    return twice[rng.integers(4) :][: recipe.context - 1]


DRILLS = (loop_of_random_tokens, pairs, loop_of_few_tokens, loop_of_text)


def _loop_length(recipe, rng):
    return int(rng.integers(recipe.shortest_span, recipe.longest_drill + 1))


def _random_tokens(n, recipe, rng):
    return rng.integers(1, recipe.vocab_size, n)


def _text(tokens, n, rng):
    at = rng.integers(0, len(tokens) - n)
    return tokens[at : at + n]


def text_sequence(tokens: np.ndarray, recipe: Recipe, rng: np.random.Generator) -> np.ndarray:
    """Consecutive text, int [context - 1], in which perhaps a span occurs twice.

    The span is text or random tokens; the second time comes right after the first or some text
    later, as in the induction test of Olsson et al. 2022.
    """
    length = recipe.context - 1
    text = _text(tokens, length, rng).copy()
    if rng.random() < recipe.repeated:
        n = int(rng.integers(recipe.shortest_span, recipe.longest_span + 1))
        random = rng.random() < recipe.random_spans
        span = _random_tokens(n, recipe, rng) if random else _text(tokens, n, rng)
        first = int(rng.integers(0, length - 2 * n + 1))
        second = int(rng.integers(first + n, length - n + 1))
        text[first : first + n] = span
        text[second : second + n] = span
    return text
