"""Gives the page of `explore` to a browser on this machine, and answers what is typed there.

It listens on 127.0.0.1, to its own page alone: the address has a key that no other page knows, and
hosts and origins are refused as in `site/serve.py`. One text is measured at a time; of a tab the
newest wins, and what is under way for it is dropped after the layer that it is at.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path

from report import files
from report.authored.endless import Bounded, limit
from report.authored.guard import TooLongError, busy
from report.errors import ReportError
from report.exploring.keep import keep
from report.exploring.page import (
    EFFECTS,
    LENS,
    LONGEST,
    SENTENCE,
    Answer,
    Explorer,
    Question,
    content_of,
)
from report.exploring.prepared import Prepared
from report.models.load.memory import is_lack_of_memory
from report.models.load.sentences import supported
from report.notebook.measurement import load, require_room_for
from report.pages.assets import LOCAL, write_assets
from report.pages.lists import HEADS
from report.project import enclosing_project
from report.site import serve
from report.text import told_apart

KEPT = 8
"""Answers that a page may still fetch of, the newest: those of several tabs, and of going back."""

MEMORY = 2**30
"""Bytes that all of these take by what was measured for them, at most, unless it is one."""

NUMBER = re.compile(r"\d{1,12}", re.ASCII)

BODY = 16 * LONGEST
"""Bytes of a question, at most: JSON may have six a character, and there are two texts."""


OPENING = {"text": SENTENCE, "first": True}
"""The question of a page that opens without any of its own."""

TABS = 32
"""Tabs whose newest question is known, those that sent one last."""


class DroppedError(ReportError):
    """Another text was typed meanwhile."""


class Desk:
    """Takes questions from all connections, and answers the newest."""

    def __init__(self, explorer: Explorer, others: Sequence[Explorer] = ()):
        """explorer: of the model that a page opens with; others: of the same project"""
        self.explorer, together = explorer, [explorer, *others]
        self.explorers = dict(
            zip(told_apart(each.name for each in together), together, strict=True)
        )
        self.number, self.measuring = 0, threading.Lock()
        self.newest: OrderedDict[str, int] = OrderedDict()
        """Name of a tab -> number of its newest question."""
        self.answers: OrderedDict[int, Answer] = OrderedDict()
        self.counting = threading.Lock()
        self.limit = limit()
        self.running = self._bounded()

    def answer(self, request: dict) -> dict:
        """What the page shows of a question; what is wrong is a sentence.

        request: of a page, so of any form
        """
        warnings: list[str] = []
        try:
            explorer, question = self._explorer(request), self._question(request)
            require = partial(self._require, str(request.get("tab")), question.number)
            while not self.measuring.acquire(timeout=0.05):
                require()
                self.running.require_end()
            try:
                require()
                self.running = self._bounded()
                with self.running, supported(explorer.name):
                    answer = explorer.answer(question, require, warnings.append)
            finally:
                self.measuring.release()
        except DroppedError:
            return {"dropped": True}
        except (ReportError, OSError, TooLongError) as error:
            return {"error": str(error)}
        except Exception as error:
            if not is_lack_of_memory(error):
                raise
            return {"error": "there is not enough memory for this text; shorten it."}
        self._add(answer)
        parts = {"html": answer.html, "files": answer.at_once, "warnings": warnings}
        parts["measures"] = explorer.titles
        return {"number": answer.number, **parts}

    def looking(self, request: dict) -> dict:
        """The heads that look from a token of an answer, as HTML; what is wrong is a sentence.

        request: of a page: `number` of an answer, `token`, and `target` or None
        """
        number, token, target = (request.get(name) for name in ("number", "token", "target"))
        places = [token, 0 if target is None else target]
        if not all(type(place) is int for place in [number, *places]):
            return {"error": "a token and its target are whole numbers from 0."}
        answer = self.answers.get(number)
        if answer is None:  # others have taken its place
            return {"dropped": True}
        try:
            with self._bounded():
                return {"html": answer.looking(token, target)}
        except (ReportError, OSError, TooLongError) as error:
            return {"error": str(error)}

    def keep(self, request: dict) -> dict:
        """Make an article of what a page shows; a sentence. request: as of `keep.keep`"""
        try:
            while not self.measuring.acquire(timeout=0.05):  # so that no two take the same name
                self.running.require_end()
            try:
                self.running = self._bounded()
                with self.running:
                    return {"done": keep(self._explorer(request), request)}
            finally:
                self.measuring.release()
        except (ReportError, OSError, TooLongError) as error:
            return {"error": str(error)}

    def file(self, number: int, address: str) -> bytes | None:
        """A file of an answer; None if there is none."""
        answer = self.answers.get(number)
        make = answer and answer.files.get(address)
        if not make:
            return None
        with self._bounded():
            return content_of(make())

    def page(self) -> bytes:
        """The page, before anything is measured."""
        with self._bounded():
            return self.explorer.page(self.explorers).encode()

    def _bounded(self):
        return Bounded(self.explorer.own_folders, self.limit)

    def _add(self, answer):
        """Let older answers go where there are too many."""
        with self.counting:
            self.answers[answer.number] = answer
            if len(self.answers) > KEPT:
                self.answers.popitem(last=False)
            while len(self.answers) > 1 and self._size() > MEMORY:
                self.answers.popitem(last=False)

    def _size(self):
        views = [each for answer in self.answers.values() for each in answer.read]
        return sum({each.origin: each.size for each in views}.values())  # some share these

    def _explorer(self, request):
        name = request.get("model", self.explorer.name)
        if not isinstance(name, str) or name not in self.explorers:
            there = ", ".join(self.explorers)
            raise ReportError(f"no model {str(name)[:80]!r} is loaded; there is {there}.")
        return self.explorers[name]

    def _question(self, request):
        with self.counting:
            tab, same = str(request.get("tab")), request.get("number")
            if same is None:
                number = self.number = self.number + 1
            else:  # the rest of a question, whose first part is there
                number = self.newest.get(tab)
                if same != number:
                    raise DroppedError("another text was typed meanwhile")
            self.newest[tab] = number
            self.newest.move_to_end(tab)
            while len(self.newest) > TABS:
                self.newest.popitem(last=False)
        words = {name: request.get(name, "") for name in ("text", "other")}
        measure = request.get("measure", "first_token")
        places = {name: request.get(name, 0) for name in ("layer", "head")}
        token, predict = request.get("token"), request.get("predict", "")
        whole = [*places.values(), *([] if token is None else [token])]
        if not all(isinstance(each, str) for each in (*words.values(), measure)):
            raise ReportError("a question has texts, and the name of a measure.")
        if any(type(value) is not int or value < 0 for value in whole):
            raise ReportError("layer, head and token are whole numbers from 0.")
        if predict not in ("", EFFECTS, LENS):
            raise ReportError(f"predict is empty, or {EFFECTS!r} or {LENS!r}.")
        patch = request.get("patch")
        if patch is not None and not _is_two(patch):
            raise ReportError("patch is the ids of two tokens.")
        patch = patch and tuple(patch)
        chosen = {"measure": measure, "token": token, "predict": predict, "patch": patch}
        return Question(number, **words, **places, **chosen, first=request.get("first") is True)

    def _require(self, tab, number, *_):
        if self.newest.get(tab) != number:
            raise DroppedError("another text was typed meanwhile")


def _is_two(value):
    whole = isinstance(value, list) and all(type(each) is int and each >= 0 for each in value)
    return whole and len(value) == 2


class Handler(serve.Handler):
    """The page, its scripts, answers, and the files of answers."""

    desk: Desk
    key: str

    def do_HEAD(self):  # noqa: N802
        self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)

    def do_GET(self):  # noqa: N802
        rest = self.below()
        if rest is None:
            return self.send_error(HTTPStatus.NOT_FOUND)
        if rest == "articles/explore/":
            return self.made(self.desk.page, "text/html; charset=utf-8")
        if rest == HEADS:  # no atlas is measured here
            return self.made(lambda: b'{"atlases": [], "articles": {}}', "application/json")
        folder, _, below = rest.partition("/")
        name = below.partition("/")[0]
        if folder in ("datasets", "figures") and name.startswith("text-"):
            number = name.removeprefix("text-")
            number = int(number) if NUMBER.fullmatch(number) else 0
            return self.made(partial(self.desk.file, number, rest), "application/json")
        self.path = f"/{rest.lstrip('/')}"  # two would begin another host's name
        if Path(self.translate_path(self.path)).is_dir():  # its address would lack the key
            return self.send_error(HTTPStatus.NOT_FOUND)
        return super().do_GET()

    def do_POST(self):  # noqa: N802
        length = self.headers.get("Content-Length", "")
        desk = self.desk
        answers = {"ask": desk.answer, "looking": desk.looking, "keep": desk.keep}
        answers = answers.get(self.below())
        if answers is None or not NUMBER.fullmatch(length):
            self.close_connection = True
            return self.send_error(HTTPStatus.BAD_REQUEST)
        if int(length) > BODY:
            return self.refuse_long(int(length))
        body = self.rfile.read(int(length))
        if len(body) < int(length):  # who sent it is gone
            self.close_connection = True
            return None
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            return self.say({"error": "a question is an object in JSON."})
        return self.say(answers(request))

    def refuse_long(self, rest):
        """Say that a question is too long, and let go of it: a browser reads no answer before it
        has sent all."""
        self.close_connection = True
        self.say({"error": f"at most {LONGEST:,} characters of a text are measured; shorten it."})
        while rest > 0 and (piece := self.rfile.read(min(rest, serve.PIECE))):
            rest -= len(piece)

    def say(self, answer):
        self.send(json.dumps(answer).encode(), "application/json")

    def below(self):
        """What follows the key in the address; None where the key is wrong."""
        _, key, rest = [*self.path.partition("?")[0].split("/", 2), "", ""][:3]
        return rest if hmac.compare_digest(key.encode(), self.key.encode()) else None

    def made(self, make, kind):
        """What is made when it is asked for; None: there is no such thing."""
        try:
            content = make()
        except (ReportError, TooLongError) as error:
            return self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, explain=str(error))
        if content is None:
            return self.send_error(HTTPStatus.NOT_FOUND)
        return self.send(content, kind, Cache_Control="no-store")


def explore(
    models: Sequence[str],
    options: dict,
    chat: bool,
    port: int,
    announce: Callable[[str], None],
    page: Prepared,
) -> None:
    """Load models, and serve their page until interrupted.

    models, options: of `load`; chat: whether texts are put into a model's chat template
    announce: called with the address once the server listens
    page: what needs no model
    raises: ReportError if a model cannot be loaded, or they have no room in memory;
        UsageError if the port is in use or not allowed
    """
    project = enclosing_project()
    if len(models) > 1:
        require_room_for(models, options)
    explorer, *others = [
        Explorer(load(name, **options), project, chat, page.vega) for name in models
    ]
    with page_of(explorer, port, others, page) as (serving, address):
        announce(address)
        # What the page opens with is answered while a reader opens it: the first time, the model is
        # checked, and libraries are loaded.
        for work in (serving.serve_forever, partial(serving.desk.answer, OPENING)):
            threading.Thread(target=work, daemon=True).start()
        while True:  # else a library lets no thread work, and `busy` has the program ended
            with busy(str(explorer.root)):
                time.sleep(1)


@contextmanager
def page_of(
    explorer: Explorer,
    port: int,
    others: Sequence[Explorer] = (),
    page: Prepared | None = None,
) -> Iterator[tuple[serve.Server, str]]:
    """A server that listens, and the address of its page; port: 0 for any that is free.

    explorer, others: as of `Desk`; page: None: its files are made now
    """
    key = secrets.token_urlsafe(18)
    with ExitStack() as stack:
        if page is None:
            folder = stack.enter_context(files.own_folder("explore"))
            write_assets(folder, LOCAL)
        else:
            folder = page.folder
            page.wait()
        desk = Desk(explorer, others)
        handler = type("Own", (Handler,), {"desk": desk, "key": key})
        with serve.server(folder, port, handler) as serving:
            serving.desk, port = desk, serving.server_address[1]
            yield serving, f"http://{serve.HERE}:{port}/{key}/articles/explore/"
