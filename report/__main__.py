"""The command line: `python -m report site` makes the whole site; see `report.pipeline`.

All commands stand in one file because this is the list of them, with every option and message.
"""

from report.errors import end_quietly

if __name__ == "__main__":
    end_quietly()

import errno
import gc
import os
import signal
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from report.authored.boundary import in_words
from report.authored.guard import guarded
from report.console import NOT_MEASURED, Terminal, as_typed, clean, say_error
from report.errors import (
    PROGRAM,
    TRACEBACK,
    VERSION,
    ReportError,
    UsageError,
    command,
    project_option,
    setup,
)
from report.files import cannot_write
from report.project import enclosing_project, nearest_project, only_build, project
from report.study.front_matter import APART, QUESTIONS
from report.study.options import Apart, Options, with_options


class Commands(typer.core.TyperGroup):
    """The commands; errors about arguments show no secret and no control character."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except typer.BadParameter.__base__ as error:
            error.message = clean(error.message)
            raise


app = typer.Typer(
    cls=Commands,
    help="Measure attention heads and publish what they do as an interactive site.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
terminal = Terminal()
say = terminal.say


def _note_project(root: Path | None):
    project_option[:] = [root] if root else []
    return root


Root = Annotated[
    Path | None,
    typer.Option(
        "--project",
        help="Folder of the publication.",
        show_default="the nearest",
        callback=_note_project,
    ),
]
Only = Annotated[
    str | None, typer.Option("--study", help="The one article to work on; default: all of them.")
]
Force = Annotated[bool, typer.Option("--force", help="Do all again, even if nothing changed.")]
SiteFolder = Annotated[
    Path | None, typer.Argument(help="Folder of the built site.", show_default="site")
]


@app.command()
@with_options
def site(
    options: Options,
    study: Only = None,
    force: Force = False,
    root: Root = None,
    builder: Annotated[
        Literal["mkdocs", "zensical"],
        typer.Option(help="What builds the site; Zensical builds it into site-zensical/."),
    ] = "mkdocs",
):
    """Measure what changed, write all pages, and build the site into site/."""
    from report import pipeline
    from report.site.address import EXAMPLE, read_site

    where = project(root)
    folder = where.site if builder == "mkdocs" else where.root / f"site-{builder}"
    with only_build(where, say):
        request = _request(where, study, options, force)
        pipeline.make_site(request, terminal, folder, builder)
    if not read_site(where.config).url:
        say(
            "SITE_URL is not set: the site has no feed, no canonical links and an empty site map. "
            f"Before you publish it, say where it will be: `{command('site', site_url=EXAMPLE)}`."
        )
    serve = command("serve") if folder == where.site else f"{PROGRAM} serve {as_typed(folder)}"
    say(f"The site is in {as_typed(folder)}; see it with `{serve}`.")


@app.command()
def explore(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="Embedded models, folders, GGUF files, or owner/model on the hub; the page "
            "opens with the first. Default: falcon-8x8."
        ),
    ] = None,
    layers: Annotated[
        str | None, typer.Option(help="First layers to measure: 4, or 0-3, or all.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="auto (default), cpu, cuda or cuda:1.")] = None,
    chat: Annotated[bool, typer.Option(help="Put texts into the model's chat template.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0: any.")] = 0,
):
    """Open a page on this machine in which the figures of a text follow as it is typed."""
    from report.exploring.prepared import prepared

    options = {"layers": layers, "device": device}
    given = {name: value for name, value in options.items() if value}
    with prepared() as page:  # before torch is loaded, which takes some seconds
        from report.exploring.server import explore as serve_page

        serve_page([*dict.fromkeys(models or ["falcon-8x8"])], given, chat, port, say, page)


@app.command()
@with_options
def render(options: Options, study: Only = None, force: Force = False, root: Root = None):
    """Measure what changed and write Markdown, data, figures and assets into site_src/."""
    from report import pipeline

    where = project(root)
    with only_build(where, say):
        pipeline.make_pages(_request(where, study, options, force), terminal)


OnRay = Annotated[
    str | None,
    typer.Option(
        "--ray",
        help="Measure on a Ray cluster: its address; auto for the one that this machine is "
        "part of; or local for the processors and GPUs of this machine.",
    ),
]


@app.command()
@with_options
def measure(
    options: Options,
    study: Only = None,
    force: Force = False,
    root: Root = None,
    ray: OnRay = None,
):
    """Run the models where something changed and write the datasets."""
    from report import pipeline

    where = project(root)
    with only_build(where, say), _measurer(ray) as measurer:
        request = _request(where, study, options, force)
        pipeline.measure(pipeline.read(request), request, terminal, measurer=measurer)


@app.command()
@with_options
def why(options: Options, study: Only = None, root: Root = None):
    """Say what would be measured, and because of which change, and what an article says that its
    datasets do not bear out; runs no model."""
    from report.measuring.plan import left_out, plans
    from report.measuring.run import read, say_read
    from report.pipeline import failing_claims
    from report.study.study import read_studies

    where = project(root)
    articles = read_studies(where.articles, study, **options.given)
    for sentence in left_out(articles, where):
        say(sentence)
    for article in articles:
        inputs = read(article)
        say_read(article, inputs, say)
        planned = plans(article, where, inputs, ask=False)
        for plan in planned:
            if plan.state == "measure":
                what = f"would be measured: {'; '.join(plan.reasons)}"
            else:
                what = NOT_MEASURED[plan.state]
            typer.echo(clean(f"{article.name}, {plan.model}: {what}"))
        for sentence in failing_claims(article, where, planned):
            typer.echo(clean(sentence))


@app.command()
@with_options
def freeze(
    options: Options,
    apart: Apart,
    study: Only = None,
    force: Force = False,
    root: Root = None,
    ray: OnRay = None,
):
    """Measure what changed and copy the datasets into frozen/.

    Commit them, and a machine that cannot measure can publish them.
    """
    from report import pipeline
    from report.measuring import frozen

    where = project(root)
    with only_build(where, say), _measurer(ray) as measurer:
        request = _request(where, study, options, force)
        studies = pipeline.read(request)
        if apart.kind:
            studies = _parts(studies, apart.kind)
        all_datasets = pipeline.measure(studies, request, terminal, False, measurer)
        for article, datasets in zip(studies, all_datasets, strict=True):
            for folder in frozen.freeze(article.name, [model.folder for model in datasets], where):
                say(f"{article.name}: frozen in {as_typed(folder)}")


@app.command()
def new(
    name: Annotated[
        str, typer.Argument(help="Name of the article or folder, as in an address: my-study.")
    ],
    kind: Annotated[
        str, typer.Option(help=f"What the article is about: {', '.join(QUESTIONS)}.")
    ] = "passage",
    root: Root = None,
):
    """Write a new article that builds as it is, for you to change.

    Outside a publication, start one: a folder of that name with one article, settings, and a
    workflow for GitHub Pages. Nothing that exists is overwritten.
    """
    from report.pages.new import ARTICLE, new_article, new_publication

    where = project(root) if root else enclosing_project()
    path = new_article(name, kind, where) if where else new_publication(name, Path.cwd(), kind)
    if not where:
        say(f"{name}/ is a publication with one article, {ARTICLE}.")
        say(f"Build it with `cd {name}`, then `{PROGRAM} site`.")
        return
    say(
        f"{as_typed(path)} is yours: name the model and what it reads in its first lines, and "
        "write."
    )
    say(f"Build it with `{command('site', study=name)}`.")


@app.command()
def check(folder: SiteFolder = None):
    """Verify a built site: files, links, anchors, pictures, figures, datasets, no other host; and,
    of the project's own site, that its datasets bear out what its articles say."""
    from report.pipeline import claims_that_hold
    from report.site.check import check_site

    where = None if folder else nearest_project()
    folder = folder or where.site
    counts = check_site(folder)
    if where:
        counts |= claims_that_hold(where)
    listed = ", ".join(f"{number} {what}" for what, number in counts.items())
    say(f"{as_typed(folder)}: all right ({listed}).")


@app.command()
def compare(
    file: Annotated[
        Path,
        typer.Argument(
            help="HeadVis' scatter_data.json, or the CSV or JSON file of an atlas, of a model with "
            "as many layers and heads."
        ),
    ],
    model: Annotated[
        str | None,
        typer.Argument(help="Model whose atlas it is compared with.", show_default="the only one"),
    ] = None,
    study: Only = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="File to write, .html: a scatter plot for each measure, and the numbers."
        ),
    ] = None,
    root: Root = None,
):
    """Say how well a table of heads agrees with an atlas that was measured here, head by head."""
    from report.files import write_text
    from report.kinds.atlas import agreement
    from report.pipeline import atlas_of

    if output and output.suffix.lower() != ".html":
        raise UsageError(f"--output {as_typed(output)}: give a file that ends in .html.")
    data = atlas_of(project(root), model, study)
    measures = agreement.agreement(file, data)
    for each in measures:
        note = f" {each.differs}" if each.differs else ""
        typer.echo(clean(f"{each.words.title}: {each.sentence}{note} Differ most: {each.most}."))
    if output:
        write_text(output, agreement.page(measures, data, file))
        say(f"{as_typed(output)} shows all heads; open it in a browser.")


@app.command()
def bundle(
    article: Annotated[str, typer.Argument(help="Name of the article, as in its address.")],
    output: Annotated[
        Path | None,
        typer.Option(
            help="File to write, .html or .zip, or a folder for it.",
            show_default="ARTICLE.html, or ARTICLE.zip where that would be over 25 MB",
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--site", help="Folder of the built site.", show_default="site")
    ] = None,
    root: Root = None,
):
    """Write an article of the built site into one file, which opens by a double click.

    Its figures are live, and it asks no server for anything: hand it on by mail or on a stick.
    """
    from report.site.bundled.bundle import bundle

    made = bundle(folder or project(root).site, article, output)
    how = "unpack it, and open the page in it" if made.path.suffix == ".zip" else "open it"
    say(f"{article} is in {as_typed(made.path)} ({made.size / 1e6:.1f} MB); {how} in a browser.")


@app.command()
def publish(
    *,
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of the built site.", show_default="site")
    ] = None,
    remote: Annotated[
        str,
        typer.Option(
            help="Name of a git remote, its address, or a path. All users of this machine can read "
            "it; an address with a password goes into the variable REPORT_REMOTE instead.",
            default_factory=lambda: os.environ.get("REPORT_REMOTE", "origin"),
            show_default="origin",
        ),
    ],
    branch: Annotated[
        str, typer.Option(help="Branch that the pages are served from.")
    ] = "gh-pages",
    site_url: Annotated[
        str,
        typer.Option(envvar="SITE_URL", help="Refuse a site that was built for another address."),
    ] = "",
    domain: Annotated[str, typer.Option(help="Your own domain, for the file CNAME.")] = "",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Leave one commit on the branch, without history.")
    ] = False,
    root: Root = None,
):
    """Push a built site to a branch of a git remote, e.g. for GitHub Pages."""
    from report.site.push import push

    root = root or nearest_project().root
    done = push(
        folder or root / "site", root, remote, branch, site_url=site_url, domain=domain, fresh=fresh
    )
    state = "is now at" if done.changed else "has this site already, at"
    say(f"The branch {branch} of {done.remote} {state} {done.commit[:12]}.")


@app.command()
@with_options
def serve(
    options: Options,
    folder: SiteFolder = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 8000,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Build the site first, and again whenever the publication changes; open pages "
            "reload, and show mistakes.",
        ),
    ] = False,
    study: Only = None,
    root: Root = None,
):
    """Serve a built site on this machine, until Ctrl-C.

    Options that say what is built are for --watch, which measures what changed, as `site` does.
    """
    if watch:
        from report.watching.watch import watch as watch_project

        if folder:
            raise UsageError(
                f"--watch builds the site of a publication, and {as_typed(folder)} may be any "
                "folder; leave it out, and name the publication with --project."
            )
        watch_project(_request(project(root), study, options), port, terminal)
        return
    from report.site.serve import serve_folder

    if options.given or study:
        raise UsageError("serve shows a site as it is; to build it with these options, add --watch")
    folder = folder or project(root).site
    serve_folder(folder, port, announce=lambda url: say(f"Serving {url}; stop: Ctrl-C"))


@app.command()
def models(
    family: Annotated[
        str | None, typer.Option(help="Only this family, or this variant of one.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Instead, compare it with what transformers computes.")
    ] = False,
):
    """Show what is measured for every family of models, tried on tiny random models."""
    with measuring_packages():
        from report.families.overview import overview, parity

    for line in (parity if verify else overview)(family):
        typer.echo(line)


def _request(where, study, options, force=False):
    from report.pipeline import Request

    return Request(where, study, options.given, force, app)


def _parts(studies, kind):
    """The parts of a kind that articles have measured apart; UsageError if there are none."""
    parts = [part for article in studies for part in article.parts]
    parts = [part for part in parts if part.front_matter.kind == kind]
    if not parts:
        raise UsageError(f"--{kind}: no article here {APART[kind]}")
    return parts


@contextmanager
def _measurer(address):
    """The measurer on the Ray cluster at an address; None, for this process, without one."""
    if address is None:
        yield None
        return
    from report.measuring.cluster.driver import on_cluster

    with on_cluster(address) as measurer:
        yield measurer


@contextmanager
def measuring_packages():
    """Say what to install if torch or transformers is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ReportError(
            f"this command needs the package {error.name!r}; run `{setup()}`."
        ) from error


def _version(wanted: bool):
    if wanted:
        typer.echo(VERSION)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
):
    pass


def _require_here():
    """Check the folder that the command is run in; UsageError if it was removed."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        os.chdir(os.sep)  # what shows the error looks where it is
        raise UsageError(
            "the folder that this command is run in was removed; go to another one."
        ) from error


def main(commands: typer.Typer = app):
    """Run a command line. A `ReportError` becomes one sentence and an exit code of 1 or 2, and so
    does a full disk, even if it is output that finds no room."""
    # Imports make no garbage; looking for it seldom saves a sixth of their time.
    gc.set_threshold(10_000)
    with _errors_in_words():
        _require_here()
        try:
            commands()
        finally:
            project_option.clear()


@contextmanager
def _errors_in_words():
    """Exit with an error as a sentence on stderr."""
    try:
        yield
    except Exception as error:
        if os.environ.get(TRACEBACK):
            sys.stderr.write(clean("".join(traceback.format_exception(error))))
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            error = cannot_write(error.filename or "what is said, or a temporary file", error)
        sentence = in_words(error)
        say_error(sentence)
        sys.exit(sentence.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)


GUARDED = ("site", "render", "measure", "freeze", "why", "serve", "explore")
"""Commands that run authors' code."""


def program():
    """Run `main` as the whole process, in a child that is watched if it runs authors' code."""
    with _errors_in_words():
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # see `end_quietly`
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if sys.argv[1:] and sys.argv[1] not in GUARDED:
            main()
        sys.exit(guarded(main))


if __name__ == "__main__":
    program()
