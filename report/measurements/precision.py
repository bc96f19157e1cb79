"""How far apart two results may be that differ in rounding alone.

Processors, numbers of threads and sizes of blocks change the order in which numbers are added, and
so the last digits of what comes out. They change nothing else.

A sum of n terms t, added in any order, every step rounded by at most u = eps / 2 of its result, is
off by at most

    8 sqrt(n) u sum |t|

but for less than one sum in 10^13 / n, in which by chance most roundings go the same way (Higham
and Mary 2019, A New Approach to Probabilistic Rounding Error Analysis, theorem 2.4, lambda = 8).
Two such results are at most twice as far apart: 8 sqrt(n) eps sum |t|. Of numbers whose signs are
mixed, as those of weights and states are, the steps on the way are as small as the results, and the
largest of these stands for sum |t| (Higham and Mary 2020, Sharper Probabilistic Backward Error
Analysis for Basic Linear Algebra Kernels with Random Data).

Where sums follow one another, as in the layers of a model, n counts the terms of all of them:
independent errors add up as their squares do. A softmax turns an error of a score into as large a
relative error of a probability, so what counts for a probability is the size of the scores.
"""

import math
from collections.abc import Iterable

import torch

CERTAINTY = 8
"""Standard deviations that rounding may be off by."""


def tolerance(summed: float, size: float = 1.0, dtype: torch.dtype = torch.float32) -> float:
    """The largest difference that rounding explains, see above; in the unit of `size`.

    summed: how many terms are added up on the way, of all sums together
    size: the sum of the terms' sizes, or the largest result where their signs are mixed
    dtype: of torch, in which it is computed
    """
    return CERTAINTY * math.sqrt(summed) * torch.finfo(dtype).eps * float(size)


def summed_by(modules: Iterable[torch.nn.Module], tokens: int) -> int:
    """How many terms a number that went through modules of a model is summed of, at most.

    modules: iterable of torch modules, with all that is inside them
    tokens: of the text
    A matrix sums over its inputs and a norm over its dimensions, which is no more than the longest
    side of each parameter; a softmax and a context sum over the tokens, once a parameter at most.
    """
    parameters = {id(one): one for module in modules for one in module.parameters()}
    return sum(max(one.shape) + tokens for one in parameters.values() if one.dim())
