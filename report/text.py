"""Numbers made readable, text that breaks no file or page, and the word that was meant.

Names of models, titles and labels may hold characters that change the direction of writing.
`isolated` keeps their effect inside the name, so that no text around it is reordered.
"""

import math
import re
import unicodedata
import zlib
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from difflib import get_close_matches

JOINERS = "\u200d\u200c"
SKIN = re.compile("[\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
"""Colours of skin, and what spells the flag of a part of a country."""

FLAG_LETTER = re.compile("[\U0001f1e6-\U0001f1ff]")

LARGE = 1e15
"""From here on, a float has no halves."""

SMALLEST = 0.0001
"""The step of the numbers that articles quote."""

ROUNDING = 5e-7
"""By how much float32 may fall short of a sum of probabilities that is 1."""

MOST_REPEATED, END_REPEATED, LONGEST_PATH = 80, 16, 300
"""Signs of a value that a message repeats, those at its end, and of a path."""

LONG_VALUE = re.compile(r"""(?<!\w)(['"])(?!\s)[^\n'"]{81,}(?<!\s)\1(?!\w)|\S{81,}""")

UNKNOWN = "not known"
"""Stands for NaN and infinity."""


NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML file may hold, escaped or not."""


def text_id(labels: Iterable[str]) -> str:
    """Which text tokens' labels are of, 8 hexadecimal digits, as words.js works it out too."""
    return f"{zlib.crc32(chr(0).join(labels).encode('utf-8', 'replace')):08x}"


def xml_text(text: object) -> str:
    """A text with the characters that XML cannot hold replaced; it is not escaped yet."""
    return NOT_IN_XML.sub("\ufffd", str(text))


SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[^a-z ])")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, each with its full stop; one ends where the next has a capital."""
    return SENTENCE_END.split(text.strip()) if text.strip() else []


def slug(text: object, instead: str = "tag") -> str:
    """An anchor: lower-case letters, digits and hyphens; `instead` where nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-") or instead


def told_apart(labels: Iterable[str], suffix: str = " ({})") -> list[str]:
    """Labels, no two the same: one that came before gets a number."""
    unique = []
    for label in labels:
        number, numbered = 1, label
        while numbered in unique:
            number += 1
            numbered = label + suffix.format(number)
        unique.append(numbered)
    return unique


def count(number: int, noun: str) -> str:
    """A number and what is counted: "1 layer", "32 layers"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def large(number: int) -> str:
    """A number of things, short where it is large: "1,234", "3.4 million", "8.0 billion"."""
    if number >= 1_000_000_000:
        return f"{number / 1_000_000_000:.1f} billion"
    return f"{number / 1_000_000:.1f} million" if number >= 100_000 else f"{number:,}"


def sized(size: float) -> str:
    """A number of bytes: "12 kB", "3.9 MB", "1.20 GB"."""
    if size < 1e5:
        return f"{size / 1e3:.0f} kB"
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def lasting(seconds: float) -> str:
    """A time, not more exact than one needs: "0.4 s", "12 s", "3 min", "2 h 5 min"."""
    if seconds < 0.05:
        return "less than 0.1 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def rounded(value: float, digits: int) -> Decimal:
    """A number with so many decimals, halves away from zero: as browsers round what they show.

    Python's own formats round 75.25 to 75.2, and JavaScript's to 75.3.
    """
    if abs(value) >= LARGE:
        return Decimal(f"{value:.{digits}f}")
    return Decimal(float(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def number(value: float) -> str:
    """A number with two significant digits and a true minus sign: "0.0061", "−0.25", "12".

    Datasets hold four decimals, so a smaller number is "nearly 0". A correlation or a share is not
    rounded to 1, which would say that it is perfect: 0.998 has three digits, more is "nearly 1".
    """
    if not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    if abs(value) < SMALLEST / 2:
        return "nearly 0"
    if 0.95 <= abs(value) < 1 - ROUNDING:
        shorter = (rounded(value, digits) for digits in (2, 3))
        text = next((f"{decimal:f}" for decimal in shorter if abs(decimal) < 1), None)
        return (text or f"nearly {value:.0f}").replace("-", "−")
    exponent = int(f"{value:.1e}".partition("e")[2])  # of the rounded value: 0.0996 is 0.10
    return f"{rounded(value, min(4, max(0, 1 - exponent))):,f}".replace("-", "−")


def signed(value: float) -> str:
    """`number` with its sign: "+2.9", "−0.25", "0"."""
    text = number(value)
    return f"+{text}" if value > 0 and text[0].isdigit() else text


def percent(value: float, digits: int = 0) -> str:
    """A fraction as "37 %" with a no-break space; it is rounded neither to nothing nor to all.

    A small one is "less than 1 %", not "0 %", and one of nearly all "more than 99 %", not "100 %".
    """
    if not math.isfinite(100 * value):
        return UNKNOWN
    least = 10**-digits
    if 0 < 100 * value < least / 2:
        return f"less than {least:.{digits}f}\u00a0%"
    text = f"{rounded(100 * value, digits):f}"
    if float(text) == 100 and value < 1 - ROUNDING:
        return f"more than {100 - least:.{digits}f}\u00a0%"
    if not float(text):
        text = text.removeprefix("-")
    return f"{text}\u00a0%".replace("-", "−")


LONGEST = 160
"""Most characters of a value that a sentence quotes."""


def whole(text: str) -> str:
    """A text without lone surrogates, which JSON and YAML can write as "\\ud83d".

    A pair of surrogates becomes its character, any other one U+FFFD.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def quoted(value: object) -> str:
    """A value as a sentence quotes it: on one line, and without its middle if it is long."""
    text = repr(value)
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} … {text[-half:]}"


END, ISOLATE_END = "\u202c", "\u2069"

ISOLATE = "\u2068"  # of the direction of its first letter
ISOLATES = ("\u2066", "\u2067", ISOLATE)

OPENS = dict.fromkeys("\u202a\u202b\u202d\u202e", END) | dict.fromkeys(ISOLATES, ISOLATE_END)
"""Character that sets a direction -> the character that ends its effect."""


def isolated(text: str) -> str:
    """A text that reorders nothing around it.

    A text that sets a direction is put into an isolate (U+2068 … U+2069). Everything it opens is
    closed inside, and characters that would close something outside are dropped.
    """
    if not {*OPENS, END, ISOLATE_END} & set(text):
        return text
    letters, open_ones, alone = [], [], text[:1] in ISOLATES
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
        letters.append(letter)
        alone = alone and bool(open_ones or number == len(text) - 1)
    letters += reversed(open_ones)
    return "".join(letters if alone else [ISOLATE, *letters, ISOLATE_END])


def set_apart(text: str) -> str:
    """A text in an isolate if it has a letter that runs from right to left.

    Else a number that follows it in a sentence would be read as a part of it.
    """
    runs_back = any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in text)
    return f"{ISOLATE}{text}{ISOLATE_END}" if runs_back else text


def runs_back(text: str) -> bool:
    """Whether a text runs from right to left: its first letter does."""
    directions = map(unicodedata.bidirectional, text)
    return next((each for each in directions if each in ("L", "R", "AL")), "L") != "L"


def all_isolated(data: object) -> object:
    """The same for every text in lists and dicts, except for keys."""
    if isinstance(data, str):
        return isolated(data)
    if isinstance(data, list):
        return [all_isolated(each) for each in data]
    if isinstance(data, dict):
        return {key: all_isolated(value) for key, value in data.items()}
    return data


PILE = 16
"""Signs that `characters` takes for one character at most."""


def characters(text: str) -> list[str]:
    """A text in pieces that may be parted: marks stay with their letter, pictures that are one
    stay one, and so do the two letters of a flag.

    It goes by the categories of Unicode alone, so it parts some of India's consonants.
    """
    pieces = []
    for sign in text:
        if pieces and len(pieces[-1]) < PILE and _belongs(sign, pieces[-1]):
            pieces[-1] += sign
        else:
            pieces.append(sign)
    return pieces


def _belongs(sign, before):
    mark = unicodedata.category(sign).startswith("M") or sign in JOINERS or SKIN.match(sign)
    flag = FLAG_LETTER.fullmatch(before) and FLAG_LETTER.match(sign)
    return bool(mark or flag or before[-1] == JOINERS[0])


def shortened(text: str, most: int) -> str:
    """A text of at most `most` signs; an ellipsis ends a text that was longer.

    It is cut between `characters`, if the first of them is not longer itself.
    """
    if len(text) <= most:
        return text
    start = ""
    for character in characters(text[: most + PILE]):
        if len(start + character) >= most:
            break
        start += character
    return f"{start or text[: most - 1]}…"


def nearest(word: str, known: Iterable[str], most: int = 1, similarity: float = 0.6) -> list[str]:
    """The known words that a misspelt word may stand for, the most similar first; often none.

    most: how many at most; similarity: the least that counts, from 0 to 1
    """
    return get_close_matches(word, list(known), most, similarity)


USER = re.compile(r"(?<=://)(?:[^/?#\s]*|[^/?#\s@:\[\]]+:(?!\d*(?:[/?#\s]|$))[^\s'\"]{0,4000})@")
"""What stands before the host of an address, also where a password has a slash in it. With an end,
so that a text of many addresses takes no time that grows with its square."""

QUERY = re.compile(r"(://[^\s'\"`?#]++)([?#][^\s'\"`]*[^\s'\"`).,;:])?+")
"""An address, and what stands behind its path; one without it matches too, so that no part of it is
looked at again."""


NEARLY = re.compile(
    r"((?:^|(?<=['\"]))[a-zA-Z][\w+.-]{0,20}:/{1,2})[^/\n'\"]{0,1000}@"  # with a space in it
    r"|(?<![\w.%+~@/:-])(?!mailto:)(?:[a-zA-Z][\w+.-]{0,20}:/?(?!/)|//)?"
    r"(?:[\w.%+~-]{1,200}:(?!//)[^\s/'\"]{0,1000}@"
    r"|(?!git@)[\w.%+~-]{1,200}@(?=[\w-]+(?:\.[\w-]+)+(?::\d+)?/))"
    r"|(?<=[\w/.])\?[\w.%-]{1,200}=[^\s'\"`]*[^\s'\"`).,;:]"
    r"|(?<=Bearer )[^\s'\"]+"
)
"""The same of what is nearly an address ("user:password@host/x", "http:/user:password@host",
"//token@host/x", "host/x?token=…"), and the token of a request. The name of a model with its
revision, and what git takes without a password ("git@host:x"), are none."""


def without_secrets(text: str) -> str:
    """A text whose addresses name no user and no password, and no query, which may be a token; nor
    does what was meant for an address."""
    text = QUERY.sub(lambda match: match[1] + ("?…" if match[2] else ""), USER.sub("", text))
    return NEARLY.sub(lambda match: match[1] or ("" if match[0][-1] == "@" else "?…"), text)


def brief(sentence: str) -> str:
    """A sentence that repeats of a value at most `MOST_REPEATED` signs.

    Values are words, and what stands in quotation marks; paths and addresses, which are of use only
    as a whole, may be `LONGEST_PATH`.
    """

    def shorter(match):
        value = match[0]
        mark = match[1] or ""
        most = LONGEST_PATH if "/" in value else MOST_REPEATED
        if len(value) <= most + 2 * len(mark):
            return value
        inner = value[len(mark) : len(value) - len(mark)]
        return f"{mark}{inner[: MOST_REPEATED - END_REPEATED]}…{inner[-END_REPEATED:]}{mark}"

    return LONG_VALUE.sub(shorter, sentence)


def printable(text: str) -> str:
    """A text that does nothing to a terminal: control characters but line ends as "\\x1b"."""
    signs = (sign if sign == "\n" or not _controls(sign) else _escape(sign) for sign in text)
    return text if text.isprintable() else "".join(signs)


def _controls(sign):
    return unicodedata.category(sign) in ("Cc", "Cs") or sign in OPENS or sign in (END, ISOLATE_END)


def _escape(sign):
    return sign.encode("unicode_escape").decode()
