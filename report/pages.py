"""Articles into pages: Jinja templates in, plain Markdown with figures out.

MkDocs only publishes what lies in `site_src`; all logic is here, so that another publisher of
Markdown can take its place.
"""

import json
import re
import shutil
import traceback
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from markupsafe import Markup

from report import store, text
from report.errors import ReportError
from report.figures import _controls, _static
from report.findings import Findings
from report.pictures import write_pictures

FIGURES = Path(__file__).parent / "figures"
EMBEDDED = Path(__file__).parent / "embedded"
TEMPLATES = Path(__file__).parents[1] / "templates"

ROOT = "../../"
"""From an article's address, `articles/<name>/`, to the root of the site."""


@dataclass(frozen=True)
class Page:
    """What the home page and the archive show of an article."""

    name: str
    title: str
    date: object
    author: str
    summary: str
    tags: list[str]
    minutes: int
    """Reading time."""
    cover: str
    """Path of the cover picture without its `-light.svg`, from the root of the site."""
    cover_size: tuple[int, int]


@dataclass(frozen=True)
class PlacedFigure:
    """A figure at its place in an article."""

    name: str
    number: int
    module: object
    state: dict
    """Where its controls stand when the page opens."""


class Article:
    """Collects the figures of one article while its template is rendered, and numbers them."""

    def __init__(self, study, data):
        self.study = study
        self.data = data
        self.placed = []
        self.announced = None
        """Names of all figures of the article; None while they are being counted."""

    def figure(self, name, **state):
        """`{{ figure("attention_map", layer=3) }}`: the figure, with its controls at a state."""
        if any(placed.name == name for placed in self.placed):
            raise ReportError(f"figure {name!r} is placed twice; refer to it by ref({name!r}).")
        module = figure_module(name)
        controls = _controls.at_state(module.controls(self.data), state)
        state = {control.param: control.value for control in controls}
        placed = PlacedFigure(name, len(self.placed) + 1, module, state)
        self.placed.append(placed)
        if self.announced is None:
            return ""
        return self._html("_figure.html.j2", **self._figure_context(placed, controls))

    def ref(self, name):
        """`{{ ref("attention_map") }}`: a link "Figure 1", before or after the figure."""
        if self.announced is None:
            return ""
        if name not in self.announced:
            raise ReportError(
                f"ref({name!r}): this article has no such figure; it has: "
                f"{', '.join(self.announced) or 'none'}."
            )
        number = self.announced.index(name) + 1
        return Markup('<a class="figure-ref" href="#fig-{0}">Figure {0}</a>').format(number)

    def passage(self):
        """`{{ passage() }}`: the tokens of the passage, each with index and id on hover."""
        return self._html("_passage.html.j2", tokens=self.data.tokens, passage=self.data.passage)

    def _figure_context(self, placed, controls):
        study, data = self.study, self.data
        module, state = placed.module, placed.state
        spec = module.chart(data, **state).to_dict()
        usermeta = spec["usermeta"]["report"]
        return {
            "figure": placed,
            "controls": controls,
            "linked": self._linked(placed.name),
            "title": module.title(data),
            "caption": module.caption(data),
            "alt": module.alt(data, **state),
            "size": _size(module),
            "phone_aspect": getattr(module, "PHONE_ASPECT", module.ASPECT),
            "spec": f"{ROOT}figures/{study.name}/{placed.name}.json",
            "picture": f"{ROOT}figures/{study.name}/{placed.name}",
            "datasets": f"{ROOT}datasets/{study.name}/{data.path.name}/",
            "dataset": usermeta["data"]["url"].format(**state),
        }

    def _linked(self, name):
        """Label of the switch that joins this figure's sliders to others', "" where none fit."""
        numbers = [i for i, other in enumerate(self.announced, 1) if self._shows_one_head(other)]
        if len(numbers) < 2 or not self._shows_one_head(name):
            return ""
        listed = ", ".join(map(str, numbers[:-1]))
        return f"Same layer and head in Figures {listed} and {numbers[-1]}"

    def _shows_one_head(self, name):
        params = {control.param for control in figure_module(name).controls(self.data)}
        return params >= {"layer", "head"}

    def _html(self, template, **context):
        # In one line: a blank line or an indent inside would end the raw HTML for some parsers.
        html = environment().get_template(template).render(**context)
        return Markup(re.sub(r"\s*\n\s*", "", html))  # noqa: S704 (the template escaped it)


def environment():
    """The Jinja environment: unknown variables are errors, HTML partials escape by themselves."""
    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        # Markdown is no HTML: there, text goes through the filter `text`.
        autoescape=lambda name: bool(name and name.endswith(".html.j2")),  # noqa: S701
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.filters |= {
        "text": text.markdown_text,
        "percent": text.percent,
        "yaml_text": text.yaml_text,
        "slug": text.slug,
    }
    return jinja


def figure_module(name):
    """The module `report/figures/<name>.py`.

    raises: ReportError listing the known figures
    """
    known = figure_names()
    if name not in known:
        raise ReportError(f"unknown figure {name!r}; known: {', '.join(known)}.")
    return import_module(f"report.figures.{name}")


def figure_names():
    """The names of all figures: the files of `report/figures` that do not start with `_`."""
    return sorted(path.stem for path in FIGURES.glob("*.py") if not path.stem.startswith("_"))


def render_article(study, data, site_src):
    """Write one article's page, specifications and pictures below `site_src`.

    returns: its `Page`
    raises: ReportError naming the template and the line
    """
    context = {"data": data, "model": data.manifest["model"], "find": Findings(data)}
    counting = Article(study, data)
    _render(study, counting, context)
    article = Article(study, data)
    article.announced = [placed.name for placed in counting.placed]
    content = _render(study, article, context)
    if study.front_matter.cover not in article.announced:
        raise ReportError(
            f"{study.template}: cover {study.front_matter.cover!r} is no figure of this article; "
            f"it has: {', '.join(article.announced) or 'none'}."
        )
    folder = site_src / "figures" / study.name
    for placed in article.placed:
        spec = placed.module.chart(data, **placed.state).to_dict()
        store.write_text(folder / f"{placed.name}.json", store.dumps(spec))
        write_pictures(folder / placed.name, placed.module, data, placed.state)
    minutes = text.reading_minutes(content, len(article.placed))
    page = _page(study, data, article, minutes)
    wrapper = environment().get_template("_article.md.j2")
    check = text.self_check_rows(data.manifest["self_check"])
    markdown = wrapper.render(content=content, page=page, study=study, self_check=check, **context)
    store.write_text(site_src / "articles" / f"{study.name}.md", markdown)
    return page


def render_lists(pages, datas, site_src):
    """Write the home page, the archive, the tags and the models.

    pages: list of `Page`, newest first; datas: list of `StudyData`, one a page
    """
    tags = Counter(tag for page in pages for tag in page.tags)
    identities = {
        data.manifest["model"]["weights_sha256"]: data.manifest["model"] for data in datas
    }
    models = [model | {"card": _card(model)} for model in identities.values()]
    for name in ("index.md", "archive.md", "tags.md", "models.md"):
        template = environment().get_template(f"{name}.j2")
        markdown = template.render(pages=pages, tags=sorted(tags.items()), models=models)
        store.write_text(site_src / name, markdown)


def remove_departed(names, site_src):
    """Remove pages, figures and datasets of articles that are no longer there.

    names: the articles that are, as in `Page.name`
    """
    for part in ("articles", "figures", "datasets"):
        for path in (site_src / part).glob("*"):
            if path.name.removesuffix(".md") in names:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def _card(model):
    """The model card of an embedded model as a part of a page, or None if it has none.

    model: a manifest's identity; the card must be about these very weights
    """
    folder = EMBEDDED / model["name"]
    try:
        judged = json.loads((folder / "acceptance.json").read_text("utf-8"))["weights_sha256"]
        body = (folder / "README.md").read_text("utf-8").split("\n---\n", 1)[-1]
    except FileNotFoundError:
        return None
    if judged != model["weights_sha256"]:
        return None
    without_title = re.sub(r"\A\s*# .*\n", "", body)
    return re.sub(r"^#", "##", without_title, flags=re.MULTILINE)


def _page(study, data, article, minutes):
    front = study.front_matter
    cover = next(placed for placed in article.placed if placed.name == front.cover)
    return Page(
        name=study.name,
        title=front.title,
        date=front.date,
        author=front.author,
        summary=front.summary,
        tags=front.tags,
        minutes=minutes,
        cover=f"figures/{study.name}/{front.cover}",
        cover_size=_size(cover.module),
    )


def _size(module):
    """Width and height of a figure's picture in pixels."""
    return _static.WIDTH, round(_static.WIDTH / module.ASPECT)


def _render(study, article, context):
    jinja = environment()
    jinja.globals |= {"figure": article.figure, "ref": article.ref, "passage": article.passage}
    name = str(study.template)
    try:
        code = jinja.compile(study.body, name, name)
        template = jinja.template_class.from_code(jinja, code, jinja.make_globals(None))
        return template.render(**context, study=study.front_matter)
    except (
        TemplateError,
        ReportError,
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        where = f"{name}, line {_line(error, name)}"
        raise ReportError(f"{where}: {error}") from error


def _line(error, name):
    """Line of the template in which an error arose (Jinja rewrites tracebacks to it)."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == name]
    return lines[-1] if lines else getattr(error, "lineno", 1)
