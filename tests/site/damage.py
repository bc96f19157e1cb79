"""Damages a file for a moment: a bit that flips, a file that is gone."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def damaged(path: Path, way: str, chance: random.Random) -> Iterator[str]:
    """Damage a file, and put it back afterwards; yields what was done.

    way: "flip" (an empty file gets a byte instead) or "delete"
    """
    content = path.read_bytes()
    if way == "delete":
        path.unlink()
        what = f"{path} deleted"
    else:
        changed = bytearray(content or b"\0")
        bit = chance.randrange(8 * len(changed))
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        what = f"{path}, bit {bit} flipped"
    try:
        yield what
    finally:
        path.write_bytes(content)
