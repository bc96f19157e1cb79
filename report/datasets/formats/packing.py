"""Integers as text, one to three characters each: what a cell term of a dataset is written in.

A character between # and [ begins a number; any other one adds to the number before it:

    # ... [      -28 ... 28 times 100, the middle one (0) is ?
    ] ... g       -5 ... 5 times 10, the middle one (0) is b
    h ... r       -5 ... 5, the middle one (0) is m
    s ... x       -6 ... -1 times 5700
    y ... ~        1 ... 6 times 5700

Multiples of 100 take one character, multiples of 10 two: most scores hardly count and are rounded
to such, and a file is half as large as with decimal integers. None of the characters is escaped in
JSON. Where most numbers are 0 only the others are written, with how many are skipped before each;
and large ones of which every digit counts are two texts.
"""

import numpy as np

FIRST_ADDED = ord("]")
"""Characters from here on add to a number; those before begin a number."""

FAR = 5700
"""The characters that begin a number reach 28 hundreds to either side. Beyond that, characters of
this unit are added."""

WIDE = 57
"""How many characters begin a number, and so how many values one character can have."""

_VALUE = np.zeros(128, np.int64)
_VALUE[ord("#") : ord("[") + 1] = 100 * np.arange(-28, 29)
_VALUE[ord("]") : ord("g") + 1] = 10 * np.arange(-5, 6)
_VALUE[ord("h") : ord("r") + 1] = np.arange(-5, 6)
_VALUE[ord("s") : ord("x") + 1] = FAR * np.arange(-6, 0)
_VALUE[ord("y") : ord("~") + 1] = FAR * np.arange(1, 7)


def pack(numbers: np.ndarray) -> str:
    """The text of integers, int [any number]."""
    far, rest = _nearest(np.asarray(numbers, np.int64), FAR)
    hundreds, rest = _nearest(rest, 100)
    tens, ones = _nearest(rest, 10)
    columns = [ord("?") + hundreds, _char("b", tens), _char("m", ones)]
    for _ in range(int(np.abs(far).max(initial=0) + 5) // 6):
        some = np.clip(far, -6, 6)
        columns.append(np.where(some < 0, ord("y") + some, _char("x", some)))
        far -= some
    codes = np.stack(columns, 1).astype(np.uint8)  # [number, character], 0 for none
    return codes[codes > 0].tobytes().decode("ascii")


def unpack(text: str) -> np.ndarray:
    """The integers of a text, int64 [any number]; the inverse of `pack`.

    raises: ValueError for other characters than those above
    """
    codes = np.frombuffer(text.encode("ascii"), np.uint8)
    starts = np.flatnonzero(codes < FIRST_ADDED)
    known = (codes >= ord("#")) & (codes <= ord("~")) & (codes != ord("\\"))
    if not known.all() or (len(codes) and not (len(starts) and starts[0] == 0)):
        raise ValueError("not a text of packed integers")
    return np.add.reduceat(_VALUE[codes], starts) if len(codes) else np.zeros(0, np.int64)


def pack_wide(numbers: np.ndarray) -> tuple[str, str]:
    """Integers of any size as the texts of a and b, where number = 57 * a + b.

    Up to 1624 each text takes one character a number. Two texts compress better than one in which
    characters of different meanings alternate.
    """
    coarse, fine = _nearest(np.asarray(numbers, np.int64), WIDE)
    return pack(100 * coarse), pack(100 * fine)


def unpack_wide(coarse: str, fine: str) -> np.ndarray:
    """The integers of two texts, int64 [any number]; the inverse of `pack_wide`.

    raises: ValueError as `unpack`, or if the texts do not have equally many numbers
    """
    coarse, fine = unpack(coarse), unpack(fine)
    if len(coarse) != len(fine):
        raise ValueError(f"texts of {len(coarse)} and {len(fine)} integers")
    return (WIDE * coarse + fine) // 100


def pack_few(numbers: np.ndarray) -> tuple[str, str]:
    """Integers that are mostly 0 as two texts: how many 0s precede each other number, and those."""
    numbers = np.asarray(numbers, np.int64)
    others = np.flatnonzero(numbers)
    return pack(np.diff(others, prepend=-1) - 1), pack(numbers[others])


def unpack_few(skipped: str, others: str, count: int) -> np.ndarray:
    """The integers of two texts, int64 [count]; the inverse of `pack_few`.

    raises: ValueError as `unpack`, or if the texts are not of `count` integers
    """
    numbers, skipped, others = np.zeros(count, np.int64), unpack(skipped), unpack(others)
    places = np.cumsum(skipped + 1) - 1
    if len(places) != len(others) or (skipped < 0).any() or (places >= count).any():
        raise ValueError(f"not texts of {count} integers")
    numbers[places] = others
    return numbers


def _nearest(numbers, unit):
    """The nearest number of units, and what remains."""
    units = np.rint(numbers / unit).astype(np.int64)
    return units, numbers - unit * units


def _char(zero, value):
    """Codes of the characters around the one that stands for 0, which is left out itself."""
    return np.where(value == 0, 0, ord(zero) + value)
