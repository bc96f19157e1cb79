"""What an article found, on its page: the answer, the figure that shows it, and the numbers."""

from report.text import split_sentences

BYLINE_HERE = "<!-- byline -->"
"""Where the page has its byline, below all that; see `_article.md.j2`."""


def opening(finding: str, picture: str) -> str:
    """The Markdown of a finding around its picture, each part a block of its own.

    finding: its sentences; the first one stands in bold above the picture, the others below
    picture: HTML of a figure; "" if the finding places none
    """
    answer, *others = split_sentences(finding) or [""]
    answer, numbers = f"<strong>{answer}</strong>", " ".join(others)
    if picture and numbers:
        blocks = [answer, picture, numbers]
    else:
        blocks = [f"{answer} {numbers}".strip(), picture]
    kinds = ("finding", "", "finding finding--more")
    paragraphs = [
        f'<p class="{kind}">{block}</p>' if kind else block
        for kind, block in zip(kinds, blocks, strict=False)
        if block
    ]
    return "\n\n".join([*paragraphs, BYLINE_HERE]) + "\n"
