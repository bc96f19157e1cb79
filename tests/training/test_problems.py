"""Generated word problems: the answers are right, and prompts come from the seed alone."""

import re

import numpy as np
import pytest

from report.training.problems import PROBLEMS, SYSTEMS, problem, prompt


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
    starts = {problem(rng)[1].count("=") for _ in range(100)}
    assert starts == {1, 2}


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


def test_equal_seeds_give_equal_prompts():
    texts = [prompt(np.random.default_rng(seed)) for seed in (5, 5, 6)]
    assert texts[0] == texts[1] != texts[2]
