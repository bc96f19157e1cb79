"""What templates of articles may use: functions, findings and filters."""

import functools
import inspect
import re
import sys
from collections.abc import Mapping

from jinja2.filters import FILTERS

from report import kinds
from report.datasets.formats import conditions
from report.kinds import folders
from report.kinds.passage.data import Token
from report.measures import shipped
from report.pages.article import FUNCTIONS, ArticleFigures
from report.pages.reference.documented import (
    Entry,
    Reference,
    Section,
    attributes,
    call,
    code,
    prose,
)
from report.pages.templates import environment


def page() -> Reference:
    """Functions of every article, the findings of each kind of article, and filters."""
    functions = {name: getattr(ArticleFigures, name) for name in FUNCTIONS}
    filters = {name: each for name, each in environment().filters.items() if name not in FILTERS}
    return Reference(
        "prose",
        "In prose",
        "Functions, findings and filters that the template of an article may use.",
        [
            Section("Functions", _functions(functions)),
            *(_findings(kind) for kind in kinds.questions()),
            *_measures(),
            Section("Fields of a token", members(Token), "Such as of `data.tokens[0]`."),
            Section(
                "Filters", _functions(filters), "A filter stands behind a value: `value | filter`."
            ),
        ],
    )


def _functions(functions):
    return [Entry(call(name, each), prose(each.__doc__)) for name, each in functions.items()]


def _findings(kind):
    """A section of what `find` and its like know in an article of a kind."""
    names = folders.finding_names(kind)
    classes = {
        name: owner
        for name, owner in names.items()
        if name != "data" and owner and owner.__module__.startswith(kinds.__name__)
    }
    return Section(
        f"Findings of a {kind.rstrip('s')}",
        [
            entry
            for name, owner in classes.items()
            for base in reversed(owner.__mro__[:-1])
            for entry in members(base, f"{name}.")
        ],
        f"Templates have these names: {', '.join(map(code, sorted(names)))}.",
    )


def _measures():
    """Sections of what the argument `measure` may be."""
    of_passages = {
        name: f"{measure.shows.rstrip('.')}; {measure.unit}."
        for name, measure in sorted(shipped().items())
    }
    of_conditions = {name: f"{about}." for name, about in conditions.MEASURES.items()}
    of_conditions |= {"taken": "1 less `lambda`: what goes to the added segment."}
    return [
        Section(
            title,
            [Entry(name, prose(text[0].upper() + text[1:])) for name, text in known.items()],
            about,
        )
        for title, known, about in (
            ("Measures of a passage", of_passages, "What `find.strongest`, for one, takes."),
            ("Measures of conditions", of_conditions, "What `find.most`, for one, takes."),
        )
    ]


def members(owner: type, prefix: str = "") -> list[Entry]:
    """Entries of all that a class itself defines and explains; prefix: put before each name."""
    numbers = vars(sys.modules[owner.__module__])
    texts = {name: with_numbers(text, numbers) for name, text in attributes(owner).items() if text}
    entries = [Entry(prefix + name, prose(text)) for name, text in texts.items() if public(name)]
    for name, member in vars(owner).items():
        text = with_numbers(inspect.getdoc(member) or "", numbers)
        if not public(name) or not text:
            continue
        if inspect.isfunction(inspect.unwrap(member)):  # also one that keeps its results
            entries.append(Entry(prefix + call(name, member), prose(text)))
        elif isinstance(member, property | functools.cached_property):
            entries.append(Entry(prefix + name, prose(text)))
    return entries


def with_numbers(text: str, names: Mapping[str, object]) -> str:
    """A docstring in which a constant such as `MOST` is the number that it stands for.

    names: of the module, each with its value
    """
    for name in set(re.findall(r"`([A-Z][A-Z_]+)`", text)):
        if isinstance(names.get(name), int | float):
            text = text.replace(f"`{name}`", f"{names[name]}")
    return text


def public(name: str) -> bool:
    """Whether a name is meant for others."""
    return not name.startswith("_")
