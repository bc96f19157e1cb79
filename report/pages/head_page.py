"""The page of one head: for all heads of an article that tells them apart one file, whose script
reads in the address which head is meant, or which two, and fetches their numbers and figures.
"""

from dataclasses import replace

from report.datasets.read.study import StudyData
from report.figures.parts.all_measures import finds
from report.kinds import folders
from report.kinds.atlas import beside
from report.pages.article import HEAD_PAGE, ROOT, ArticleFigures
from report.pages.assets import FIGURES, modules
from report.pages.placed import PlacedFigure
from report.pages.policy import policy
from report.pages.templates import environment
from report.study.study import Study
from report.text import slug

FILE = f"{HEAD_PAGE}.html"


def anchor(layer: int | str, head: int | str, model: str) -> str:
    """What follows "#" in the address of a head; model: the first of `models`"""
    return f"head=L{layer}H{head}&model={model}"


def models(data: StudyData) -> list[tuple[str, str, str]]:
    """Of each model of an article: its name in addresses of heads, what its figures call it, and
    what a reader reads."""
    if several := getattr(data, "names", None):
        return list(zip(several, several, data.labels, strict=True))
    return [(slug(model.label, "model"), model.path.name, model.label) for model in data.models]


def figures(article: ArticleFigures) -> list[PlacedFigure]:
    """The figures of one head: those that the article places, and the others that can be drawn."""
    more = ArticleFigures(article.name, article.project, article.data, article.cache)
    more.announced = []
    placed = {placed.name: placed for placed in article.placed if placed.data is article.data}
    names = {each.name for each in article.placed}  # other figures may be called so
    for name in folders.one_head(article.data):
        if name not in names and not more.left_out(name):
            more.figure(name)
    placed |= {each.name: each for each in more.placed}
    known = [placed[name] for name in folders.one_head(article.data) if name in placed]
    return [each for each in known if each.figure.name == each.name]


def pages(study: Study, article: ArticleFigures, of_head: list[PlacedFigure]) -> dict[str, str]:
    """Name -> HTML of the page, {} of an article whose heads have none.

    of_head: what `figures` gave
    """
    data = article.data
    if not folders.one_head(data):
        return {}
    template = environment(article.project.root / "templates").get_template("head.html.j2")
    numbered = [replace(placed, number=n) for n, placed in enumerate(of_head, 1)]
    finders = [placed.number for placed in article.placed if placed.figure.finds(placed.data)]
    page = template.render(
        policy=policy(),
        modules=sorted(modules(FIGURES)),
        models=[
            {"name": name, "called": called, "label": label, "of": model}
            | {"measures": _measures(model), "table": f"datasets/{study.name}/{model.path.name}"}
            for (name, called, label), model in zip(models(data), data.models, strict=True)
        ],
        figures=[article.alone(placed, pictures=False) for placed in numbered],
        study=study.front_matter,
        root=ROOT,
        back=f"{ROOT}articles/{study.name}/",
        finder=f"fig-{finders[0]}" if finders else "",
    )
    return {FILE: page}


def _measures(model):
    """What the page says of each measure: first what a head does to the prediction."""
    measures = []
    for each in finds(model):
        words = model.words[each["name"]]
        about = {name: each[name] for name in ("name", "title", "percent", "number")}
        about |= {"shows": words.shows, "unit": words.unit}
        _, about["control"] = each["control"]
        measures.append(about)
    return sorted(measures, key=lambda each: each["name"] not in FIRST)


FIRST = (beside.LOST.name, beside.DIRECT.name)
"""Measures that come before all others: whether a head matters."""
