"""Block formats: how many numbers share how many bytes, and what the numbers are.

The formats, and what turns their bytes into numbers, are those of llama.cpp's own package `gguf`.
"""

import functools
import math
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from report.errors import ReportError, setup

AT_ONCE = 8192
"""Numbers that `gguf` is given as a row; it computes 16 rows at a time, which should fit into a
processor's cache and not be so few that the calls take longer than what they compute."""

WHOLE = ("I8", "I16", "I32", "I64")
"""Formats of whole numbers, which no weight has."""


@dataclass(frozen=True)
class Format:
    """A block format: its name, such as "Q4_1", and the numbers and bytes of a block."""

    name: str
    numbers: int
    bytes: int


FORMATS = {
    0: Format("F32", 1, 4),
    1: Format("F16", 1, 2),
    2: Format("Q4_0", 32, 18),
    3: Format("Q4_1", 32, 20),
    6: Format("Q5_0", 32, 22),
    7: Format("Q5_1", 32, 24),
    8: Format("Q8_0", 32, 34),
    9: Format("Q8_1", 32, 40),
    10: Format("Q2_K", 256, 84),
    11: Format("Q3_K", 256, 110),
    12: Format("Q4_K", 256, 144),
    13: Format("Q5_K", 256, 176),
    14: Format("Q6_K", 256, 210),
    15: Format("Q8_K", 256, 292),
    16: Format("IQ2_XXS", 256, 66),
    17: Format("IQ2_XS", 256, 74),
    18: Format("IQ3_XXS", 256, 98),
    19: Format("IQ1_S", 256, 50),
    20: Format("IQ4_NL", 32, 18),
    21: Format("IQ3_S", 256, 110),
    22: Format("IQ2_S", 256, 82),
    23: Format("IQ4_XS", 256, 136),
    24: Format("I8", 1, 1),
    25: Format("I16", 1, 2),
    26: Format("I32", 1, 4),
    27: Format("I64", 1, 8),
    28: Format("F64", 1, 8),
    29: Format("IQ1_M", 256, 56),
    30: Format("BF16", 1, 2),
    34: Format("TQ1_0", 256, 54),
    35: Format("TQ2_0", 256, 66),
    39: Format("MXFP4", 32, 17),
    40: Format("NVFP4", 64, 36),
    41: Format("Q1_0", 128, 18),
}
"""Number in a file -> format, as `gguf` 0.19 has them; it is needed only where numbers are read."""


def format_numbered(number: int, whose: str) -> Format:
    """The format that files call by a number.

    whose: what has it, for the message
    raises: ReportError if there is none of that number
    """
    if number not in FORMATS:
        raise ReportError(
            f"{whose} has a format that is not known (number {number}); the file is damaged, or "
            "made for a newer llama.cpp"
        )
    return FORMATS[number]


def numbers(raw: np.ndarray, block: Format) -> np.ndarray:
    """The numbers of some rows, float32.

    raw: uint8 [rows, bytes of a row], whole blocks
    returns: float32 [rows, numbers of a row]
    raises: ReportError for a format of whole numbers, or that `gguf` cannot turn into numbers, and
        where `gguf` is not installed
    """
    if block.name == "F64":  # numpy's own, which `gguf` leaves to it
        return raw.view("<f8").astype(np.float32)
    if block.name in WHOLE:
        raise ReportError(
            f"a weight is stored as whole numbers (the format {block.name}), without what would "
            "make weights of them; take the file from its source again"
        )
    gguf = package()
    blocks = raw.size // block.bytes
    # bytes of a row: as many blocks as divide both all of them and those of AT_ONCE numbers
    wide = math.gcd(blocks, AT_ONCE // block.numbers) * block.bytes
    try:
        with np.errstate(all="ignore"):  # a damaged scale is no number; what follows says so
            values = gguf.dequantize(raw.reshape(-1, wide), gguf.GGMLQuantizationType[block.name])
            return values.reshape(len(raw), -1)
    except NotImplementedError as error:
        raise ReportError(
            f"numbers in the format {block.name} cannot be read by the package gguf; use a file "
            "in another format, such as Q8_0"
        ) from error


@functools.cache
def package() -> ModuleType:
    """The package `gguf`; ReportError saying what to install where it is missing."""
    try:
        import gguf
    except ModuleNotFoundError as error:
        raise ReportError(
            f"reading a GGUF file needs the package {error.name!r}; run `{setup()}`"
        ) from error
    return gguf
