"""Conversions for templates: any text made safe for Markdown and YAML, numbers made readable."""

import re

import yaml
from markupsafe import Markup

WORDS_A_MINUTE = 230
SECONDS_A_FIGURE = 20

SELF_CHECK = {
    "rows_sum_to_one": "Probabilities of a row sum to 1",
    "biases": "Biases are what the projections give for an input of zeros",
    "terms_sum_to_score": "Terms of a score sum to the score",
    "probability_from_terms": "Softmax of the terms is the model’s probability",
    "updates_sum_to_output": "Heads’ updates sum to the layer’s attention output",
    "update_length": "Length of an update, computed a second way",
    "logits": "Predictions are those of the untouched model",
}


def reading_minutes(text, figures):
    """Whole minutes to read an article of this Markdown text and so many figures, at least 1."""
    words = len(re.sub(r"<[^>]*>", " ", text).split())
    return max(1, round(words / WORDS_A_MINUTE + figures * SECONDS_A_FIGURE / 60))


def markdown_text(text):
    """Any text, so written that Markdown and HTML show it as it is: `{{ token.label | text }}`."""
    escaped = (c if c.isalnum() or c in " ," else f"&#{ord(c)};" for c in str(text))
    return Markup("".join(escaped))  # noqa: S704 (everything but letters and digits is escaped)


def yaml_text(text):
    """Any text as a quoted YAML scalar in one line, for front matter."""
    quoted = yaml.safe_dump(str(text), default_style='"', width=float("inf"))
    return Markup(quoted.strip())  # noqa: S704 (YAML's own quotes and escapes)


def slug(text):
    """An anchor for a heading: lower case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-") or "tag"


def self_check_rows(numbers):
    """The manifest's self-check as rows of what was compared, the difference and its limit."""
    found, limits = numbers["differences"], numbers["limits"]
    return [
        {
            "what": SELF_CHECK.get(name, name.replace("_", " ")),
            "found": f"{found[name]:.1e}",
            "limit": f"{limit:.0e}",
        }
        for name, limit in limits.items()
    ]


def percent(value, digits=0):
    """A fraction as "37 %", with a space that no line ends at."""
    return f"{100 * value:.{digits}f}\u00a0%"
