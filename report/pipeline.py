"""From articles to a site, in five steps: read, measure, draw, write, build.

From `make site` to the first forward pass of a model:

    report/__main__.py           site: the options of the command
    report/pipeline.py           make_site, make_pages: `read` has the articles read
                                 (study/study.py) and checked (pages/prose.py), `measure` goes on
    report/measuring/run.py      datasets: reads what is to be measured; plan.py compares its key
                                 (key.py) with what is there; carry_out has the rest measured, and
                                 writes it
    report/measuring/alone.py    alone, load_source: one model after the other, in this process
    report/models/load/load.py   load_model: the checkpoint becomes a model in memory; identity.py
                                 asks how its attention is reached, so two tokens go through the
                                 first layer: the first forward pass (models/attention/probe.py).
                                 Of a model in part, shapes run before (models/partial/model.py)
    report/measuring/pieces.py   measure_piece: some texts, or what is measured once a model
    report/kinds/*/measure.py    measure or measure_batch: what this kind of article asks for; first
                                 the self-check (models/attention/self_check.py) on at most 16
                                 random tokens
    report/models/measure/       then the passage and the texts, for the numbers of every head; for
                                 predictions report/effects/
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from typer import Typer

from report.console import Terminal, as_typed
from report.datasets.read.model import ModelData
from report.datasets.read.study import open_study
from report.errors import ReportError, command
from report.measuring import run as measuring
from report.measuring.alone import Models
from report.measuring.plan import Plan, known_plans, left_out, plans
from report.pages.assets import write_assets, write_theme
from report.pages.beside import Article, Beside, drawing_beside
from report.pages.bibliography import FILE as BIBLIOGRAPHY
from report.pages.bibliography import uncited
from report.pages.feed import write_feed
from report.pages.gallery import write_gallery
from report.pages.last import LastDrawn
from report.pages.lists import remove_departed, render_lists
from report.pages.new import placeholders, stands_in
from report.pages.page import Page, Site
from report.pages.prose import check_prose
from report.pages.reference import write_reference
from report.pages.render import failing, names_of, render_article
from report.pages.share_card import write_cards
from report.pages.stamps import Drawn, stamps
from report.project import Project
from report.site.address import read_site, require_own_files
from report.site.build import LastBuild, build, require_settings, too_heavy
from report.site.sums import require_site
from report.study.study import Study, read_studies, study_names
from report.text import quoted


@dataclass(frozen=True)
class Request:
    """What a command asks for."""

    project: Project
    article: str | None = None
    """The one article to work on; None: all of them."""
    options: dict = field(default_factory=dict)
    """What stands in for the front matter of every article."""
    force: bool = False
    """Measure and draw again even if nothing changed."""
    commands: Typer | None = None
    """The command line, which the reference of a documentation explains; None: it does not."""


def make_site(request: Request, terminal: Terminal, folder: Path, builder: str) -> None:
    """All five steps; the new site replaces `folder`. If nothing changed, it stays as it is.

    raises: ReportError, as every step does, in one sentence that says what is wrong
    """
    require_site(folder)
    config = request.project.config
    last = LastBuild(config, folder)
    with _drawing(request) as beside:
        studies, datasets = _measured(request, terminal, beside, builder)
        question = _question(request, builder, datasets)
        ran = any(model.ran for models in datasets for model in models)
        if not request.force and not ran and last.fits(question):
            terminal.say("Nothing changed since the site was built; --force builds it again.")
            return
        pages, opened = _drawn(studies, datasets, request, terminal, beside)
    write(pages, opened, request, read_site(config))
    last.note_pages()
    names = [study.name for study in studies]
    left_out = [name for name in study_names(request.project.articles) if name not in names]
    build(config, folder, left_out, builder)
    last.note_build(question)


def make_pages(request: Request, terminal: Terminal) -> None:
    """All steps but the last: `site_src` holds the pages and what they show."""
    with _drawing(request) as beside:
        measured = _measured(request, terminal, beside)
        pages, opened = _drawn(*measured, request, terminal, beside)
    write(pages, opened, request, read_site(request.project.config))


def _drawing(request):
    names = study_names(request.project.articles)
    last = LastDrawn(request.project, request.force)
    return drawing_beside(last, 1 if request.article else len(names))


def _question(request, builder, datasets):
    """What was asked for: the same gives the same site."""
    folders = [[str(model.folder) for model in models] for models in datasets]
    return builder, request.article, sorted(request.options.items()), folders


def _measured(request, terminal, beside, builder=""):
    """The articles, and the datasets of each; what can be is drawn `beside` measuring.

    builder: what will build the site; MkDocs is asked whether it can, before a model runs
    """
    require_own(request)
    read_site(request.project.config)  # what is wrong with it is said before a model runs
    studies = read(request)
    if builder == "mkdocs":
        require_settings(request.project.config)
    say_uncited(request.project, terminal)
    for sentence in placeholders(request.project, studies):
        terminal.say(sentence)
    datasets = measure(studies, request, terminal, beside=beside)
    for sentence in too_heavy(model.folder for models in datasets for model in models):
        terminal.say(sentence)
    say_stand_ins(studies, datasets, terminal)
    return studies, datasets


def _drawn(studies, datasets, request, terminal, beside):
    about = read_site(request.project.config)
    return draw(studies, datasets, request.project, about, terminal, beside=beside)


def require_own(request: Request) -> None:
    """Stop for a file of another place that would be published, before anything is measured."""
    require_own_files(request.project.config, request.options.get("allow_file", ()))


def read(request: Request) -> list[Study]:
    """The articles. What they read is tried, and their prose is checked, so that no mistake is met
    after hours of measuring."""
    studies = read_studies(request.project.articles, request.article, **request.options)
    for study in studies:
        check_prose(study, measuring.largest(study, request.project))
        for part in (study, *study.parts):
            measuring.read(part)
    return studies


def say_uncited(project: Project, terminal: Terminal) -> None:
    """Say which entries of `references.bib` no article cites."""
    if keys := uncited(project.articles):
        more = f" and {len(keys) - 5:,} more" if len(keys) > 6 else ""
        listed = ", ".join(keys[:5] if more else keys)
        terminal.say(
            f"{as_typed(project.articles / BIBLIOGRAPHY)}: no article cites {listed}{more}."
        )


def measure(
    studies: list[Study],
    request: Request,
    terminal: Terminal,
    use_frozen: bool = True,
    measurer: measuring.Measurer | None = None,
    beside: Beside | None = None,
) -> list[list[measuring.ModelDatasets]]:
    """The datasets of every article, model by model; runs a model only where they do not fit.

    use_frozen: whether frozen datasets stand in for measuring
    measurer: what measures, such as a Ray cluster; None: this process
    beside: draws articles that are measured while the next ones are
    """
    for sentence in left_out(studies, request.project):
        terminal.say(sentence)
    url = read_site(request.project.config).url if beside else ""
    if measurer is None:
        measurer = partial(measuring.alone, models=Models())

    def with_drawing(tasks, *about):
        if tasks:
            beside.begin()
        return measurer(tasks, *about)

    all_found = []
    for study in studies:
        with terminal.bars() as show:
            datasets = measuring.datasets(
                *(study, request.project, show, request.force, use_frozen, terminal.say),
                with_drawing if beside else measurer,
            )
        for model in datasets:
            terminal.say_measured(study.name, model)
        all_found.append(datasets)
        if beside:
            beside.ready(_article(study, datasets, _apart(study, request.project), url))
    return all_found


def keys(request: Request) -> set[str]:
    """The keys of the datasets that articles ask for now; nothing is measured, no hub is asked."""
    studies = read_studies(request.project.articles, request.article, **request.options)
    planned = (plans(each, request.project, measuring.read(each), ask=False) for each in studies)
    return {plan.folder.name for each in planned for plan in each if plan.folder}


def say_stand_ins(
    studies: list[Study], all_found: list[list[measuring.ModelDatasets]], terminal: Terminal
) -> None:
    """Say which articles are about other models than those they were measured on."""
    for study, datasets in zip(studies, all_found, strict=True):
        data = open_study([model.folder for model in datasets])
        if sentence := stands_in(study, names_of(data)):
            terminal.say(sentence)


def failing_claims(study: Study, project: Project, planned: list[Plan]) -> list[str]:
    """What an article says that its datasets do not bear out, a sentence a claim; runs no model.

    planned: the plans of its models; [] where one of them is still to be measured
    """
    if any(plan.state == "measure" for plan in planned):
        return []
    parts = ((part, measuring.read(part)) for part in study.parts)
    others = [plan for part, inputs in parts for plan in known_plans(part, project, inputs)]
    apart = [plan.folder for plan in others if plan.state != "measure"]
    folders = [plan.folder for plan in planned]
    return failing(study, Article(study, folders, apart).open())


def atlas_of(project: Project, model: str | None = None, article: str | None = None) -> ModelData:
    """The measured atlas of a model, of an article about an atlas; nothing is measured.

    model: its name; None: the only one that there is
    raises: ReportError that names those that there are, unless one fits
    """
    measured = {}
    for study in read_studies(project.articles, article):
        if study.front_matter.kind == "atlas":
            for plan in known_plans(study, project, measuring.read(study)):
                if plan.state != "measure":
                    measured[f"{plan.model} ({study.name})"] = plan
    fitting = [plan for plan in measured.values() if model in (None, plan.model)]
    if len(fitting) != 1:
        of = f" of {quoted(model)}" if model else ""
        there = f"measured are {', '.join(measured)}" if measured else f"run `{command('site')}`"
        raise ReportError(
            f"there is {'more than one' if fitting else 'no'} measured atlas{of} here; {there}; "
            "name the model, and the article with --study"
        )
    return open_study([fitting[0].folder])


def claims_that_hold(project: Project) -> dict[str, int]:
    """How many articles were measured and say nothing that their datasets do not bear out.

    returns: the number, by what is counted
    raises: ReportError with the sentences that they do not bear out
    """
    tried = 0
    for study in read_studies(project.articles):
        planned = []
        with suppress(ReportError):  # a model is not on this machine
            planned = plans(study, project, measuring.read(study), ask=False)
        if planned and all(plan.state != "measure" for plan in planned):
            tried += 1
            if wrong := failing_claims(study, project, planned):
                raise ReportError(" ".join(wrong))
    return {"articles whose claims hold": tried}


def draw(
    studies: list[Study],
    all_found: list[list[measuring.ModelDatasets]],
    project: Project,
    about: Site,
    terminal: Terminal,
    drawn: Mapping[str, Drawn] | None = None,
    beside: Beside | None = None,
) -> tuple[list[Page], list]:
    """The page and the figures of every article; returns the pages, and the data they show.

    drawn: by name of the article, what was drawn of it already
    beside: draws articles in other processes, unless they are as they were drawn before
    """
    drawn = drawn if drawn is not None else {study.name: Drawn() for study in studies}
    articles = [
        _article(study, datasets, _apart(study, project), about.url)
        for study, datasets in zip(studies, all_found, strict=True)
    ]
    opened = {each.name: _opened(drawn[each.name], each) for each in articles}
    pages = dict.fromkeys(opened)
    if beside:
        pages |= beside.drawn_before(articles)
    missing = [each for each in articles if pages[each.name] is None]
    if len(missing) < len(articles):
        number = f"{len(articles) - len(missing)} of {len(articles)}"
        terminal.say(f"Articles as they were drawn before: {number}; --force draws all again.")
    made = beside.pages(missing) if beside else _made(missing, opened, project.site_src, drawn)
    with terminal.bars() as show:
        show("Writing pages", 0, len(missing))
        for number, (each, page) in enumerate(zip(missing, made, strict=True), start=1):
            pages[each.name] = page
            show("Writing pages", number, len(missing))
    return [*pages.values()], [*opened.values()]


def _made(articles, opened, site_src, drawn):
    for each in articles:
        of = each.study, opened[each.name], site_src, each.frozen, each.url
        yield render_article(*of, drawn[each.name])


def _article(study, datasets, others, url=""):
    frozen = [each.folder.name for each in (*datasets, *others) if each.state == "frozen"]
    folders, apart = ([model.folder for model in both] for both in (datasets, others))
    return Article(study, folders, apart, frozen, url)


def opened(
    study: Study, datasets: list[measuring.ModelDatasets], project: Project, drawn: Drawn
) -> object:
    """The data of an article, as `draw` shows them; drawn: what was drawn of it already."""
    return _opened(drawn, _article(study, datasets, _apart(study, project)))


def _apart(study, project):
    return [each for part in study.parts for each in measuring.measured_apart(part, project)]


def _opened(drawn, article):
    """The datasets of an article: the same object, while the same files are there."""
    front = article.study.front_matter
    manifests = stamps([folder / "manifest.json" for folder in (*article.folders, *article.apart)])
    words = str(stamps(map(Path, front.measures or ())))
    name = "datasets", str(manifests), str(front.labels), len(article.apart), front.noun, words
    return drawn.get(name, [], article.open)


def write(pages: list[Page], opened: list, request: Request, about: Site) -> None:
    """What articles share: lists, reference and gallery, the feed, share cards, scripts, styles."""
    project = request.project
    render_lists(pages, opened, project.site_src, feed=bool(about.url))
    write_reference(project.site_src, request.commands)
    write_gallery(pages, project.site_src)
    write_cards(pages, about, project.site_src)
    write_feed(pages, about, project.site_src)
    remove_departed(study_names(project.articles), project.site_src)
    write_assets(project.site_src)
    write_theme(project.root)
