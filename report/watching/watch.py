"""Watches a publication, and builds its site whenever a file of it changed.

Only what a change touches is rendered anew. Where an article is to be measured or drawn anew, its
page is shown before that, as a draft (`draft.py`) that says what it lacks. The next change drops
what is under way for it.
"""

import functools
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import PurePosixPath

from report import pipeline
from report.authored import guard
from report.authored.boundary import in_words
from report.authored.guard import StepError
from report.authored.later import LaterError
from report.console import Terminal, clean, say_error
from report.datasets.read.study import open_study
from report.errors import ReportError
from report.files import meant, read_bytes
from report.measuring import run as measuring
from report.measuring.alone import Models, alone
from report.measuring.key import key_of
from report.measuring.plan import plans
from report.pages.page import Page
from report.pages.stamps import Drawn
from report.project import Project, only_build
from report.site.address import read_site
from report.site.build import build, require_settings
from report.study.study import ENDING, study_names
from report.watching import files
from report.watching.draft import Drafts
from report.watching.server import BuildState, serving

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


class OutOfDateError(StepError):
    """What is measured is no longer what the publication asks for."""


class ChangedError(OutOfDateError):
    """Something changed while the rest of a draft was drawn."""


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

    def __init__(
        self, request: pipeline.Request, terminal: Terminal, state: BuildState | None = None
    ):
        """state: of pages that are open, which are shown drafts; None: there are none"""
        self.request, self.terminal, self.state = request, terminal, state or BuildState()
        self.drafts = Drafts(request.project) if state else None
        self.so_far: dict[str, dict[str, object]] = {}
        """Name of an article -> key -> a `PassageSoFar`, as measured for its last draft."""
        self.drawn: dict[str, Drawn] = defaultdict(lambda: Drawn(self._require_same))
        self.rendered: dict[str, tuple[Page, object]] = {}
        """Name of an article -> its page, and the data that it shows."""
        self.waiting: Articles = None
        """The articles to render in the next build."""
        self.models = Models()
        """What each model is that stays loaded, and that model; the one used last is the last."""
        self.seen: files.Seen = {}
        """The publication as it was looked at last."""
        self.begun: files.Seen = {}
        """The same as the build that is under way began."""
        self.looked = 0.0

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
        self.seen = self.begun = look(self.request)
        guard.again(frozenset(self.seen.items()))
        if any(map(affects_drawing, changed)):
            self.drawn.clear()
        with only_build(project, self.terminal.say):
            left_out = self._render()
            begun = time.monotonic()
            build(project.config, project.site, left_out, look=self._require_same)
        self.waiting = NONE
        self.so_far.clear()
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
            self._show_so_far(studies, part)
            datasets = self._measured(studies, part)
            pipeline.say_stand_ins(studies, datasets, self.terminal)
            self._show_measured(studies, datasets)
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
        keys = set()

        def measurer(tasks, progress, announce):
            keys.clear()
            keys.update(key_of(task.parts) for task in tasks.values())
            return alone(tasks, progress, announce, self.models)

        def show_words():
            self._show_so_far(pipeline.read(part), part, measure=False)

        terminal = Looking(self.terminal, self._requirer(keys, part, show_words))
        return pipeline.measure(studies, part, terminal, measurer=measurer)

    def _requirer(self, keys, part, otherwise=lambda: None):
        """A function that raises an OutOfDateError once the publication asks for datasets of other
        keys, looking seldom.

        part: the request for them; otherwise: called where something else changed
        """
        looked = time.monotonic()

        def require(*_):
            nonlocal looked
            if not keys or time.monotonic() - looked < PAUSE:
                return
            now = look(self.request)
            if now != self.seen:
                self.seen = rested(now, functools.partial(look, self.request))
                with suppress(ReportError):  # half an edit: it is known when it is mended
                    if not keys <= pipeline.keys(part):
                        raise OutOfDateError
                    otherwise()
            looked = time.monotonic()

        return require

    def _show_so_far(self, studies, part, measure=True):
        """Show articles about a passage of which there are no datasets yet, before all that takes
        longer than to measure the passage alone.

        measure: whether it may be measured; else what was measured for the last draft is shown
        """
        for study in studies if self._can_show() else ():
            with self._trying():
                data = self._passage(study, part, measure)
                if data is not None:
                    draft = self.drafts.of(study, data, lambda data=data: [*data.lacks, NO_FILES])
                    self._show(draft, wait=measure)

    def _passage(self, study, part, measure):
        """The passage of an article, measured for its last draft, or now if `measure`, of those of
        its models that have no datasets; None if all have some, or they are of more than a
        passage."""
        front = study.front_matter
        if front.kind != "passage":
            return None
        inputs = measuring.read(study)
        chosen = plans(study, part.project, inputs, part.force)
        if any(plan.folder is None for plan in chosen):
            return None
        missing = {plan.folder.name: plan for plan in chosen if plan.state == "measure"}
        there = [plan.folder / "manifest.json" for plan in chosen if plan.state != "measure"]
        if not missing or not all(path.is_file() for path in there):
            return None
        before = self.so_far.get(study.name, {})
        if not measure and not missing.keys() <= before.keys():
            return None
        new = {
            key: before.get(key) or self._measured_so_far(plan, study, inputs, part, set(missing))
            for key, plan in missing.items()
        }
        self.so_far[study.name] = new
        read = [new.get(plan.folder.name) or self._as_files(plan, front) for plan in chosen]
        from report.watching.so_far import ModelsSoFar  # which needs what measures

        labels = front.labels if any(front.labels) else ()
        return read[0] if len(read) == 1 else ModelsSoFar(read, labels)

    def _measured_so_far(self, plan, study, inputs, part, keys):
        """The passage of a model, measured now; keys: of all that is measured of the article."""
        from report.watching import so_far  # which needs what measures

        task = measuring.task_of(plan, study, inputs, part.project)
        corpus = so_far.corpus_of(part.project, plan.parts)
        about = task, plan.folder.name, corpus, self.terminal.say, self._requirer(keys, part)
        with self.models.of(task, self.terminal.say) as loaded:
            return so_far.measured(loaded, *about)

    def _as_files(self, plan, front):
        """The datasets of a model that are there."""
        return open_study([plan.folder], noun=front.noun, measures=front.measures or ())

    def _show_measured(self, studies, datasets):
        """Show articles that were measured, or whose drawing was dropped, before it is done."""
        for study, models in zip(studies, datasets, strict=True) if self._can_show() else ():
            if study.name in self.state.drafts or any(model.ran for model in models):
                cache = self.drawn[study.name]
                data = pipeline.opened(study, models, self.request.project, cache)
                with self._trying():
                    self._show(self.drafts.of(study, data, lambda: [NO_FILES], cache))

    def _can_show(self):
        """Whether pages are shown drafts: not before the first build, which they look like."""
        return self.drafts is not None and self.rendered

    @contextmanager
    def _trying(self):
        """Meanwhile, what is wrong with a draft is shown; what is made of all numbers decides."""
        try:
            yield
        except LaterError:  # of all that a page has, so there is nothing to show
            return
        except Exception as error:
            sentence = in_words(error)
            self.terminal.say(f"Not to be shown before it is built: {sentence}")
            self.state.failed(clean(str(sentence)))

    def _show(self, draft, wait=True):
        """Show a draft; wait: leave the machine to a browser that has its page open, for a moment,
        and stop if something changed meanwhile."""
        if not wait:
            return self.state.show(draft)
        self._require_same()
        self.state.show(draft)
        begun, path = time.monotonic(), f"/articles/{draft.article}/"
        while time.monotonic() - begun < MOST_PATIENCE:
            if begun - self.state.opened.get(path, 0) > OPEN:
                return
            since = time.monotonic() - max(begun, self.state.fetched)
            if since > (QUIET if self.state.fetched > begun else OPEN):
                return
            self._require_same()
            time.sleep(0.05)

    def _require_same(self):
        """raises: ChangedError if something changed since the build began, and a draft is shown,
        as the next one is then made at once"""
        if not self.state.drafts or time.monotonic() - self.looked < PAUSE:
            return
        self.looked = time.monotonic()
        if look(self.request) != self.begun:
            raise ChangedError


PAUSE = 0.2
"""Seconds between two looks."""

OPEN = 1.5
"""Seconds within which a page that is open asks for the newest build."""

QUIET = 0.4
"""Seconds in which a page of a draft asks for nothing, so that what is seen of it is drawn."""

NO_FILES = "still pictures, sentences of other states of figures, and how it was measured"
"""What every draft lacks."""

MOST_PATIENCE = 5
"""Seconds that are left to a browser at most."""

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
        rebuilder = Rebuilder(request, terminal, state)
        seen = look(request)
        attempt(rebuilder, [], state, terminal)
        rebuilder.terminal = Quiet()
        terminal.say(f"Serving {address}, rebuilt when the publication changes; stop: Ctrl-C")
        for names in changes(request, seen):
            attempt(rebuilder, names, state, terminal)


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
    except ChangedError:
        return
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
