"""Articles become pages: Jinja templates in, plain Markdown with figures out.

All logic is here. MkDocs only builds what lies in `site_src`, so another builder of Markdown can
take its place.

Each figure has a page alone too, to be shown in frames on other sites: a plain HTML file beside the
Markdown, without the theme. Builders copy it as it is, and list it neither in the search nor in the
site map.

MkDocs makes the list of footnotes. Here each reference gets a copy of its note, which the style
sheet (`web/page/sidenotes.css`) shows beside the sentence, in wide windows only.
"""

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from report import files
from report.authored import guard
from report.authored.boundary import authored
from report.datasets import store
from report.datasets.read.study import StudyData
from report.errors import DamagedError, ReportError
from report.figures.build import defaults, still, vega
from report.figures.build.find import own_file
from report.figures.build.still import (
    cover_base,
    cover_names,
    picture_names,
    write_cover,
    write_pictures,
)
from report.kinds import folders
from report.pages import filters, head_page, sentences
from report.pages.article import BYLINE_HERE, ArticleFigures, figure_for, no_cover, partial
from report.pages.claims import ThroughErrors
from report.pages.gallery import places
from report.pages.later import WITHIN, Deferring
from report.pages.new import as_measured
from report.pages.page import Page
from report.pages.policy import policy
from report.pages.provenance import NAME, provenance, write_release
from report.pages.stamps import Drawn, stamps
from report.pages.templates import HEADS_OF, environment
from report.project import Project, documentation
from report.study.study import ENDING, Study, publication_of
from report.text import split_sentences

DEFINITION = re.compile(r"^\[\^([^\]\s]+)\]:[ \t]*(\S.*(?:\n[^\s\[#<>|:`~].*)*)", re.MULTILINE)
"""A note of one paragraph: its name and its words."""

LEFT_ALONE = (
    r"^```.*?^```|^[ \t]*<(?!(?:a|em|span|strong)\b)[^\n]*|^(?:[#|]|[!?]{3})[^\n]*"
    r"|<code.*?</code>|<[^>]*>|`[^`\n]*`|\]\([^)\n]*\)"
)
"""Code, lines of HTML, headings, tables, titles of boxes, tags and addresses in Markdown."""

REFERENCE = re.compile(rf"({LEFT_ALONE})|\[\^([^\]\s]+)\](?!:)", re.MULTILINE | re.DOTALL)
"""What is left alone, or the name of the note that is referred to."""


def with_sidenotes(markdown: str) -> str:
    """The Markdown of an article in which each note also stands after its first reference.

    A note that goes on after its first paragraph stays in the list alone.
    """
    notes = {}
    for number, match in enumerate(DEFINITION.finditer(markdown), 1):
        name, words = match.groups()
        if not markdown[match.end() :].startswith(("\n    ", "\n\n    ")):
            notes.setdefault(name, f"{_NUMBER.format(number)} {' '.join(words.split())}")

    def beside(match):
        note = notes.pop(match[2], None) if match[2] else None
        return f"{match[0]}{_NOTE.format(note) if note else ''}"

    return REFERENCE.sub(beside, markdown)


_NOTE = '<small class="sidenote" data-search-exclude>{}</small>'
_NUMBER = '<span class="sidenote__number">{}</span>'


def write_embed_pages(
    study: Study, article: ArticleFigures, site_src: Path, more: Mapping[str, str] | None = None
) -> None:
    """Write `embed/<article>/<figure>.html` below `site_src` for every figure of an article.

    Pages of figures that the article no longer has are removed.

    more: name -> text of a page beside them
    """
    folder = files.inside(site_src, f"embed/{study.name}")
    template = environment(article.project.root / "templates").get_template("embed.html.j2")
    for placed in article.placed:
        page = template.render(
            policy=policy(),
            figure=placed,
            html=article.alone(placed),
            title=placed.title,
            study=study.front_matter,
            back=f"../../articles/{study.name}/",
        )
        files.write_text(folder / f"{placed.name}.html", page)
    for name, page in (more or {}).items():
        files.write_text(folder / name, page)
    names = {*(more or {}), *(f"{placed.name}.html" for placed in article.placed)}
    files.remove_others(folder.glob("*.html"), names)


def render_article(
    study: Study,
    data,
    site_src: Path,
    frozen: Collection[str] = (),
    url: str = "",
    cache: Drawn | None = None,
) -> Page:
    """Write everything of one article below `site_src`: page, provenance, figures, pictures.

    data: what `open_study` gave
    frozen: keys of its datasets that were frozen; url: address of the site, "" if not known
    cache: what was drawn of it already; what is drawn now is added
    raises: ReportError that names the template and the line
    """
    cache = cache or Drawn()
    study = as_measured(study, names_of(data))
    context = _context_once(study, data, cache)
    counting = _counted(study, data, context)
    if failed := counting.failed:
        more = f" {len(failed) - 1} more do not hold; `why` names them." if failed[1:] else ""
        raise ReportError(failed[0] + more)
    article = _figures(study, data, cache)
    article.announced = [placed.name for placed in counting.placed]
    article.citations.announced = counting.citations.keys
    names = {model.manifest["model"]["name"] for model in data.models}
    content = filters.unbroken(_render(study, article, context), names)
    article.conclusion = filters.unbroken(article.conclusion, names)
    cover = _cover(study, data, article)
    of_head = head_page.figures(article)
    beside = [placed for placed in of_head if placed not in article.placed]
    _write_unwritten(files.inside(site_src, f"figures/{study.name}"), article, cover, beside)
    write_embed_pages(study, article, site_src, head_page.pages(study, article, of_head))
    minutes = filters.reading_minutes(content, len(article.placed))
    content = with_sidenotes(content)
    title = study.front_matter.title
    figures = places(article, title) if documentation(site_src) else []
    page = _page(study, article, cover, minutes, figures)
    wrapper = environment(publication_of(study.template) / "templates").get_template(
        f"kinds/{data.kind}/page.md.j2"
    )
    datasets = files.inside(site_src, f"datasets/{study.name}")
    origin = provenance(study, data, frozen, url, write_release(data, datasets))
    store.write(files.inside(datasets, NAME), origin)
    context |= {"data": data, "content": content, "page": page, "provenance": origin}
    context["BYLINE_HERE"] = BYLINE_HERE
    context["first_head"] = head_page.anchor(0, 0, head_page.models(data)[0][0])
    context["references"] = _references(study, article)
    markdown = wrapper.render(study=study, **context)
    # An index of a folder: its links in HTML are then right for builders that leave them alone
    # (MkDocs) and for those that take them as relative to this file (Zensical).
    files.write_text(files.inside(site_src, f"articles/{study.name}/index.md"), markdown)
    cache.finish()
    return page


def draft(
    study: Study, data: StudyData, name: str, cache: Drawn | None = None
) -> tuple[str, ArticleFigures]:
    """The Markdown of an article, and its figures, while the rest of it is still to be measured or
    drawn: without still pictures, pages of single figures, and how it was measured. Nothing is
    written.

    data: as for `render_article`; what they raise a `LaterError` for is left out, and marked
    name: of the folders that its page asks for figures and datasets
    cache: of `render_article`, whose findings are taken from there, or added
    raises: ReportError as `render_article`
    """
    study = as_measured(study, names_of(data))
    context = _context_once(study, data, cache or Drawn())
    project = Project(publication_of(study.template))
    article = ArticleFigures(name, project, data, pictures=False)
    content = _render(study, article, context, Deferring)
    if article.failed:
        raise ReportError(article.failed[0])
    placed: list[str] | None = None
    while placed != [each.name for each in article.placed]:  # all that were announced are there
        placed, cited = [each.name for each in article.placed], article.citations.keys
        article = ArticleFigures(name, project, data, article.cache, pictures=False)
        article.announced, article.citations.announced = placed, cited
        content = _render(study, article, context, Deferring)
    content = filters.unbroken(content, names_of(data)).replace(BYLINE_HERE, "")
    template = environment(project.root / "templates").get_template("draft.md.j2")
    references = _references(study, article)
    about = {"page": study.front_matter, "content": with_sidenotes(content)}
    return template.render(**about, references=references), article


def _figures(study, data, cache=None):
    return ArticleFigures(study.name, Project(publication_of(study.template)), data, cache)


def failing(study: Study, data: StudyData) -> list[str]:
    """The claims of an article that its data do not bear out, a sentence each; nothing is written.

    data: as for `render_article`
    """
    study = as_measured(study, names_of(data))
    return _counted(study, data, _context(study, data)).failed


def _counted(study, data, context):
    """The figures of an article, counted, and the claims that do not hold.

    raises: ReportError of an error that no claim is to blame for: what is not there, as a head that
        finds something, may be what a claim before or after it says is there
    """
    counting = _figures(study, data)
    try:
        _render(study, counting, context)
    except ReportError as error:
        counting = _figures(study, data)
        cause = error.__cause__
        if isinstance(cause, Exception) and not isinstance(cause, DamagedError):  # nor a limit
            with suppress(ReportError):
                _render(study, counting, context, ThroughErrors)
        if not counting.failed:
            raise
    return counting


def names_of(data: StudyData) -> list[str]:
    """The names of the models of an article, in their order."""
    return [model.manifest["model"]["name"] for model in data.models]


def _references(study, article):
    """The list of what an article cites, as HTML; "" if it cites nothing."""
    listed = article.citations.listed
    folder = publication_of(study.template) / "templates"
    return partial("_references.html.j2", folder, listed=listed) if listed else ""


def _context_once(study, data, cache):
    beside = bool(study.front_matter.beside)
    return dict(cache.get(("context", beside), [data], lambda: _context(study, data)))


def _context(study, data):
    """What the templates of an article may use; with models beside it, they are of its own one."""
    chosen = data.models[0] if study.front_matter.beside else data
    findings = folders.findings(chosen) | folders.findings(data)
    return {"data": chosen, "model": data.models[0].manifest["model"], **findings}


def _write_unwritten(folder, article, cover, beside):
    """Write the files of each figure, and of the cover, unless these very ones were written last
    and nobody has changed one since. beside: figures that the article does not place, which have no
    pictures"""
    cache, front = article.cache, cover.panels[0]
    every = [*article.placed, *beside]
    fresh = [placed for placed in every if not _is_written(cache, placed.name, placed)]
    texts = _write_figures(folder, fresh, article)
    for placed in fresh:
        _note(cache, placed.name, placed, _files_of(folder, placed, texts))
    if not _is_written(cache, COVER, cover):
        with _drawing(cover, article):
            write_cover(folder / cover_base(front), cover.figure, front, cover.data)
        _note(cache, COVER, cover, [folder / name for name in cover_names(front)])
    names = [COVER, *(placed.name for placed in every)]
    _remove_undrawn(
        folder, every, {path.name for name in names for path in cache.results["written", name][1]}
    )


COVER = ""
"""Stands for the cover among the names of an article's figures."""


def _is_written(cache, name, placed):
    """Whether the files of a figure were written of just these charts, and are as they were."""
    there = cache.get(("written", name), _charts(placed), dict)
    if there and stamps([*there]) == there:
        return True
    cache.forget(("written", name))  # what fails half-way was not written
    return False


def _note(cache, name, placed, paths):
    cache.get(("written", name), _charts(placed), lambda: stamps(paths))


def _charts(placed):
    return [*placed.panels, *placed.variants]


def _files_of(folder, placed, of_sentences):
    """The files of a figure; of_sentences: names of all files of sentences."""
    rows = [folder / defaults.ROWS / panel.name for panel in _charts(placed)]
    return [
        *(folder / f"{panel.name}{end}" for panel in _charts(placed) for end in SPECIFICATIONS),
        *(folder / name for panel in placed.panels for name in picture_names(panel)),
        *(folder / name for name in of_sentences if name.startswith(f"{placed.name}.seen.")),
        *(path for each in rows for path in each.rglob("*") if path.is_file()),
    ]


SPECIFICATIONS = (".json", ".vega.json")
"""Endings of the files of a chart's specification: as the figure gives it, and compiled."""


def _drawing(placed, article):
    """Meanwhile, what goes wrong is said of the file of a figure, if that is an author's own."""
    path = own_file(placed.figure.name, article.figures_folder)
    return (
        authored(path)
        if path
        else guard.busy(str(article.project.articles / f"{article.name}{ENDING}"))
    )


def _write_figures(folder, figures, article):
    """Write specifications, rows, sentences and pictures of figures of an article.

    returns: names of the files of sentences
    """
    look = article.cache.look
    for placed in figures:
        with _drawing(placed, article):
            _write_figure(folder, placed, look, pictures=placed in article.placed)
    texts = sentences.sentence_files(figures, look)
    for name, content in texts.items():
        files.write_text(files.inside(folder, name), store.dumps(content))
    return texts.keys()


def _write_figure(folder, placed, look, pictures):
    for panel in _charts(placed):
        look()
        files.write_text(folder / f"{panel.name}.json", store.dumps(panel.spec))
        compiled = store.dumps(vega.vega(panel.spec))
        files.write_text(folder / f"{panel.name}.vega.json", compiled)
        for name, rows in placed.written_rows(panel):
            store.write(files.inside(folder, f"{defaults.ROWS}/{panel.name}/{name}"), rows)
    for panel in placed.panels if pictures else ():
        write_pictures(folder / panel.name, placed.figure, panel, placed.data, look)


def _remove_undrawn(folder, figures, names):
    """Remove specifications, pictures, rows and sentences of figures that the article no longer
    has.

    figures: those that it has; names: names of all files of its figures and of its cover
    """
    files.remove_others([*folder.glob("*.json"), *folder.glob("*.svg")], names)
    charts = {panel.name for placed in figures for panel in _charts(placed)}
    for path in files.inside(folder, defaults.ROWS).glob("*"):
        if path.name not in charts:
            files.remove(path)


def _cover(study, data, article):
    """The `PlacedFigure` that stands for an article: its cover, or else the first figure.

    raises: ReportError if the cover is not a figure of the article
    """
    name = article.cover_name or study.front_matter.cover
    placed = {placed.name: placed for placed in article.placed}
    if name in placed:
        return placed[name]
    if placed and figure_for(name, data, article.figures_folder).left_out(data):
        return article.placed[0]
    with study.blaming("cover"):
        raise no_cover(name, placed)


def _page(study, article, cover, minutes, places):
    front, first = study.front_matter, article.placed[0].state
    return Page(
        name=study.name,
        title=front.title,
        date=front.date,
        author=front.author,
        summary=front.summary,
        tags=front.tags,
        minutes=minutes,
        cover=f"figures/{study.name}/{cover_base(cover.panels[0])}",
        cover_size=still.COVER,
        cover_alt=cover.panels[0].alt,
        lead=f"figures/{study.name}/{cover.panels[0].small}",
        lead_size=cover.panels[0].small_size,
        # on the home page, where the links of an article lead nowhere
        answer=re.sub(r"</?a\b[^>]*>", "", next(iter(split_sentences(article.conclusion)), "")),
        figures={placed.name: (placed.number, placed.title) for placed in article.placed},
        opens=article.opens,
        head=(first["layer"], first["head"]) if {"layer", "head"} <= first.keys() else None,
        places=places,
    )


def _render(study, article, context, generator=None):
    jinja = environment(study.template.parent, publication_of(study.template) / "templates")
    if generator:
        jinja.code_generator_class = generator
        jinja.globals |= WITHIN
    jinja.globals |= article.functions | {HEADS_OF: article.model_named()}
    name = str(study.prose or study.template)
    code = jinja.compile(study.body, name, name)
    template = jinja.template_class.from_code(jinja, code, jinja.make_globals(None))
    return template.render(**context, study=study.front_matter)
