"""Other instructions and other numbers of threads add in another order; parity must hold in all.

Each set of instructions is a process of its own, as torch chooses them once. What the processor
lacks is no case.
"""

import json
import os
import subprocess
import sys

import pytest
import torch

from tests.commands import ROOT

LIBRARIES = {
    "default": {"ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"},
    "avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "avx512": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "MKL_ENABLE_INSTRUCTIONS": "AVX512"},
}
"""Instructions that torch may use -> how the libraries that multiply for it are told the same."""


def capabilities():
    """Those of `LIBRARIES` that this processor has, asked of itself."""
    has = {"avx2": torch.cpu._is_avx2_supported, "avx512": torch.cpu._is_avx512_supported}
    return [name for name in LIBRARIES if name not in has or has[name]()]


THREADS = 1, 2


@pytest.mark.parametrize("capability", capabilities())
def test_parity_holds_with_every_instruction_and_number_of_threads(capability):
    done = subprocess.run(
        [sys.executable, "-m", "tests.models.on_this_processor", *map(str, THREADS)],
        env=os.environ
        | {"ATEN_CPU_CAPABILITY": capability, "PYTHONPATH": str(ROOT)}
        | LIBRARIES[capability],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()[-len(THREADS) :]]
    said = [(line["capability"], line["threads"]) for line in lines]
    assert said == [(capability, threads) for threads in THREADS]
    for line in lines:
        assert line["ratios"].keys() == {"float64", "float32"}
        assert all(0 < ratio <= 1 for ratio in line["ratios"].values()), line
