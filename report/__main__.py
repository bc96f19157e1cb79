"""The pipeline on one page: `python -m report site` measures, draws, writes and publishes."""

import shlex
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from report import __version__
from report.errors import ReportError, UsageError
from report.project import HERE, only_build, project
from report.study.options import Options, with_options

app = typer.Typer(
    help="Measure attention heads and publish what they do as an interactive site.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console(stderr=True, highlight=False)

Root = Annotated[
    Path, typer.Option("--project", help="Folder of the publication.", show_default="this one")
]
Only = Annotated[
    str | None, typer.Option("--study", help="The one article to work on; default: all of them.")
]
Force = Annotated[bool, typer.Option("--force", help="Measure again even if nothing changed.")]
SiteFolder = Annotated[Path, typer.Argument(help="Folder of the built site.", show_default="site")]


@app.command()
@with_options
def site(
    options: Options,
    study: Only = None,
    force: Force = False,
    root: Root = HERE,
    publisher: Annotated[
        Literal["mkdocs", "zensical"],
        typer.Option(help="What makes the site of the pages; Zensical's is in site-zensical/."),
    ] = "mkdocs",
):
    """Measure what changed, write all pages, and build the site into site/."""
    from report.site.address import EXAMPLE, read_site
    from report.site.build import build

    where = project(root)
    folder = where.site if publisher == "mkdocs" else where.root / f"site-{publisher}"
    with only_build(where, _say):
        others = _render(where, options, study, force)
        build(where.config, folder, others, publisher)
    if not read_site(where.config).url:
        _say(
            "SITE_URL is not set: the site has no feed, no canonical links and an empty site map. "
            f"To publish, say where it will be: `make site SITE_URL={EXAMPLE}`."
        )
    serve = "make serve" if folder == where.site else f"python -m report serve {_shown(folder)}"
    _say(f"The site is in {_shown(folder)}; see it with `{serve}`.")


@app.command()
@with_options
def render(options: Options, study: Only = None, force: Force = False, root: Root = HERE):
    """Measure what changed and write Markdown, data, figures and assets into site_src/."""
    where = project(root)
    with only_build(where, _say):
        _render(where, options, study, force)


@app.command()
@with_options
def measure(
    options: Options,
    study: Only = None,
    force: Force = False,
    root: Root = HERE,
    ray: Annotated[
        str | None,
        typer.Option(
            help="Measure on a Ray cluster: its address, auto for the one that this machine is a "
            "part of, or local for the processors and GPUs of this machine."
        ),
    ] = None,
):
    """Run the models where something changed and write the datasets."""
    where = project(root)
    with only_build(where, _say), _runner(ray) as run:
        _measure(where, options, study, force, run=run)


@app.command()
@with_options
def why(options: Options, study: Only = None, root: Root = HERE):
    """Say what would be measured, and because of which change; runs no model."""
    from report.measuring.plan import plans
    from report.measuring.run import read
    from report.study.study import read_studies

    where = project(root)
    for each in read_studies(where.articles, study, **options.given):
        for plan in plans(each, where, read(each), ask=False):
            said = "; ".join(plan.reasons) if plan.state == "measure" else STATES[plan.state]
            will = "would be measured: " if plan.state == "measure" else ""
            typer.echo(f"{each.name}, {plan.model}: {will}{said}")


@app.command()
@with_options
def freeze(options: Options, study: Only = None, force: Force = False, root: Root = HERE):
    """Measure what changed and copy the datasets into frozen/, to be committed and published from
    a machine that cannot measure."""
    from report.measuring.frozen import freeze

    where = project(root)
    with only_build(where, _say):
        studies, found = _measure(where, options, study, force, use_frozen=False)
        for each, one in zip(studies, found, strict=True):
            for folder in freeze(each.name, [model.folder for model in one], where):
                _say(f"{each.name}: frozen in {_shown(folder)}")


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Of the article, as in its address: my-study.")],
    kind: Annotated[
        str, typer.Option(help="What it is about: passage, conditions, table or sweep.")
    ] = "passage",
    root: Root = HERE,
):
    """Write a new article that builds at once, to be made yours."""
    from report.pages.new import new_article

    path = _shown(new_article(name, kind, project(root)))
    only = shlex.join(["--study", name])
    _say(f"{path} is yours: say in its first lines which model reads what, and write.")
    _say(f"Build it with `make site STUDY={name}` (`python -m report site {only}`).")


@app.command()
def check(folder: SiteFolder = HERE / "site"):
    """Verify a built site: links, anchors, pictures, figures, datasets, no other host."""
    from report.site.check import check_site

    counts = check_site(folder)
    listed = ", ".join(f"{number} {what}" for what, number in counts.items())
    _say(f"{_shown(folder)}: all right ({listed}).")


@app.command()
def publish(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of the built site.", show_default="site")
    ] = None,
    remote: Annotated[
        str, typer.Option(help="Name of a git remote, its address, or a path.")
    ] = "origin",
    branch: Annotated[
        str, typer.Option(help="Branch that the pages are served from.")
    ] = "gh-pages",
    site_url: Annotated[
        str, typer.Option(envvar="SITE_URL", help="Refuse a site built for another address.")
    ] = "",
    domain: Annotated[str, typer.Option(help="Domain of your own, for the file CNAME.")] = "",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Leave one commit, without those before it.")
    ] = False,
    root: Root = HERE,
):
    """Push a built site to a branch of a git remote, e.g. for GitHub Pages."""
    from report.site.push import push

    done = push(
        folder or root / "site", root, remote, branch, site_url=site_url, domain=domain, fresh=fresh
    )
    state = "is now at" if done.changed else "has this site already, at"
    _say(f"The branch {branch} of {done.remote} {state} {done.commit[:12]}.")


@app.command()
def serve(
    folder: SiteFolder = HERE / "site",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 8000,
):
    """Serve a built site on this machine, until Ctrl-C."""
    from report.site.serve import serve_folder

    serve_folder(folder, port, announce=lambda url: _say(f"Serving {url}; stop: Ctrl-C"))


@app.command()
def train(
    texts: Annotated[Path, typer.Argument(help="Folder of .txt files, one book each.")],
    output: Annotated[Path, typer.Argument(help="Folder for the model; resumed if half done.")],
    validation: Annotated[
        str | None, typer.Option(help="Part of the file name of the book to hold out.")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps; default: the recipe's.")] = None,
    recipe: Annotated[
        str, typer.Option(help="Name of the embedded model to train.")
    ] = "falcon-8x8",
    source: Annotated[str, typer.Option(help="Where the text is from, for the model card.")] = "",
    keep: Annotated[
        str,
        typer.Option(
            metavar="STEPS",
            help="Keep the model after these steps too, in OUTPUT/step-…: 0,50,100 for a sweep.",
        ),
    ] = "",
):
    """Train an embedded model on a folder of books.

    A shipped recipe takes an hour or so on two cores. A run that was cut off is resumed.
    """
    with _measuring_packages():
        from report.training.recipe import named_recipe
        from report.training.train import train

    recipe = named_recipe(recipe, **({"steps": steps} if steps else {}))
    kept = _steps(keep)
    with _progress() as bar:
        task = bar.add_task("Training", total=recipe.steps)

        def show(step, total, text):
            bar.update(task, completed=step, total=total, description=f"Training {text}")

        train(texts, output, recipe, validation, show, source, kept)
    if kept:
        _say(f"Kept on the way: {', '.join(f'step-{step}' for step in kept)} in {output}.")
    following = ["accept", str(output), "--texts", str(texts), "--write"]
    _say(f"The model is in {output}; next: python -m report {shlex.join(following)}")


@app.command()
def accept(
    model: Annotated[str, typer.Argument(help="Embedded model or the folder of a trained one.")],
    texts: Annotated[
        Path | None, typer.Option(help="The books it was trained on, to measure the loss too.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write acceptance.json and the model card beside it.")
    ] = False,
):
    """Measure what a model has learnt: its loss and three kinds of head."""
    with _measuring_packages():
        from report.training.acceptance import acceptance, write_acceptance
        from report.training.model_card import write_card
        from report.training.verdict import remarks, require_accepted, verdict_table

    with _progress() as bar:
        task = bar.add_task("Measuring", total=None)

        def show(step, total, text):
            bar.update(task, completed=step, total=total, description=text)

        result = acceptance(model, texts, show)
    typer.echo(verdict_table(result))
    for line in remarks(result, books_read=texts is not None):
        typer.echo(line)
    if write:
        write_acceptance(model, result)
        _say(f"Written: {_shown(write_card(model))} and acceptance.json.")
    require_accepted(result)


@app.command()
def models(
    family: Annotated[str | None, typer.Option(help="One family, or one of its variants.")] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare with what transformers computes instead.")
    ] = False,
):
    """Show what is measured for each family of models, tried on tiny random ones."""
    with _measuring_packages():
        from report.families.overview import overview, parity

    for line in (parity if verify else overview)(family):
        typer.echo(line)


def _steps(listed):
    """The numbers in "0,50,100", sorted; UsageError for anything else."""
    words = [word.strip() for word in listed.split(",")] if listed else []
    if not all(word.isdecimal() for word in words):
        raise UsageError(
            f"--keep {listed!r} is no list of steps; give whole numbers, as in 0,50,100"
        )
    return sorted(set(map(int, words)))


@contextmanager
def _runner(address):
    """What measures: a Ray cluster, or None for this process."""
    if address is None:
        yield None
        return
    from report.measuring.cluster.driver import on_cluster

    with on_cluster(address) as run:
        yield run


@contextmanager
def _measuring_packages():
    """Say what to install where torch or transformers is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ReportError(
            f"this command needs the package {error.name!r}; run `make setup`."
        ) from error


def _render(where, options, only, force):
    """All pages of a project, and what they show, from datasets measured where needed.

    returns: the names of the other articles, whose pages and datasets are left as they were
    """
    from report.datasets.read.study import open_study
    from report.pages.assets import write_assets
    from report.pages.feed import write_feed
    from report.pages.render import remove_departed, render_article, render_lists
    from report.pages.share_card import write_cards
    from report.site.address import read_site
    from report.study.study import study_names

    about = read_site(where.config)
    studies, found = _measure(where, options, only, force)
    datas = [
        open_study([each.folder for each in one], study.front_matter.labels)
        for study, one in zip(studies, found, strict=True)
    ]
    pages = []
    with _progress() as bar:
        task = bar.add_task("Writing pages", total=len(studies))
        for study, data, one in zip(studies, datas, found, strict=True):
            frozen = [each.folder.name for each in one if each.state == "frozen"]
            pages.append(render_article(study, data, where.site_src, frozen, about.url))
            bar.advance(task)
    render_lists(pages, datas, where.site_src, feed=bool(about.url))
    write_cards(pages, about, where.site_src)
    write_feed(pages, about, where.site_src)
    names = study_names(where.articles)
    remove_departed(names, where.site_src)
    write_assets(where.site_src)
    return [name for name in names if name not in {study.name for study in studies}]


STATES = {
    "unchanged": "unchanged, not measured again",
    "kept": "not measured again: what measures is not installed, and nothing else changed",
    "frozen": "frozen datasets used",
}
"""What is said of datasets that are not measured; see `report.measuring.plan.Plan`."""


def _measure(where, options, only, force, use_frozen=True, run=None):
    """The studies of a project, or one, and of each a list of `ModelDatasets`, one a
    model; says what was measured now, and why.

    run: what measures, if not this process
    """
    from report.measuring.run import datasets, read
    from report.study.study import read_studies

    studies = read_studies(where.articles, only, **options.given)
    for study in studies:
        read(study)  # so that a mistake in the last one is not found out after the first ran
    all_found = []
    for study in studies:
        with _progress() as bar:
            tasks = {}

            def show(what, done, total, bar=bar, tasks=tasks):
                if what not in tasks:
                    tasks[what] = bar.add_task(what, total=total)
                bar.update(tasks[what], completed=done, total=total)

            found = datasets(study, where, show, force, use_frozen, _say, run)
        for each in found:
            _say(f"{study.name}: {_state(each)}")
        all_found.append(found)
    return studies, all_found


def _state(found):
    """What happened to the datasets of a model, for the command line."""
    from report.measuring.frozen import measured_with

    key = found.folder.name
    if found.ran:
        return f"measured ({key}): {'; '.join(found.reasons)}"
    with_what = f": {measured_with(found.folder)}" if found.state == "frozen" else ""
    return f"{STATES[found.state]} ({key}){with_what}"


def _say(text):
    # as it is: neither broken into lines nor read as markup, since it may hold a path
    console.print(text, markup=False, soft_wrap=True)


def _progress():
    columns = TextColumn("{task.description:14}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, TimeElapsedColumn(), console=console)


def _shown(path):
    path = Path(path).resolve()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _version(asked: bool):
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
):
    pass


def main():
    """Run the command line; what is wrong outside is one sentence and an exit code of 1 or 2."""
    try:
        app()
    except ReportError as error:
        console.print(f"[red]error:[/] {_plain(error)}", soft_wrap=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)


def _plain(error):
    from rich.markup import escape

    return escape(str(error))


if __name__ == "__main__":
    main()
