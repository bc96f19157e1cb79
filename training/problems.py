"""Generated prompts: a system prompt, sometimes a span without meaning, word problems, answers.

Models of the filler-token study get some of them among their books, so that such prompts are
familiar to them. The questions that the study itself asks are others:
`report/inputs/shipped/prompts` holds them.
"""

import numpy as np

from report.inputs.fillers import pick

SYSTEMS = (
    "You are a careful teacher. Read the question, think about it step by step, and then "
    "give the answer.",
    "You answer questions about numbers. Work slowly, write down every step, and end with the "
    "result.",
    "You are a friendly helper. Solve the problem in small steps and say the number at the end.",
    "Please read what follows and work it out one step at a time. The last line is the answer.",
    "You help children with sums. Explain each step in plain words before you give the number.",
    "You are good at sums. Think first, then answer, and put the number at the end of the line.",
)


NAMES = (
    "Anna Ben Clara David Emma Frank Grace Henry Ida Jack Kate Leo Mary Ned Olive Peter Rose Sam "
    "Tom Lucy"
).split()
THINGS = (
    "apples pears eggs books stones shells buttons coins cakes candles flowers feathers nuts "
    "stamps marbles pencils cups hens sheep boats"
).split()
PLACES = "basket box bag cupboard cart garden drawer shed kitchen shop".split()


def _bought(rng, n):
    a, b = n(2, 40), n(2, 40)
    who, what = pick(rng, NAMES), pick(rng, THINGS)
    text = f"{who} has {a} {what} and buys {b} more. How many {what} does {who} have now?"
    return text, f"{a} + {b} = {a + b}. The answer is {a + b}."


def _gave(rng, n):
    a = n(10, 60)
    b = n(2, a)
    (who, other), what = _two(rng, NAMES), pick(rng, THINGS)
    text = f"There were {a} {what} in the {pick(rng, PLACES)}. {who} took {b} of them for {other}."
    return f"{text} How many are left?", f"{a} - {b} = {a - b}. The answer is {a - b}."


def _rows(rng, n):
    a, b = n(2, 12), n(2, 12)
    what = pick(rng, THINGS)
    text = f"{pick(rng, NAMES)} puts {what} into {a} rows, and there are {b} {what} in every row."
    return f"{text} How many {what} is that?", f"{a} x {b} = {a * b}. The answer is {a * b}."


def _shared(rng, n):
    a, b = n(2, 9), n(2, 12)
    what = pick(rng, THINGS)
    text = f"{a * b} {what} are shared by {a} children, so that all of them get the same."
    return (
        f"{text} How many {what} does each child get?",
        f"{a * b} / {a} = {b}. The answer is {b}.",
    )


def _price(rng, n):
    a, b, c = n(2, 9), n(2, 9), n(1, 20)
    what = pick(rng, THINGS)
    text = f"One of the {what} costs {a} pence. {pick(rng, NAMES)} buys {b} of them"
    return (
        f"{text} and pays {c} pence for a bag. How much is it together?",
        f"{a} x {b} = {a * b}, and {a * b} + {c} = {a * b + c}. The answer is {a * b + c}.",
    )


def _age(rng, n):
    a, b, c = n(4, 14), n(1, 9), n(2, 9)
    who, other = _two(rng, NAMES)
    text = f"{who} is {a} years old, and {other} is {b} years older. How old is {other}"
    return (
        f"{text} {c} years from now?",
        f"{a} + {b} = {a + b}, and {a + b} + {c} = {a + b + c}. The answer is {a + b + c}.",
    )


def _sum(rng, n):
    a, b = n(1, 99), n(1, 99)
    return f"What is {a} plus {b}?", f"{a} + {b} = {a + b}. The answer is {a + b}."


def _difference(rng, n):
    a, b = sorted((n(1, 99), n(1, 99)))
    return f"What is {b} minus {a}?", f"{b} - {a} = {b - a}. The answer is {b - a}."


PROBLEMS = (_bought, _gave, _rows, _shared, _price, _age, _sum, _difference)


def problem(rng: np.random.Generator) -> tuple[str, str]:
    """A question and its answer, both str; `rng` is a numpy Generator."""
    make = PROBLEMS[rng.integers(len(PROBLEMS))]
    return make(rng, lambda low, high: int(rng.integers(low, high + 1)))


def prompt(rng: np.random.Generator, fillers: float = 0.2, problems: int = 8) -> str:
    """A system prompt, perhaps a span of one sign over and over, and questions with answers.

    fillers: fraction of the prompts that hold such a span, as rules and rows of dots do in text
    problems: number of questions
    returns: str
    """
    parts = [pick(rng, SYSTEMS)]
    if rng.random() < fillers:
        parts.append(pick(rng, "/.-*=\n_#") * int(rng.integers(8, 90)))
    for _ in range(problems):
        question, answer = problem(rng)
        parts.append(f"Question: {question}\nAnswer: {answer}")
    return "\n".join(parts)


def _two(rng, values):
    first, second = rng.choice(len(values), 2, replace=False)
    return values[first], values[second]
