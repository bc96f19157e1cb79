"""Ends what an author wrote in a thread that serves a page, where `guard` does not see it.

A call is looked at from another thread. Python ends it at its next line; what waits within a
library is named, so that others need not wait without a word.
"""

import ctypes
import os
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from report.authored import guard
from report.errors import ReportError
from report.text import lasting

USUAL = 20
"""Seconds that a call may run while somebody waits for it, unless `guard.LIMIT` says others."""

LOOK = 0.1
"""Seconds between two looks."""


def limit() -> int:
    """Seconds that a call of an author's code may run, 0 for no limit; UsageError as `guard`."""
    return guard.limit() if os.environ.get(guard.LIMIT) else USUAL


class Bounded:
    """A block in which a call of an author's function or template that runs too long is ended.

    What it raises within the call is `guard.TooLongError`, with a sentence.
    """

    def __init__(self, folders: Iterable[Path], seconds: float):
        """folders: what lies in them is an author's; seconds: 0 for no limit"""
        self.starts = tuple(f"{folder}{os.sep}" for folder in folders)
        self.seconds, self.over, self.ending = seconds, threading.Event(), threading.Lock()
        self.stuck = ""
        """File and line of a call that goes on although it was ended, "" if there is none."""

    def __enter__(self) -> "Bounded":
        self.thread = threading.get_ident()
        if self.seconds:
            threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_):
        with self.ending:
            self.over.set()
            _raise(self.thread, None)
        self.stuck = ""

    def require_end(self) -> None:
        """Stop for a call that does not end, which others wait for; ReportError naming it."""
        if self.stuck:
            raise ReportError(
                f"{self.stuck}: runs without an end, and all else waits for it; mend it, end this "
                "program by Ctrl-C, and start it again."
            )

    def _watch(self):
        call, until = None, 0.0
        while not self.over.wait(LOOK):
            now = self._call()
            if now is not call:
                call, until, self.stuck, tried = now, time.monotonic() + self.seconds, "", False
            elif call is not None and time.monotonic() > until:
                place = f"{call.f_code.co_filename}, line {call.f_lineno}" if tried else ""
                with self.ending:
                    if self.over.is_set():
                        return
                    self.stuck = place
                    _raise(self.thread, self._error())
                until, tried = time.monotonic() + guard.AGAIN, True

    def _call(self):
        """The frame of the author's code that is at work, the outermost; None if there is none."""
        frame, outermost = sys._current_frames().get(self.thread), None
        while frame is not None:
            if frame.f_code.co_filename.startswith(self.starts):
                outermost = frame
            frame = frame.f_back
        return outermost

    def _error(self):
        """A class of errors, of which Python makes one, without arguments, in the other thread."""
        sentence = (
            f"it ran for {lasting(self.seconds)} without an end; mend it, or give {guard.LIMIT} "
            "more seconds."
        )
        make = {"__init__": lambda self: guard.TooLongError.__init__(self, sentence)}
        return type("EndlessError", (guard.TooLongError,), make)


def _raise(thread, error):
    """Have an error raised in a thread at its next line; None: no more."""
    error = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)
