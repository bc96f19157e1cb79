"""Texts of others inside texts of ours: names that keep to themselves, and texts cut short.

Names of models, titles and labels may hold characters that turn the direction of writing round,
or set another. What they open ends where the name ends, so that nothing around it is reordered.
"""

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
