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
"""Characters from here on add to a number, those before begin one."""

FAR = 5700
"""The 57 characters that begin a number reach 28 hundreds to either side; beyond, count these."""

WIDE = 57
"""Of so many values each character that begins a number has one."""

_VALUE = np.zeros(128, np.int64)
_VALUE[ord("#") : ord("[") + 1] = 100 * np.arange(-28, 29)
_VALUE[ord("]") : ord("g") + 1] = 10 * np.arange(-5, 6)
_VALUE[ord("h") : ord("r") + 1] = np.arange(-5, 6)
_VALUE[ord("s") : ord("x") + 1] = FAR * np.arange(-6, 0)
_VALUE[ord("y") : ord("~") + 1] = FAR * np.arange(1, 7)


def pack(numbers):
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


def unpack(text):
    """The integers of a text, int64 [any number]; the inverse of `pack`.

    raises: ValueError for characters that are not among those above
    """
    codes = np.frombuffer(text.encode("ascii"), np.uint8)
    starts = np.flatnonzero(codes < FIRST_ADDED)
    known = (codes >= ord("#")) & (codes <= ord("~")) & (codes != ord("\\"))
    if not known.all() or (len(codes) and not (len(starts) and starts[0] == 0)):
        raise ValueError("not a text of packed integers")
    return np.add.reduceat(_VALUE[codes], starts) if len(codes) else np.zeros(0, np.int64)


def pack_wide(numbers):
    """Two texts of integers of any size, of one character each as far as 1624: number = 57 * a + b.

    Digits apart compress better than characters of different meanings in turns.
    """
    coarse, fine = _nearest(np.asarray(numbers, np.int64), WIDE)
    return pack(100 * coarse), pack(100 * fine)


def unpack_wide(coarse, fine):
    """The integers of two texts, int64 [any number]; the inverse of `pack_wide`.

    raises: ValueError as `unpack`, or if there are not as many of both
    """
    coarse, fine = unpack(coarse), unpack(fine)
    if len(coarse) != len(fine):
        raise ValueError(f"texts of {len(coarse)} and {len(fine)} integers")
    return (WIDE * coarse + fine) // 100


def pack_few(numbers):
    """Two texts of integers that are mostly 0: how many 0s are before each other one, and these."""
    numbers = np.asarray(numbers, np.int64)
    others = np.flatnonzero(numbers)
    return pack(np.diff(others, prepend=-1) - 1), pack(numbers[others])


def unpack_few(skipped, others, count):
    """The integers of two texts, int64 [count]; the inverse of `pack_few`.

    raises: ValueError as `unpack`, or if there are not `count` numbers or not as many of both kinds
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
