"""Model cards on one page: what all of them say is said once."""

import re

SECTIONS = ("Text", "Training", "Known limits", "Licence")
"""Sections that model cards may share; the others are about one model."""

HEADING = re.compile(r"^## (.*)\n", re.MULTILINE)


def split(cards: list[str]) -> tuple[str, list[str]]:
    """What model cards have in common, and what is left of every card.

    cards: Markdown with headings "## …"; fewer than two have nothing in common
    returns: (what is common in the same form, or ""; the rest of every card)
    """
    if len(cards) < 2:
        return "", list(cards)
    cut = [_sections(card) for card in cards]
    shared = {}
    for name in SECTIONS:
        parts = [_parts(sections.get(name, "")) for sections in cut]
        common = _common(parts)
        if not common:
            continue
        shared[name] = _joined(common)
        for sections, mine in zip(cut, parts, strict=True):
            sections[name] = _joined([part for part in mine if part not in common])
    return _written(shared), [_written(sections) for sections in cut]


def _common(parts):
    """The parts that all lists have, in the order of the first. A part that ends in a colon counts
    only if the part after it is common too."""
    found = [part for part in parts[0] if all(part in others for others in parts[1:])]
    return [
        part
        for part in found
        if not part.endswith(":")
        or all(mine.index(part) + 1 < len(mine) and _after(mine, part) in found for mine in parts)
    ]


def _after(parts, part):
    return parts[parts.index(part) + 1]


def _sections(card):
    """The text before the first heading, under "", and that of each heading."""
    first, *others = HEADING.split(card)
    return {"": first, **dict(zip(others[::2], others[1::2], strict=True))}


def _parts(text):
    """Paragraphs, tables, blocks of code, and entries of lists one by one."""
    found = []
    for block in re.split(r"\n\n+", text.strip()):
        found += re.split(r"\n(?=- )", block) if block.startswith("- ") else [block]
    return [part for part in found if part]


def _joined(parts):
    text = ""
    for part in parts:
        entries = part.startswith("- ") and text.rpartition("\n\n")[2].startswith("- ")
        text += ("\n" if entries else "\n\n" if text else "") + part
    return text


def _written(sections):
    texts = [
        f"## {name}\n\n{text.strip()}" if name else text.strip()
        for name, text in sections.items()
        if text.strip()
    ]
    return "\n\n".join(texts) + "\n" if texts else ""
