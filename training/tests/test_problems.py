"""Generated word problems: the answers are right, and prompts come from the seed alone."""

import re
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

import report.embedded
from report.inputs.prompts import prompts
from training import problems
from training.problems import PROBLEMS, SYSTEMS, problem, prompt
from training.recipe import RECIPES

EMBEDDED = Path(report.embedded.__file__).parent


@pytest.mark.parametrize("make", PROBLEMS)
def test_every_step_of_an_answer_is_right_and_the_last_number_is_the_answer(make):
    rng = np.random.default_rng(3)
    for _ in range(50):
        question, answer = make(rng, lambda low, high: int(rng.integers(low, high + 1)))
        steps = re.findall(r"(\d+) ([-+x/]) (\d+) = (\d+)", answer)
        assert steps
        for left, sign, right, result in steps:
            found = {
                "+": int(left) + int(right),
                "-": int(left) - int(right),
                "x": int(left) * int(right),
                "/": int(left) / int(right),
            }[sign]
            assert found == int(result)
        assert answer.endswith(f"The answer is {steps[-1][3]}.")
        numbers = set(re.findall(r"\d+", question))
        assert set(re.findall(r"\d+", answer)) & numbers, "it uses the numbers of the question"
        assert question.endswith("?")


def test_all_kinds_come_up():
    rng = np.random.default_rng(0)
    assert {problem(rng)[1].count("=") for _ in range(100)} == {1, 2}


def test_a_prompt_is_a_system_prompt_perhaps_a_filler_and_questions():
    rng = np.random.default_rng(1)
    fillers = 0
    for _ in range(200):
        text = prompt(rng, fillers=0.5, problems=3)
        system = next(each for each in SYSTEMS if text.startswith(each))
        rest = text.removeprefix(system)
        span = rest[: rest.index("Question:")].strip("\n ")
        assert len(set(span)) <= 1, "one sign over and over"
        fillers += bool(span)
        assert rest.count("\nAnswer: ") == 3
    assert 60 < fillers < 140


@pytest.fixture(scope="module")
def arithmetic():
    """The questions of the studies, which are to be new to the models."""
    return prompts("arithmetic")


def shape(text):
    """A sentence with whatever the templates of training problems fill in taken out."""
    for values in (problems.NAMES, problems.THINGS, problems.PLACES):
        text = re.sub(rf"\b({'|'.join(values)})\b", "_", text)
    return re.sub(r"\d+", "0", text)


def sentences(text):
    return {shape(part) for part in re.split(r"(?<=[.?!]) ", text)}


def test_no_two_questions_differ_in_names_and_numbers_alone(arithmetic):
    assert len({shape(question) for question in arithmetic.questions}) == len(arithmetic.questions)


def test_no_sentence_of_a_question_can_come_up_in_training(arithmetic):
    rng = np.random.default_rng(0)
    trained = set()
    for make in problems.PROBLEMS:
        for _ in range(20):
            question, _ = make(rng, lambda low, high: int(rng.integers(low, high + 1)))
            trained |= sentences(question)
    assert shape("What is 17 plus 4?") in trained
    assert len(trained) < 30, "what the templates fill in was taken out"
    for question in arithmetic.questions:
        assert not sentences(question) & trained
    assert arithmetic.system not in problems.SYSTEMS


def test_a_prompt_with_its_filler_fits_into_every_window_of_the_embedded_models(arithmetic):
    """As it does in the large models; 16 tokens are left for what separates the segments."""
    tokenizer = Tokenizer.from_file(str(EMBEDDED / "falcon-8x8" / "tokenizer.json"))

    def tokens(text):
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    longest = tokens(arithmetic.system) + 55 + max(map(tokens, arithmetic.questions))
    assert tokens("/" * 55) == 55
    for recipe in RECIPES.values():
        if recipe.prompts:
            window = recipe.sliding_window if recipe.architecture == "gemma3" else recipe.context
            assert longest + 16 <= window
