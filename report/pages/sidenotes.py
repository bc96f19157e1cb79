"""Footnotes beside their sentences too: where a window has a margin, it shows them there.

MkDocs makes the list of notes. Here each reference gets a copy of its note, which the style sheet
(`web/page/sidenotes.css`) shows only in wide windows.
"""

import re

DEFINITION = re.compile(r"^\[\^([^\]\s]+)\]:[ \t]*(\S.*(?:\n[^\s\[#<>|:`~].*)*)", re.MULTILINE)
"""A note of one paragraph: its name and its words."""

LEFT_ALONE = (
    r"^```.*?^```|^[ \t]*<(?!(?:a|em|span|strong)\b)[^\n]*|^(?:[#|]|[!?]{3})[^\n]*"
    r"|<code.*?</code>|<[^>]*>|`[^`\n]*`|\]\([^)\n]*\)"
)
"""Code, lines of HTML, headings, tables, titles of boxes, tags and addresses in Markdown."""

REFERENCE = re.compile(rf"({LEFT_ALONE})|\[\^([^\]\s]+)\](?!:)", re.MULTILINE | re.DOTALL)
"""What is left alone, or the name of the note that is referred to."""


def with_sidenotes(markdown: str) -> str:
    """The Markdown of an article in which each note also stands after its first reference.

    A note that goes on after its first paragraph stays in the list alone.
    """
    notes = {}
    for number, found in enumerate(DEFINITION.finditer(markdown), 1):
        name, words = found.groups()
        if not markdown[found.end() :].startswith(("\n    ", "\n\n    ")):
            notes.setdefault(name, f"{_NUMBER.format(number)} {' '.join(words.split())}")

    def beside(found):
        note = notes.pop(found[2], None) if found[2] else None
        return f"{found[0]}{_NOTE.format(note) if note else ''}"

    return REFERENCE.sub(beside, markdown)


_NOTE = '<small class="sidenote" data-search-exclude>{}</small>'
_NUMBER = '<span class="sidenote__number">{}</span>'
