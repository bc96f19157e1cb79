"""Watches a publication, and builds its site whenever a file of it changed.

Only what a change touches is rendered anew. The server of a watched site adds a script to its
pages, at the address `SCRIPT`, which asks `STATE` again and again for the newest build and for what
stops the next one. The site on the disk has no trace of either. The script asks, since a connection
that stays open would be one of the six that a browser allows all its tabs.
"""

import functools
import json
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from report import pipeline
from report.authored import guard
from report.authored.boundary import in_words
from report.console import Terminal, clean, say_error
from report.errors import ReportError
from report.files import meant, read_bytes
from report.measuring.alone import load_source, measure_with
from report.measuring.key import key_of
from report.pages.page import Page
from report.pages.stamps import Drawn
from report.project import Project, only_build
from report.site.address import read_site
from report.site.build import build, require_settings
from report.site.serve import HERE, Handler, server
from report.study.study import ENDING, study_names
from report.watching import files

SCRIPT = "/.reload.js"
STATE = "/.reload"

SOURCE = Path(__file__).with_name("reload.js")
"""The script that `SCRIPT` answers with."""

NO_SITE = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>No such page</title>
<body><p>There is no such page, or no site yet.</p></body></html>"""


class BuildState:
    """The newest build, which open pages should be of, and what stops the next one.

    error: a sentence; "" where nothing does
    """

    def __init__(self) -> None:
        self.run, self.builds = secrets.token_hex(4), 0
        self.error = ""

    @property
    def built(self) -> str:
        """The name of the newest build, also among those of other servers at this address."""
        return f"{self.run}-{self.builds}"

    def succeeded(self) -> None:
        """Note that the site was built: pages of earlier builds will reload."""
        self.error = ""
        self.builds += 1

    def failed(self, why: str) -> None:
        """Note why it could not be built: pages will say so."""
        self.error = why


def with_script(page: bytes, built: str) -> bytes:
    """The HTML of a page, with the script at its end; built: `BuildState.built` of the page."""
    script = f'<script src="{SCRIPT}?built={built}"></script>'.encode()
    before, end, after = page.rpartition(b"</body>")
    return before + script + end + after if end else page + script


class ReloadingHandler(Handler):
    """Adds the script to pages, and answers its addresses. A browser may store nothing."""

    def __init__(self, *arguments, state: BuildState, **options):
        self.state = state  # first, because a handler answers while it is made
        super().__init__(*arguments, **options)

    def end_headers(self):
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def answer(self):
        """Send a file of the site, a page with the script; or answer the script's addresses."""
        address = self.path.partition("?")[0]
        if address == SCRIPT:
            return self.send(SOURCE.read_bytes(), "text/javascript; charset=utf-8")
        if address == STATE:
            state = {"built": self.state.built, "error": self.state.error}
            return self.send(json.dumps(state).encode(), "application/json; charset=utf-8")
        path, built = self.file(), self.state.built  # before the page is read: never a later build
        if path is None or path.suffix != ".html" or not path.is_file():
            return super().answer()
        return self.send(with_script(path.read_bytes(), built), "text/html; charset=utf-8")

    def missing(self) -> bytes:
        """The page for a missing file, with the script: the next build may have the file."""
        built = self.state.built
        return with_script(super().missing() or NO_SITE, built)


Articles = frozenset[str] | None
"""Names of articles; None: all there are, and those that may be new."""

NONE: Articles = frozenset()
"""No article, unlike None."""

ARTICLES = ("templates", "articles")
THEME = ("templates", "theme")


def union(first: Articles, others: Articles) -> Articles:
    """The articles of one set or the other; None if either is None."""
    return None if first is None or others is None else first | others


def touched(changed: Iterable[str], project: Project, known: Collection[str]) -> Articles:
    """The articles that have to be rendered because files changed.

    changed: names of files, from the root of the project, as of `files.changed`
    known: names of the articles that were rendered
    """
    articles = NONE
    for name in changed:
        articles = union(articles, _touched(PurePosixPath(name).parts, project, known))
    return articles


def _touched(parts, project, known):
    """The articles of one changed file; parts: of its path from the root of the project."""
    if parts[0] == "site_src" or parts[:2] == THEME:
        return NONE  # no article shows it; pages around them are written every time
    if parts[:2] != ARTICLES:
        return None
    article = parts[2].removesuffix(ENDING)  # its template, or the folder of its parts
    template = project.articles / f"{article}{ENDING}"
    if article in known and template.is_file() and not _is_shared(article, project):
        return frozenset({article})
    return None


def _is_shared(article, project):
    """Whether another article's template includes this one or a part of it, by its text."""
    places = project.articles / f"{article}{ENDING}", project.articles / article
    others = (
        path
        for path in meant(project.articles.rglob("*.j2"))
        if path != places[0] and not path.is_relative_to(places[1])
    )
    words = f"{article}/".encode(), f"{article}{ENDING}".encode()
    try:
        return any(word in text for text in map(read_bytes, others) for word in words)
    except OSError:  # one is gone just now
        return True


def affects_drawing(name: str) -> bool:
    """Whether a changed file may change figures without being one: those may read what lies beside
    them in `figures/`.

    name: of the file, from the root of the project
    """
    path = PurePosixPath(name)
    return path.parts[0] == "figures" and (path.suffix != ".py" or path.name.startswith("_"))


class OutOfDateError(BaseException):
    """What is measured is no longer what the publication asks for. No `except Exception` takes it
    for a failure of the model."""


class Looking(Terminal):
    """As another terminal, but calls a function at every step of progress."""

    def __init__(self, terminal: Terminal, look: Callable[[], object]):
        self.look, self.say, self.say_measured = look, terminal.say, terminal.say_measured
        self.terminal = terminal

    @contextmanager
    def bars(self):
        """Progress, as of the other terminal."""
        with self.terminal.bars() as show:

            def step(*progress):
                self.look()
                show(*progress)

            yield step


class Rebuilder:
    """Builds the site of a request, and keeps its articles and figures for the next build."""

    def __init__(self, request: pipeline.Request, terminal: Terminal):
        self.request, self.terminal = request, terminal
        self.drawn: dict[str, Drawn] = defaultdict(Drawn)
        self.rendered: dict[str, tuple[Page, object]] = {}
        """Name of an article -> its page, and the data that it shows."""
        self.waiting: Articles = None
        """The articles to render in the next build."""
        self.model: tuple[object, object] = None, None
        """What the model is that stays loaded, and that model."""
        self.seen: files.Seen = {}
        """The publication as it was looked at last."""

    def rebuild(self, changed: Collection[str] = ()) -> float:
        """Measure and render the articles that changed files touch, and build the site.

        Articles of a build that failed are rendered again.

        changed: names of files, as of `touched`
        returns: seconds of the last step, in which MkDocs turns pages into the site
        raises: ReportError as `pipeline.make_site`, and as `guard.again`: an own figure may have
            ended the process that built this before; OutOfDateError as `_measured`
        """
        project = self.request.project
        self.waiting = union(self.waiting, touched(changed, project, self.rendered.keys()))
        self.seen = look(self.request)
        guard.again(frozenset(self.seen.items()))
        if any(map(affects_drawing, changed)):
            self.drawn.clear()
        with only_build(project, self.terminal.say):
            left_out = self._render()
            begun = time.monotonic()
            build(project.config, project.site, left_out)
        self.waiting = NONE
        return time.monotonic() - begun

    def _render(self):
        """Render the articles that wait, and write the pages around them.

        returns: names of the project's articles that the request leaves out
        """
        project, names = self.request.project, self.waiting
        pipeline.require_own(self.request)
        about = read_site(project.config)
        rendered = {} if names is None else dict(self.rendered)
        if names is None:
            require_settings(project.config)
            pipeline.say_uncited(project, self.terminal)
        parts = [replace(self.request, article=name) for name in sorted(names or ())]
        for part in [self.request] if names is None else parts:
            studies = pipeline.read(part)
            datasets = self._measured(studies, part)
            pipeline.say_stand_ins(studies, datasets, self.terminal)
            pages, opened = pipeline.draw(
                studies, datasets, project, about, self.terminal, self.drawn
            )
            pairs = zip(pages, opened, strict=True)
            rendered |= {page.name: (page, data) for page, data in pairs}
        self.rendered = rendered
        for name in self.drawn.keys() - rendered.keys():
            del self.drawn[name]
        newest = sorted(sorted(rendered), key=lambda name: rendered[name][0].date, reverse=True)
        pages, opened = map(list, zip(*(rendered[name] for name in newest), strict=True))
        pipeline.write(pages, opened, self.request, about)
        return [name for name in study_names(project.articles) if name not in rendered]

    def _measured(self, studies, part):
        """The datasets of articles; part: the request for them.

        raises: OutOfDateError once a change of files asks for others than those that are measured,
            after the layer or text that a model is at
        """
        keys, looked = set(), time.monotonic()

        def measurer(tasks, progress, announce):
            keys.clear()
            keys.update(key_of(task.parts) for task in tasks.values())
            for number, task in tasks.items():
                loaded = self._loaded(task, announce)
                yield number, *measure_with(loaded, task, progress, announce)
                self.model = _model_of(task), loaded

        def require():
            nonlocal looked
            if not keys or time.monotonic() - looked < PAUSE:
                return
            now = look(self.request)
            if now != self.seen:
                self.seen = rested(now, functools.partial(look, self.request))
                with suppress(ReportError):  # half an edit: it is known when it is mended
                    if not keys <= pipeline.keys(part):
                        raise OutOfDateError
            looked = time.monotonic()

        terminal = Looking(self.terminal, require)
        return pipeline.measure(studies, part, terminal, measurer=measurer)

    def _loaded(self, task, announce):
        """The model of a task. The last one that measured to the end stays loaded: who writes
        changes a text more often than its model."""
        (of, loaded), self.model = self.model, (None, None)
        if of == _model_of(task):
            return loaded
        del loaded  # never two in memory
        return load_source(task.source, task.options, announce)


def _model_of(task):
    return task.source, task.options, task.parts.get("model")


PAUSE = 0.3
"""Seconds between two looks."""

REST = 0.1
"""Seconds in which no file changes, so that who writes is done: editors write a file twice."""

MOST_RESTS = 20
"""Rests that a build waits for at most: files may change without end."""

MOST_NAMES = 3
"""Of changed files, in a line on the terminal."""


class Quiet(Terminal):
    """Says after a save what was measured, and nothing of datasets that are as before."""

    def say_measured(self, article: str, datasets) -> None:
        """What was measured, and why."""
        if datasets.ran:
            super().say_measured(article, datasets)


def watch(request: pipeline.Request, port: int, terminal: Terminal) -> None:
    """Build the site of a request, serve it on 127.0.0.1, and rebuild it until interrupted.

    raises: UsageError if the port is in use or not allowed, before anything is built
    """
    state = BuildState()
    with serving(request, port, state) as address:
        rebuilder = Rebuilder(request, terminal)
        seen = look(request)
        attempt(rebuilder, [], state, terminal)
        rebuilder.terminal = Quiet()
        terminal.say(f"Serving {address}, rebuilt when the publication changes; stop: Ctrl-C")
        for names in changes(request, seen):
            attempt(rebuilder, names, state, terminal)


@contextmanager
def serving(request: pipeline.Request, port: int, state: BuildState) -> Iterator[str]:
    """Within the context, the site of a project is served on 127.0.0.1.

    yields: its address
    raises: UsageError if the port is in use or not allowed
    """
    handler = functools.partial(ReloadingHandler, state=state)
    with server(request.project.site, port, handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        try:
            yield f"http://{HERE}:{served.server_port}/"
        finally:
            served.shutdown()


def look(request: pipeline.Request) -> files.Seen:
    """All files that the publication is written in, those that front matter names too."""
    return files.look(request.project, files.named(request.project))


def changes(
    request: pipeline.Request, seen: files.Seen, sleep: Callable[[float], object] = time.sleep
) -> Iterator[list[str]]:
    """Names of changed files, a list each time some changed, without end.

    What changes while the caller builds is in the next list.
    seen: the first look, before the first build
    """
    while True:
        now = look(request)
        if now != seen:
            now = rested(now, functools.partial(look, request), sleep)
        names, seen = files.changed(seen, now), now
        if names:
            yield names
        else:
            sleep(PAUSE)


def rested(
    now: files.Seen, again: Callable[[], files.Seen], sleep: Callable[[float], object] = time.sleep
) -> files.Seen:
    """A look at the files once none of them changed for `REST`, or after `MOST_RESTS`.

    now: the last look; again: function that looks again
    """
    for _ in range(MOST_RESTS):
        sleep(REST)
        before, now = now, again()
        if now == before:
            break
    return now


def attempt(rebuilder: Rebuilder, names: list[str], state: BuildState, terminal: Terminal) -> None:
    """Rebuild the site, and say how long it took or what is wrong.

    names: of the files that changed; none for the first build
    """
    begun = time.monotonic()
    try:
        builder = rebuilder.rebuild(names)
    except OutOfDateError:
        terminal.say("What was being measured is out of date, and dropped.")
        return
    except Exception as error:
        sentence = in_words(error)
        state.failed(clean(str(sentence)))
        say_error(sentence)
        return
    state.succeeded()
    how = f"in {time.monotonic() - begun:.1f} s, {builder:.1f} s of it by MkDocs"
    terminal.say(f"rebuilt {how} ({_listed(names)})" if names else f"built {how}")


def _listed(names):
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
