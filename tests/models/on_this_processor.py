"""Run as a program: parity with the instructions that variables of the environment allow.

    python -m tests.models.on_this_processor VARIABLES...

VARIABLES: a JSON object each. For every one it forks a child, as torch and its libraries choose
their instructions when they first compute, which to import them is not.

Prints a line of JSON for each number of threads: the instructions that torch then uses, that
number, and per dtype the largest difference as a fraction of what rounding explains.
"""

import json
import os
import sys

import numpy as np
import torch

from report.families import verify
from report.measurements.decomposition import Factors
from report.measurements.precision import tolerance
from report.models.attention.kernel import streaming_attention

MODELS = ("llama/default", "falcon/alibi")
"""One through the attention interface, with rotation, and one by a forward of ours, with ALiBi."""

THREADS = 1, 2

HEADS, TOKENS, SIZE = 4, 700, 64
"""Enough for torch to divide the work of a product, a softmax and a sum among threads."""


def against_transformers(dtype):
    """Of each model, the largest difference from transformers' own code: list of float."""
    found = []
    for name in MODELS:
        worst = max(verify.differences(name, dtype=dtype).values())
        found.append(worst / verify.limit(name, dtype))
    return found


def of_the_kernel(dtype):
    """The same of a context, from numpy in float64."""
    draw = np.random.default_rng(0).normal
    query, key, value = (draw(size=(HEADS, TOKENS, SIZE)) for _ in range(3))
    score = query @ key.swapaxes(1, 2)
    score[:, ~np.tri(TOKENS, dtype=bool)] = -np.inf
    weight = np.exp(score - score.max(-1, keepdims=True))
    expected = weight / weight.sum(-1, keepdims=True) @ value
    parts = [torch.as_tensor(part, dtype=dtype) for part in (query, key, value)]
    factors = Factors(*parts[:2], None, None, None, 1.0)
    off = np.abs(streaming_attention(factors, parts[2]).double().numpy() - expected).max()
    size = np.abs(score[np.isfinite(score)]).max() * np.abs(value).max()
    return off / tolerance(SIZE + 2 * TOKENS, size, dtype)


def measured(threads):
    torch.set_num_threads(threads)
    ratios = {
        str(dtype).removeprefix("torch."): max(*against_transformers(dtype), of_the_kernel(dtype))
        for dtype in verify.DTYPES
    }
    used = torch.backends.cpu.get_cpu_capability(), torch.get_num_threads()
    return {"capability": used[0].lower(), "threads": used[1], "ratios": ratios}


def main(arguments):
    for variables in map(json.loads, arguments):
        child = os.fork()
        if not child:
            os.environ |= variables
            for number in THREADS:
                print(json.dumps(measured(number)), flush=True)
            return
        if os.waitpid(child, 0)[1]:
            sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
