"""Integers as text in about as few bits as there are: Rice codes, in base64.

What a server compresses with gzip are characters, and gzip finds little in numbers that look like
noise. So each number is split (Rice and Plaunt 1971, as in FLAC): its lowest k bits as they are,
and what is above them, q, as q 0s and a 1. Before that, signed numbers 0, -1, 1, ... become 0, 1,
2, ... Numbers come in groups of equal size, each with a k of its own. The bytes are

    k of every group (a byte each) | the low bits, number after number | the 0s and 1s

Bits fill a byte from its highest; the last byte of each part is filled up with 0s.
"""

import base64
import binascii

import numpy as np

LARGEST_K = 40


def write(numbers: np.ndarray) -> str:
    """Base64 text of integers, int [group, integer]."""
    codes = np.asarray(numbers, np.int64)
    codes = np.where(codes < 0, -2 * codes - 1, 2 * codes)
    size = codes.shape[1]
    most = int(codes.max(initial=0)).bit_length()  # from here on a larger k is a longer text
    sizes = [(codes >> k).sum(1) + k * size for k in range(min(most + 1, LARGEST_K))]
    k = np.argmin(sizes, axis=0)
    low = [(group[:, None] >> np.arange(n)[::-1]) & 1 for group, n in zip(codes, k, strict=True)]
    bits = np.concatenate([np.zeros(0, np.int64), *(part.ravel() for part in low)])
    ends = np.cumsum((codes >> k[:, None]).ravel() + 1) - 1
    high = np.zeros(ends[-1] + 1 if len(ends) else 0, np.uint8)
    high[ends] = 1
    parts = k.astype(np.uint8), np.packbits(bits.astype(np.uint8)), np.packbits(high)
    return base64.b64encode(np.concatenate(parts).tobytes()).decode("ascii")


def read(text: str, groups: int, size: int) -> np.ndarray:
    """The integers of a text, int64 [group, integer]; the inverse of `write`.

    size: integers of a group
    raises: ValueError if the text is not base64 of so many groups and integers
    """
    try:
        content = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
    except binascii.Error as error:
        raise ValueError("not base64") from error
    k = content[:groups].astype(np.int64)
    if len(k) != groups or (k >= LARGEST_K).any():
        raise ValueError(f"not {groups} groups of integers")
    bytes_ = -(-int(k.sum()) * size // 8)
    bits = np.unpackbits(content[groups : groups + bytes_]).astype(np.int64)
    ends = np.flatnonzero(np.unpackbits(content[groups + bytes_ :]))
    if len(ends) != groups * size or len(bits) < int(k.sum()) * size:
        raise ValueError(f"not {groups} groups of {size} integers")
    codes = (np.diff(ends, prepend=-1) - 1).reshape(groups, size)
    start = 0
    for group, n in enumerate(k.tolist()):
        low = bits[start : start + n * size].reshape(size, n)
        codes[group] = (codes[group] << n) + low @ (1 << np.arange(n)[::-1])
        start += n * size
    return np.where(codes % 2, -(codes + 1) // 2, codes // 2)


def write_few(places: np.ndarray, numbers: np.ndarray) -> dict:
    """Integers that are mostly 0, by the others: their "number", and as texts how many 0s are
    "skipped" before each, and the "missing" values themselves.

    places, numbers: int [integer other than 0], their indices, ascending, and values
    """
    skipped = np.diff(places, prepend=-1) - 1
    return {
        "number": len(numbers),
        "skipped": write(skipped[None]),
        "missing": write(np.asarray(numbers)[None]),
    }


def read_few(content: dict, count: int) -> np.ndarray:
    """The integers, int64 [count]; the inverse of `write_few`.

    count: of all integers, 0s included
    raises: ValueError if the content has more
    """
    number, numbers = content["number"], np.zeros(count, np.int64)
    if number > count:
        raise ValueError(f"{number} of {count} integers")
    skipped, others = (read(content[name], 1, number)[0] for name in ("skipped", "missing"))
    places = np.cumsum(skipped + 1) - 1
    if (skipped < 0).any() or (places >= count).any():
        raise ValueError(f"not of {count} integers")
    numbers[places] = others
    return numbers
