"""Other instructions and other numbers of threads add in another order; parity must hold in all.

Each set of instructions is a process of its own, as torch chooses them once; all are forked from
one, which has imported what they need. What the processor lacks is no case.
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


@pytest.fixture(scope="module")
def lines():
    """What the program prints: a list of dict."""
    variables = [{"ATEN_CPU_CAPABILITY": name} | LIBRARIES[name] for name in capabilities()]
    done = subprocess.run(
        [sys.executable, "-m", "tests.models.on_this_processor", *map(json.dumps, variables)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("capability", capabilities())
def test_parity_holds_with_every_instruction_and_number_of_threads(lines, capability):
    found = [line for line in lines if line["capability"] == capability]
    assert [line["threads"] for line in found] == [1, 2]
    for line in found:
        assert line["ratios"].keys() == {"float64", "float32"}
        assert all(0 < ratio <= 1 for ratio in line["ratios"].values()), line
