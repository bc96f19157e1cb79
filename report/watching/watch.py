"""Looks at a publication again and again, and builds its site whenever a file of it changed."""

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from report import pipeline
from report.authored.boundary import in_words
from report.console import Terminal, clean, say_error
from report.site.serve import HERE, server
from report.watching import files
from report.watching.rebuild import Rebuilder
from report.watching.reload import ReloadingHandler, Told

PAUSE = 0.3
"""Seconds between two looks."""

REST = 0.1
"""Seconds in which no file changes, so that who writes is done: editors write a file twice."""

MOST_RESTS = 20
"""A file that is written without end does not put a build off for longer than so many."""

MOST_NAMES = 3
"""Of changed files, in a line on the terminal."""


class Quiet(Terminal):
    """Says what is measured, and nothing of what is not, after every save."""

    def say_measured(self, article: str, found) -> None:
        """What was measured, and why."""
        if found.ran:
            super().say_measured(article, found)


def watch(request: pipeline.Request, port: int, terminal: Terminal) -> None:
    """Build the site of a request, serve it on 127.0.0.1, and rebuild it until interrupted.

    raises: UsageError if the port is in use or not allowed, before anything is built
    """
    told = Told()
    with serving(request, port, told) as address:
        rebuilder = Rebuilder(request, terminal)
        seen = look(request)
        attempt(rebuilder, [], told, terminal)
        rebuilder.terminal = Quiet()
        terminal.say(f"Serving {address}, rebuilt when the publication changes; stop: Ctrl-C")
        for names in changes(request, seen):
            attempt(rebuilder, names, told, terminal)


@contextmanager
def serving(request: pipeline.Request, port: int, told: Told) -> Iterator[str]:
    """The site of a project, served by threads of their own meanwhile; yields its address."""
    handler = functools.partial(ReloadingHandler, told=told)
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
    """Names of files that changed, whenever some did; what changes until the next one is asked for
    comes then.

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
    """The files once none of them changed for a moment.

    now: the last look; again: looks again
    """
    for _ in range(MOST_RESTS):
        sleep(REST)
        before, now = now, again()
        if now == before:
            break
    return now


def attempt(rebuilder: Rebuilder, names: list[str], told: Told, terminal: Terminal) -> None:
    """Rebuild the site, and say how long it took or what is wrong.

    names: of the files that changed; none for the first build
    """
    begun = time.monotonic()
    try:
        builder = rebuilder.rebuild(names)
    except Exception as error:
        said = in_words(error)
        told.failed(clean(str(said)))
        say_error(said)
        return
    told.succeeded()
    how = f"in {time.monotonic() - begun:.1f} s, {builder:.1f} s of it by MkDocs"
    terminal.say(f"rebuilt {how} ({_listed(names)})" if names else f"built {how}")


def _listed(names):
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
