"""The Jinja environment of templates: where they lie, their filters, and the lines of errors."""

import ast
import re
from bisect import bisect_right
from functools import partial
from operator import itemgetter
from os.path import isfile  # False for a name that no file can have
from pathlib import Path

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PrefixLoader,
    StrictUndefined,
    Template,
    TemplateSyntaxError,
    pass_context,
)
from markupsafe import Markup

from report import text
from report.authored.boundary import authored, read_text
from report.datasets.formats.passage import together
from report.errors import INSTALLED, NAME, PROGRAM, ReportError, command, requirement
from report.figures.parts import score_terms
from report.files import TEMPLATES
from report.kinds import folders_of_kinds
from report.models.find import known
from report.pages import filters
from report.pages.claims import Claims
from report.pages.stamps import Stamps, stamps
from report.text import shortened

CODES = {}
"""(text, name, file name, raw, generator) of a template -> its code. All articles of this process
share it: each has an environment of its own and is rendered twice, with the same partials."""


LOOKUPS: Stamps = {}
"""Path where a template was looked for, found or not, since this was cleared -> its stamp then."""


class _Template(Template):
    def render(self, *args, **kwargs):
        with authored(self.filename):
            context = self.new_context(dict(*args, **kwargs))
            try:
                return self.environment.concat(self.root_render_func(context))
            except Exception:
                self.environment.handle_exception()
            finally:
                context.vars.clear()  # its macros know it: all that a page shows would stay there


class _Environment(Environment):
    """As Jinja's own, but any error of a template is a ReportError with its file and line."""

    template_class = _Template

    def compile(self, source, name=None, filename=None, raw=False, defer_init=False):
        key = (source, name, filename, raw, self.code_generator_class)
        if key not in CODES:
            with authored(filename or name):
                CODES[key] = super().compile(source, name, filename, raw, defer_init)
        return CODES[key]

    def _compile(self, source, filename):
        """The code object of Jinja's Python, with the lines of the template, for tracebacks.

        source: Python that ends in `debug_info = '1=9&2=14'`: line of the template = line of Python
        raises: TemplateSyntaxError with the template's line if the source is no Python
        """
        code, _, pairs_text = source.rpartition("debug_info = ")
        numbers = re.findall(r"(\d+)=(\d+)", pairs_text)
        pairs = sorted((int(of_code), int(of_template)) for of_template, of_code in numbers)

        def line(of_code):
            """The template's line for one of the Python code."""
            place = bisect_right(pairs, of_code, key=itemgetter(0))
            return pairs[place - 1][1] if place else 1

        # Jinja translates lines by debug_info once more, which then has to change none
        tree, same = None, "&".join(f"{n}={n}" for n in sorted({line for _, line in pairs}))
        try:
            tree = ast.parse(f"{code}debug_info = {same!r}", filename)
            for node in ast.walk(tree):
                if hasattr(node, "lineno"):
                    node.lineno = node.end_lineno = line(node.lineno)
                    node.col_offset = node.end_col_offset = 0
            return compile(tree, filename, "exec")
        except SyntaxError as error:
            where = error.lineno if tree else line(error.lineno)
            raise TemplateSyntaxError(f"{error.msg}.", where, filename=filename) from error


class _Loader(FileSystemLoader):
    def get_source(self, environment, template):
        paths = [Path(folder, template) for folder in self.searchpath]
        LOOKUPS.update(stamps(path for path in paths if path not in LOOKUPS))
        path = next((path for path in paths if isfile(path)), None)  # noqa: PTH113
        if path:
            read_text(path)  # says which file is not UTF-8, and where
        return super().get_source(environment, template)


HEADS_OF = "HEADS_OF"
"""Variable of templates: the model whose heads an article names; "" if figures have none such."""

HEAD = re.compile(r"L\d{1,3}H\d{1,3}")
"""The usual short name of a head."""


def head_name(name: str, model: str) -> Markup:
    """HTML of a head's name in prose, of which the page's script makes a button."""
    return Markup('<span class="head-name" data-model="{}">{}</span>').format(model, name)


@pass_context  # so that nothing is worked out before a template is rendered, and its time begins
def _finalized(context, value):
    """A value as a template shows it: the name of a head as `head_name`.

    raises: ReportError for half of a character, which no file can hold
    """
    if isinstance(value, str) and not value.isascii() and text.whole(value) != value:
        raise ReportError(
            f"{text.quoted(value)} holds half of a character, which no file can; write the whole."
        )
    model = isinstance(value, str) and HEAD.fullmatch(value) and context.get(HEADS_OF)
    return head_name(value, model) if model else value


def environment(*folders: Path) -> Environment:
    """The Jinja environment: unknown variables are errors, HTML partials escape by themselves.

    folders: where templates are looked for, before the package's and, as kinds/NAME/…, those of
        kinds; if the first is another project's, pages name the installed command
    """
    kinds = PrefixLoader({"kinds": _Loader(folders_of_kinds())})
    jinja = _Environment(
        loader=ChoiceLoader([_Loader([*folders, TEMPLATES]), kinds]),
        extensions=[Claims],
        finalize=_finalized,
        optimized=False,
        undefined=StrictUndefined,
        # Markdown is no HTML: there, text goes through the filter `text`.
        autoescape=lambda name: bool(name and name.endswith(".html.j2")),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.globals |= {"ROUTES": filters.ROUTES, "UPDATES": filters.UPDATES}
    # The Makefile is the repository's: a publication elsewhere has the installed command.
    shipped = TEMPLATES.resolve()
    installed = INSTALLED or any(Path(folder).resolve() != shipped for folder in folders[:1])
    jinja.globals |= {"INSTALLED": installed, "PROGRAM": NAME if installed else PROGRAM}
    jinja.globals |= {"command": partial(command, installed=installed)}
    jinja.globals |= {"REQUIREMENT": requirement()}
    jinja.filters |= {
        "text": filters.markdown_text,
        "preset": known.preset_of,
        "percent": text.percent,
        "large": text.large,
        "number": text.number,
        "signed": text.signed,
        "spread": filters.spread,
        "percent_spread": filters.percent_spread,
        "broken_lines": filters.broken_lines,
        "together": together,
        "group_text": filters.group_text,
        "whole_text": filters.whole_text,
        "by_cell": filters.by_cell,
        "part_text": filters.part_text,
        "stands_apart": filters.stands_apart,
        "runs_back": text.runs_back,
        "text_id": text.text_id,
        "count": text.count,
        "shortened": shortened,
        "term_name": score_terms.stated,
        "listed": score_terms.listed,
        "yaml_text": filters.yaml_text,
        "slug": text.slug,
        "model_slug": filters.model_slug,
        "adapter": filters.adapter,
        "worst_of_limits": filters.worst_of_limits,
    }
    return jinja
