"""The templates' language: where they lie, and the filters they know."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from report import text
from report.figures import _terms
from report.words import shortened

TEMPLATES = Path(__file__).parents[1] / "templates"


def environment(*folders):
    """The Jinja environment: unknown variables are errors, HTML partials escape by themselves.

    folders: where templates are looked for first; then those of this package
    """
    jinja = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        undefined=StrictUndefined,
        # Markdown is no HTML: there, text goes through the filter `text`.
        autoescape=lambda name: bool(name and name.endswith(".html.j2")),  # noqa: S701
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.globals |= {"ROUTES": text.ROUTES, "UPDATES": text.UPDATES}
    jinja.filters |= {
        "text": text.markdown_text,
        "percent": text.percent,
        "large": text.large,
        "number": text.number,
        "spread": text.spread,
        "percent_spread": text.percent_spread,
        "broken_lines": text.broken_lines,
        "count": text.count,
        "shortened": shortened,
        "layers": layers,
        "listed": _terms.listed,
        "yaml_text": text.yaml_text,
        "slug": text.slug,
        "model_slug": text.model_slug,
        "self_check_rows": text.self_check_rows,
        "worst_of_limits": text.worst_of_limits,
    }
    return jinja


def layers(indices):
    """Layers in a sentence: "layer 3", "layers 0 and 2", "layers 0 to 3 and 5"."""
    runs = []
    for index in sorted(indices):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    words = []
    for run in runs:
        words += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else run
    return f"layer{'s' if len(indices) > 1 else ''} {_terms.listed(words)}"
