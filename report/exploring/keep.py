"""Makes an article of what the page of `explore` shows: its text, and its figures as they stand.

The article has no number: its sentence and its figures take them from the datasets of the same text
and model, which equal what the page showed.
"""

import json
import os
import re
import unicodedata
from datetime import date
from itertools import count
from pathlib import Path

from report import files
from report.authored.boundary import read_text
from report.console import as_typed
from report.errors import ReportError, command
from report.exploring.page import Explorer
from report.figures.build.find import HEADS, figure_named, measure_of
from report.inputs import rows
from report.measures import known, named
from report.measuring.run import read
from report.measuring.settings import measuring_settings
from report.models.find import names, ollama
from report.models.find.known import embedded_models
from report.notebook.measurement import Model
from report.pages.new import PLACEHOLDERS
from report.pages.prose import check_prose
from report.project import project
from report.study.study import ENDING, LONGEST, publication_of, read_study, study_names
from report.text import shortened, slug, whole

SKELETON = Path(__file__).with_name("article.md.j2")

LONGEST_TITLE = 200
"""Characters; those of the text in an article's summary are a third."""

MOST_FIGURES = 30

CALL = re.compile(r'figure\("[\w-]{1,100}"(, [a-z_]+=(-?\d+|"[\w.+-]{1,100}"))*\)', re.ASCII)

TOP = (
    "{% set target = head.top(@TOKEN@) %}\n"
    "From “{{ tokens[@TOKEN@].label | trim | shortened(40) | text }}”, {{ head.label }}, "
    "{{ head.place }}, gives {{ head.gives(@TOKEN@, target) | percent }} of its attention to its "
    "top target, “{{ tokens[target].label | trim | shortened(40) | text }}”."
)
VALUED = (
    "In this text, “{{ @TITLE@ | text }}” is "
    '{{ compared[0].find.value("@NAME@", head, "passage") | @FORM@ }} for '
    "{{ head.label }}, {{ head.place }}: {{ @AXIS@ | text }}."
)
"""First sentences of an article, with their numbers still to be computed."""


def keep(explorer: Explorer, request: dict) -> str:
    """Write an article of what a page shows, beside the project's others; a sentence that says so.

    request: of a page, so of any form: `text` and `title`; `figures`, list of [name, {control:
        value}] in their order; `token`, the place of the one that is pinned, or None; `add`: True
        to put figures below what the article of that title has, in place of a new one
    raises: ReportError if there is no project, the article could not be built from there, or it
        cannot be written; then nothing is
    """
    if explorer.project is None:
        raise ReportError(
            "there is no publication around the folder that `explore` was started in; start it in "
            "the folder of one, which `new` makes."
        )
    where = project(explorer.project.root)
    title, text, token = (request.get(key) for key in ("title", "text", "token"))
    if not isinstance(title, str) or not isinstance(text, str) or len(title) > LONGEST_TITLE:
        raise ReportError(f"an article has a text, and a title of {LONGEST_TITLE} letters at most.")
    explorer.require_short(text)
    tokens = explorer.tokens(text)
    if token is not None and not (type(token) is int and 0 <= token < tokens):
        raise ReportError(f"the pinned token is one of 0 to {tokens - 1}.")
    figures = _figures(request.get("figures"), where)
    picture = _picture(explorer, figures)
    title, text = " ".join(whole(title).split()), rows.own_text(text).text
    if request.get("add") is True:
        return _add(explorer, _file(where, _name(title)), text, figures)
    path = _path(title, where)
    values = _about(explorer, title, text) | {
        "MODEL": _scalar(_model(explorer.model, where.root)),
        **picture,
        "SENTENCE": _sentence(explorer, figures, token, tokens),
        "OPENS": "" if token is None else f"opens={token}",
    }
    content = _marked(SKELETON.read_text("utf-8"), values)
    study = read_study(path, text=content)
    if _source(study.front_matter, where.root) != explorer.model.source:
        raise _unnamed(explorer.model.model, where.root)
    check_prose(study, _size(explorer))
    files.remove_leftovers(path.parent)
    files.write_text(path, content)
    build = command("site", study=study.name)
    return f"{as_typed(path)} is written and yours to edit; build it with `{build}`."


def _add(explorer, path, text, figures):
    """Put those figures at the end of an article that it does not have in this state."""
    if not path.is_file():
        raise ReportError(
            f"there is no article {path.name.removesuffix(ENDING)!r}; keep one of this title first."
        )
    study = read_study(path)
    front, model = study.front_matter, explorer.model
    same = (front.kind, len(front.all_models), front.chat) == ("passage", 1, explorer.chat)
    same = same and front.heads is None
    same = same and _source(front, publication_of(path)) == model.source
    same = same and measuring_settings(front, model.source) == model.settings
    if not same or read(study).passage.text != text:
        raise ReportError(
            f"{as_typed(path)} is about another model or text, or measures it in another way; take "
            "another title, and keep a new article."
        )
    content = read_text(path)
    for name, _, call in figures:
        start = f"{call[:-1]}, key="
        if call not in content and start not in content:
            keys = (f"{name}-{number}" for number in count(2))
            key = next(each for each in keys if each not in content)
            content = f'{content.rstrip()}\n\n{{{{ {start}"{key}") }}}}\n'
    check_prose(read_study(path, text=content), _size(explorer))
    files.write_text(path, content)
    build = command("site", study=study.name)
    return f"{as_typed(path)} has these figures; build it with `{build}`."


def _size(explorer):
    about = explorer.model.loaded.identity
    return {"layers": about["layers_measured"], "heads": about["num_attention_heads"]}


def _path(title, where):
    """The file of an article that is not there yet, named by its title."""
    name = _name(title)
    there = study_names(where.articles)
    for number in count(1):
        ending = f"-{number}" if number > 1 else ""
        each = name[: LONGEST - len(ending)].strip("-") + ending
        if each not in there and not os.path.lexists(where.articles / f"{each}{ENDING}"):
            return _file(where, each)


def _file(where, name):
    """The file of an article; ReportError if it, or a folder that it is in, is a link."""
    folder = where.articles.relative_to(where.root).as_posix()
    return files.inside(where.root, f"{folder}/{name}{ENDING}")


def _name(title):
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    name = slug(re.sub(r"['’]", "", plain), "")[:LONGEST].strip("-")
    if not name:
        raise ReportError(
            "the title gives the article no name, which is a part of its address; put a letter "
            "from a to z or a digit into it."
        )
    return name


def _figures(wanted, where):
    """Figures of a request: list of (name, state, the call that places it so)."""
    if not wanted:
        raise ReportError("there is no figure to keep yet; wait until the text is measured.")
    try:
        figures = [(name, state, _call(name, {**state})) for name, state in wanted]
    except (TypeError, ValueError, AttributeError, RecursionError):
        figures = []
    if not figures or not all(CALL.fullmatch(call) for _, _, call in figures):
        raise ReportError("a figure is its name, and controls with a number or a word each.")
    if len(figures) > MOST_FIGURES:
        raise ReportError(f"an article gets {MOST_FIGURES} figures at once at most.")
    for name, _, _ in figures:
        figure_named(name, where.figures)
    return figures


def _call(name, state):
    if {"self", "name", "key", "data"} & state.keys():  # they are no controls
        raise ValueError
    measure = measure_of(name)
    placed, state = (HEADS, {"measure": measure, **state}) if measure else (name, state)
    listed = [f", {param}={json.dumps(value)}" for param, value in state.items()]
    return f"figure({json.dumps(placed)}{''.join(listed)})"


def _about(explorer, title, text):
    """What front matter says, but for the model's name."""
    options = explorer.model.options | ({"chat": True} if explorer.chat else {})
    start = shortened(" ".join(text.split()), LONGEST_TITLE // 3)
    return {
        "TITLE": _scalar(title),
        "DATE": date.today().isoformat(),
        "AUTHOR": PLACEHOLDERS["author"],
        "SUMMARY": _scalar(f"Where attention heads look in “{start}”."),
        "OPTIONS": "".join(f"{key}: {_scalar(value)}\n" for key, value in options.items()),
        "ABOUT": _scalar(explorer.model.loaded.identity["name"]),
        "TEXT": _scalar(text),
    }


def _picture(explorer, figures):
    """The figures of an article, and the head that it is about."""
    about = explorer.model.loaded.identity
    states = [state for _, state, _ in figures if {"layer", "head"} <= state.keys()]
    layer, head = (states[0][name] if states else 0 for name in ("layer", "head"))
    for value, most in ((layer, "layers_measured"), (head, "num_attention_heads")):
        if not (type(value) is int and 0 <= value < about[most]):
            raise ReportError(f"{about['name']} has no head {head} in layer {layer}.")
    (name, _, first), *others = figures
    calls = "".join(f"\n{{{{ {call} }}}}\n" for _, _, call in others)
    return {
        **{"LAYER": str(layer), "HEAD": str(head)},
        **{"COVER": name, "FIGURE": first, "FIGURES": calls},
    }


def _sentence(explorer, figures, token, tokens):
    measures = [measure for name, *_ in figures if (measure := measure_of(name))]
    if token is not None or not measures:
        return _marked(TOP, {"TOKEN": str(tokens - 1 if token is None else token)})
    taken = known(explorer.measures)
    measure = taken[named(measures[0], taken)]
    words = {"TITLE": _scalar(measure.title), "AXIS": _scalar(measure.axis)}
    form = "percent" if "%" in measure.number else "number"
    return _marked(VALUED, words | {"NAME": measure.name, "FORM": form})


def _marked(text, values):
    """A text with values in place of its marks, such as @TITLE@; marks in values stay."""
    return re.sub(r"@([A-Z]+)@", lambda mark: values[mark[1]], text)


def _scalar(value):
    """A text as a quoted scalar in one line, of YAML and of templates alike."""
    if not isinstance(value, str):
        return json.dumps(value)
    quoted = json.dumps(whole(value), ensure_ascii=False)
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in quoted)


def _model(model: Model, root: Path) -> str:
    """What front matter calls the model: as it was named, a hub's by its commit, a folder or file
    by its path in the project."""
    source, name = model.source, str(model.model)
    if source.origin == "hub":
        return source.command_name
    here = next(filter(names.is_here, names.alternatives(name)), name)
    embedded = {here, here.rpartition("@")[0]} & {*embedded_models()}
    if embedded or source.origin == "package" or ollama.is_named(here):
        return name
    folder, at, revision = (here, "", "") if Path(here).exists() else here.rpartition("@")
    path = Path(folder).resolve()
    if not path.is_relative_to(root.resolve()):
        raise _unnamed(here, root)
    inside = path.relative_to(root.resolve()).as_posix()
    return f"./{inside}{at}{revision}"  # "./": no embedded model is called so


def _source(front, root):
    """The model of an article."""
    return names.find_first(front.model, root / names.COMMITS, front.layers, ask=False)


def _unnamed(name, root):
    return ReportError(
        f"an article cannot name the model {str(name)!r} from {root}; put its files into a folder "
        "there, and start `explore` with that."
    )
