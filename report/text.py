"""Text and numbers: JSON read strictly, numbers made readable, text that breaks no file or page.

Names of models, titles and labels may hold characters that set or turn the direction of writing.
`isolated` ends what a name opens where the name ends, so that nothing around it is reordered.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Any

SMALLEST = 0.0001
"""The step of the numbers that articles quote."""

UNKNOWN = "not known"
"""Stands for a number that is none."""


NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML file may hold, escaped or not."""


def xml_text(text):
    """Any text with the characters that XML cannot hold replaced, not yet escaped."""
    return NOT_IN_XML.sub("\ufffd", str(text))


def strict_json(
    text: str | bytes,
    whole_number: Callable[[str], Any] | None = None,
    decimal: Callable[[str], Any] | None = None,
) -> Any:
    """The value of a JSON text in which no object has a name twice, and every number is one.

    whole_number, decimal: what makes numbers without and with a fraction or exponent of their
        digits; None: int and float
    raises: ValueError, or what these functions raise; RecursionError where lists lie too deep
    """
    return json.loads(
        text,
        object_pairs_hook=_without_duplicates,
        parse_int=whole_number,
        parse_float=decimal,
        parse_constant=_refuse_constant,
    )


def _without_duplicates(pairs):
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name comes twice in an object")
    return members


def _refuse_constant(name):
    raise ValueError(f"{name} is not a JSON number")


def slug(text):
    """An anchor for a heading: lower case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-") or "tag"


def count(number, noun):
    """A number and what is counted: "1 layer", "32 layers"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def large(number):
    """A number of things, short where it is large: "1,234", "3.4 million", "8.0 billion"."""
    if number >= 1_000_000_000:
        return f"{number / 1_000_000_000:.1f} billion"
    return f"{number / 1_000_000:.1f} million" if number >= 100_000 else f"{number:,}"


def number(value):
    """A number with two significant digits and a true minus sign: "0.0061", "−0.25", "12".

    Datasets hold four decimals, so what is smaller is "nearly 0".
    """
    if not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    if abs(value) < SMALLEST / 2:
        return "nearly 0"
    exponent = int(f"{value:.1e}".partition("e")[2])  # of the rounded value: 0.0996 is 0.10
    return f"{value:,.{min(4, max(0, 1 - exponent))}f}".replace("-", "−")


def percent(value, digits=0):
    """A fraction as "37 %", with a space that no line ends at; what is little is not nothing."""
    if not math.isfinite(100 * value):
        return UNKNOWN
    least = 10**-digits
    if 0 < 100 * value < least / 2:
        return f"less than {least:.{digits}f}\u00a0%"
    shown = f"{100 * value:.{digits}f}"
    if not float(shown):
        shown = shown.removeprefix("-")
    return f"{shown}\u00a0%".replace("-", "−")


LONGEST = 160
"""Characters of a value that a sentence quotes."""


def whole(text):
    """A text without halves of characters, which JSON and YAML can write as "\\ud83d".

    Two halves that belong together are joined; for what is left stands U+FFFD.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def quoted(value):
    """A value as a sentence about it quotes it: in one line, without its middle if it is long."""
    said = repr(value)
    half = LONGEST // 2
    return said if len(said) <= LONGEST else f"{said[:half]} … {said[-half:]}"


END, ISOLATE_END = "\u202c", "\u2069"

ISOLATE = "\u2068"  # of the direction of its first letter
ISOLATES = ("\u2066", "\u2067", ISOLATE)

OPENS = dict.fromkeys("\u202a\u202b\u202d\u202e", END) | dict.fromkeys(ISOLATES, ISOLATE_END)
"""Characters that set a direction -> what ends it."""


def isolated(text):
    """A text that reorders nothing around it: if it sets a direction, it is an isolate of its own
    (U+2068 … U+2069), in which all that it opens ends, and it ends nothing that is around it."""
    if not {*OPENS, END, ISOLATE_END} & set(text):
        return text
    found, open_ones, alone = [], [], text[:1] in ISOLATES
    for number, letter in enumerate(text):
        if letter in OPENS:
            open_ones.append(OPENS[letter])
        elif letter == END:
            if open_ones[-1:] != [END]:
                continue
            open_ones.pop()
        elif letter == ISOLATE_END:
            if ISOLATE_END not in open_ones:
                continue
            while open_ones.pop() != ISOLATE_END:  # what was opened within ends too
                pass
        found.append(letter)
        alone = alone and bool(open_ones or number == len(text) - 1)
    found += reversed(open_ones)
    return "".join(found if alone else [ISOLATE, *found, ISOLATE_END])


def all_isolated(data):
    """The same of every text in lists and dicts, keys aside."""
    if isinstance(data, str):
        return isolated(data)
    if isinstance(data, list):
        return [all_isolated(each) for each in data]
    if isinstance(data, dict):
        return {key: all_isolated(value) for key, value in data.items()}
    return data


def shortened(text, most):
    """A text of at most so many characters, the last one an ellipsis where it was longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
