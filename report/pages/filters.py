"""What templates may do to text and numbers: one function a filter."""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby

import yaml
from markupsafe import Markup, escape

from report.datasets.formats.passage import visible
from report.datasets.formats.renderings import TableToken
from report.figures.parts.score_terms import listed
from report.kinds.passage.data import Token
from report.text import SMALLEST, UNKNOWN, count, number, percent, rounded, set_apart, slug

WORDS_A_MINUTE = 230

SECONDS_A_FIGURE = 20

ROUTES = {
    "interface": "the attention interface of transformers",
    "own forward": "a forward pass of our own in each attention module",
    "sdpa": "the model’s calls of scaled dot-product attention",
    "softmax": "the model’s calls of softmax, which show scores only",
}
"""Ways to reach attention -> what they are."""

UPDATES = {
    "raw": "what a head adds to the hidden state",
    "effective": "what a head adds to the hidden state, after the norm that rescales it",
    None: "not measurable",
}
"""Kind of update in a manifest -> what it is."""


NOT_READ = re.compile(
    r"<details.*?</details>|<fieldset.*?</fieldset>|<label.*?</label>|<button.*?</button>"
    r"|<span class=\"live-figure__opens\">.*?</span>"  # not to be seen beside controls
    r"|^\?\?\? [^\n]*\n(?:(?: {4}[^\n]*)?\n)*",
    re.DOTALL | re.MULTILINE,
)
"""Parts of an article's Markdown that nobody reads from left to right: what is folded, controls."""


def reading_minutes(text: str, figures: int) -> int:
    """Minutes to read an article, at least 1.

    text: its Markdown, of which what is folded does not count; figures: how many it has
    """
    joined = re.sub(r"</?span[^>]*>", "", NOT_READ.sub("", text))  # a word's tokens are one word
    words = len(re.sub(r"<[^>]*>", " ", joined).split())
    return max(1, round(words / WORDS_A_MINUTE + figures * SECONDS_A_FIGURE / 60))


def markdown_text(text: object) -> Markup:
    """Any text, escaped so that Markdown and HTML show it as it is: `{{ token.label | text }}`."""
    escaped = (c if c.isalnum() or c in " ," else f"&#{ord(c)};" for c in str(text))
    return Markup("".join(escaped))  # noqa: S704 (everything but letters and digits is escaped)


def yaml_text(text: object) -> Markup:
    """Any text as a quoted YAML scalar in one line, for front matter."""
    quoted = yaml.safe_dump(str(text), default_style='"', width=float("inf"))
    return Markup(quoted.strip())  # noqa: S704 (YAML's own quotes and escapes)


def model_slug(name: str) -> str:
    """The anchor of a model on the page of models, shared by all its revisions."""
    return slug(name.partition("@")[0])


def adapter(merged: dict) -> Markup:
    """What was merged into a model's weights, of the identity in a manifest, as Markdown."""
    facts = {key: markdown_text(merged[key]) for key in ("name", "kind", "sha256")}
    ranks = listed([str(int(rank)) for rank in merged["ranks"]])
    base = f"of {markdown_text(merged['base'])}" if "base" in merged else "beside it"
    text = (
        f"the {facts['kind']} adapter {facts['name']}{f' of rank {ranks}' if ranks else ''} is "
        f"merged into the weights {base}, and changes {count(merged['tensors_changed'], 'tensor')};"
        f' SHA-256 <code class="hash">{facts["sha256"]}</code>'
    )
    return Markup(text)  # noqa: S704 (everything that comes from outside is escaped)


def worst_of_limits(numbers: dict) -> float:
    """The largest difference in the self-check of a manifest, as a fraction of its limit."""
    return max(numbers["differences"][name] / limit for name, limit in numbers["limits"].items())


def spread(mean, scale: float = 1) -> str:
    """A mean and its standard error, with as many digits as the error allows: "0.535 ± 0.004".

    mean: has `value` and `error`; the error is NaN if it is not known
    """
    value, error = mean.value * scale, mean.error * scale
    if not math.isfinite(value):
        return UNKNOWN
    if not SMALLEST / 2 <= error < math.inf:
        return number(value)
    exponent = int(f"{error:.0e}".partition("e")[2])  # of the rounded error: 0.096 is 0.1
    digits = min(4, max(0, -exponent))
    value, error = (f"{rounded(each, digits):f}" for each in (value, error))
    return f"{value}\u00a0±\u00a0{error}".replace("-", "−")


def percent_spread(mean) -> str:
    """The same of fractions: "46.5 ± 0.4 %"."""
    if math.isfinite(mean.value) and not SMALLEST / 2 <= 100 * mean.error < math.inf:
        return percent(mean.value, 0 if abs(mean.value) >= 0.1 else 1)
    text = spread(mean, 100)
    return text if text == UNKNOWN else f"{text}\u00a0%"


def broken_lines(label: str) -> Markup:
    """A token's label as HTML with its line breaks, each after the mark that stands for it."""
    return Markup(re.sub("(↵+)", r"\1<br>", str(escape(label))))  # noqa: S704 (escaped here)


def group_text(group: Sequence[Token]) -> str:
    """What stands for the parts of a character in a passage, or for the one token of a group."""
    return visible(group[0].part["of"]) if group[0].part else group[0].label


def whole_text(groups: Iterable[Sequence[Token]]) -> str:
    """What groups of tokens show together, without what the tokenizer added."""
    return "".join(group_text(group) for group in groups if not group[0].special)


def by_cell(groups: Iterable[Sequence[TableToken]]) -> list[list[Sequence[TableToken]]]:
    """Groups of tokens of a table in lists, one a cell, a name or what stands between them."""
    cells = groupby(groups, lambda group: (group[0].role, group[0].row, group[0].column))
    return [list(cell) for _, cell in cells]


def part_text(token: Token) -> str:
    """What a part shows that is a whole sign itself, such as one of the two letters of a flag."""
    return set_apart(visible(token.text))


def stands_apart(text: str) -> bool:
    """Whether a text joins no letter beside it, so that there may be room around it: pictures, and
    letters of China, Japan and Korea."""
    letters = [sign for sign in text if unicodedata.category(sign).startswith("L")]
    return all(unicodedata.east_asian_width(letter) in "WF" for letter in letters)


UNTOUCHED = (
    r"^(?:```.*?^```|[ \t]*<|#|[!?]{3})[^\n]*|<code.*?</code>|<[^>]*>|`[^`\n]*`|\]\([^)\n]*\)"
)
"""Code, lines of HTML, headings, titles of boxes, tags and addresses in Markdown."""


LONGEST_UNBROKEN = 20
"""The most letters of a name that fit one line on a phone, even in a table."""


def unbroken(markdown: str, names: Iterable[str]) -> str:
    """Markdown in which no line breaks at a hyphen inside one of `names`, unless it is long."""
    short = {name for name in names if "-" in name and len(name) <= LONGEST_UNBROKEN}
    forms = [re.escape(form) for name in short for form in (name, name.replace("-", "&#45;"))]
    if not forms:
        return markdown
    named = "|".join(sorted(forms, key=len, reverse=True))
    pattern = re.compile(
        rf"({UNTOUCHED})|(?<![\w/@.-])({named})(?![\w/@-])", re.MULTILINE | re.DOTALL
    )
    return pattern.sub(lambda m: m[1] or f'<span class="name">{m[2]}</span>', markdown)
