"""The templates' language: where they lie, and the filters they know."""

from functools import partial
from pathlib import Path

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket

from report import text
from report.datasets.formats.passage import together
from report.errors import INSTALLED, NAME, PROGRAM, command, requirement
from report.figures.parts import score_terms
from report.files import TEMPLATES
from report.pages import filters
from report.pages.filters import layers
from report.text import shortened


class _Compiled(BytecodeCache):
    """Templates that this process has compiled, by their name and a sum of their text.

    Every article has an environment of its own, and all of them use the same partials.
    """

    def __init__(self) -> None:
        self.codes = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self.codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.codes[bucket.key, bucket.checksum] = bucket.code


COMPILED = _Compiled()


def environment(*folders: Path) -> Environment:
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
        bytecode_cache=COMPILED,
    )
    jinja.globals |= {"ROUTES": filters.ROUTES, "UPDATES": filters.UPDATES}
    # The Makefile is the repository's: a publication elsewhere has the installed command.
    ours = TEMPLATES.resolve()
    installed = INSTALLED or any(Path(folder).resolve() != ours for folder in folders[:1])
    jinja.globals |= {"INSTALLED": installed, "PROGRAM": NAME if installed else PROGRAM}
    jinja.globals |= {"command": partial(command, installed=installed)}
    jinja.globals |= {"REQUIREMENT": requirement()}
    jinja.filters |= {
        "text": filters.markdown_text,
        "percent": text.percent,
        "large": text.large,
        "number": text.number,
        "signed": text.signed,
        "spread": filters.spread,
        "percent_spread": filters.percent_spread,
        "broken_lines": filters.broken_lines,
        "together": together,
        "shown": filters.shown,
        "whole_text": filters.whole_text,
        "by_cell": filters.by_cell,
        "own": filters.own,
        "stands_apart": filters.stands_apart,
        "runs_back": text.runs_back,
        "count": text.count,
        "shortened": shortened,
        "layers": layers,
        "term_name": score_terms.stated,
        "listed": score_terms.listed,
        "yaml_text": filters.yaml_text,
        "slug": text.slug,
        "model_slug": filters.model_slug,
        "adapter": filters.adapter,
        "worst_of_limits": filters.worst_of_limits,
    }
    return jinja
