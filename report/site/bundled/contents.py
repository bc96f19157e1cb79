"""The contents of an article, folded under its title where the window has no room beside the text.

On a site they are in the drawer that leads to other pages, which a bundle has not.
"""

from html import escape

STYLE = """<style>
.md-typeset details.contents { border-color: var(--md-default-fg-color--lighter); }
.md-typeset .contents > summary { background: none; padding-inline-start: 0.6rem; }
.md-typeset .contents > summary::before { display: none; }
.md-typeset .contents ul { list-style: none; margin: 0.4rem 0; }
.md-typeset .contents li { margin: 0; }
.md-typeset .contents a { display: block; padding: 0.3rem 0; }
@media print, screen and (min-width: 60em) { .md-typeset details.contents { display: none; } }
</style>
"""
"""From 60em on, the theme shows the contents beside the text."""


class Contents:
    """Collects the headings of an article while its page is read."""

    def __init__(self) -> None:
        self.headings: list[tuple[str, list[str]]] = []
        """Anchor and parts of the text, as HTML, of each."""
        self._reading = False
        self._skipped = False  # within the link that a heading has to itself

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        """Take note of a tag that begins."""
        if tag == "h2" and attributes.get("id"):
            self.headings.append((attributes["id"], []))
            self._reading = True
        elif tag == "a" and "headerlink" in attributes.get("class", "").split():
            self._skipped = True

    def end(self, tag: str) -> None:
        """Take note of a tag that ends."""
        if tag == "h2":
            self._reading = False
        elif tag == "a":
            self._skipped = False

    def text(self, text: str) -> None:
        """Take note of text, as it stands in the page."""
        if self._reading and not self._skipped:
            self.headings[-1][1].append(text)

    def html(self) -> str:
        """The list; "" for an article without headings."""
        listed = "".join(
            f'<li><a href="#{escape(anchor)}">{"".join(parts).strip()}</a></li>'
            for anchor, parts in self.headings
        )
        if not listed:
            return ""
        folded = f'<details class="contents"><summary>Contents</summary><ul>{listed}</ul></details>'
        return f"{STYLE}{folded}\n"
