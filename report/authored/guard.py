"""Watches what authors write from a process of its own, as it may end or stop the whole program.

The command runs in a child. The parent waits, and says what became of it: Python code can end a
process without an error (`os._exit`), a library can crash, and some work has no end. A child that
goes on for hours (`serve --watch`) is started again. Nothing is watched within a notebook.
"""

import faulthandler
import mmap
import os
import re
import resource
import signal
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from report.errors import ReportError, UsageError
from report.text import lasting

LIMIT = "REPORT_TIME_LIMIT"
"""Variable of the environment: seconds that a template or a function of a figure may run; 0 for no
limit, and no process that watches."""

USUAL = 600
"""Seconds; whatever ships takes a few on a slow laptop."""

AGAIN = 2
"""Seconds until code that goes on is stopped once more."""

SIZE = 1 << 14
HEAD = struct.Struct("?dqH")
"""What both processes see: whether the program ended by itself; since when an author's file is at
work, 0 for none; the state to start again from, 0 for none; and the bytes of the file's name, which
follows."""

OWN = ("measures", "figures")
"""Folders of a publication with code of its author's."""

FRAME = re.compile(r'File "(.+?)", line (\d+)')


class TooLongError(BaseException):
    """What an author wrote ran too long. No `except Exception` of theirs takes it."""


class StepError(BaseException):
    """Ends a piece of work that is not wanted any more, or not yet: it is nobody's mistake, so no
    file of an author's is blamed for it, and no `except Exception` takes it for one."""


class InterruptedHereError(KeyboardInterrupt):
    """The user stops the program, and not the author's code."""


class _Child:
    """The watched process: what it shares with the one that watches."""

    def __init__(self, shared, crash, alive, limit):
        self.shared, self.crash, self.limit = shared, crash, limit
        self.work, self.state, self.stopped, self.terminal = [], 0, 0.0, os.dup(2)
        sys.stderr = os.fdopen(self.terminal, "w", buffering=1, errors="backslashreplace")
        faulthandler.enable(crash)  # of all threads: explore runs measures beside the main one
        faulthandler.register(signal.SIGTRAP, crash, all_threads=False, chain=True)
        self.leave = os._exit

        def noted(status):
            faulthandler.dump_traceback(crash, all_threads=False)
            self.leave(status)

        def follow():  # the parent to its end
            os.read(alive, 1)
            os.kill(os.getpid(), signal.SIGKILL)

        os._exit = noted
        threading.Thread(target=follow, daemon=True).start()
        signal.signal(signal.SIGALRM, self.too_long)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self.interrupted)

    def interrupted(self, *_):
        before, self.stopped = self.stopped, time.monotonic()
        if self.stopped - before > 0.5:  # a terminal and the parent may both say so
            raise InterruptedHereError

    def too_long(self, *_):
        if self.work:
            raise TooLongError(_too_long(self.limit))

    def note(self, ended=False):
        """Say what is at work, and since now."""
        name = self.work[-1].encode()[: SIZE - HEAD.size] if self.work else b""
        signal.setitimer(signal.ITIMER_REAL, self.limit if self.work else 0, AGAIN)
        since = time.monotonic() if self.work else 0.0
        _limit_memory(bool(self.work))
        self.shared[: HEAD.size + len(name)] = HEAD.pack(ended, since, self.state, len(name)) + name

    def require_terminal(self):
        """Leave the rest to the parent if an author's code closed what errors are written to."""
        try:
            os.fstat(2), os.fstat(self.terminal)
        except OSError:
            self.leave(1)

    def run(self, work):
        """Run the program to its end; threads that an author's code left are not waited for."""
        ended, status = True, 0
        try:
            work()
        except SystemExit as end:
            status = end.code or 0
        except BaseException:  # not even an error could be said
            ended, status = False, 1
        self.work = []
        self.note(ended)
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # as where an author's code closed it
                stream.flush()
        self.leave(status)


def _limit_memory(limited):
    """Let the process take no more than half of the machine's memory from now on, or all again."""
    if sys.platform != "linux":
        return
    pages = int(Path("/proc/self/statm").read_text().split()[5]) + os.sysconf("SC_PHYS_PAGES") // 2
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    size = pages * os.sysconf("SC_PAGE_SIZE")
    size = size if most == resource.RLIM_INFINITY else min(size, most)
    resource.setrlimit(resource.RLIMIT_DATA, (size if limited else most, most))


_child: _Child | None = None
_before: tuple[int, ReportError] | None = None
"""At which state the child before this one ended, and what is said of it."""


def interrupts(error: BaseException) -> bool:
    """Whether it is the user who stops the program, or the program itself."""
    stops = InterruptedHereError if _child else KeyboardInterrupt
    return isinstance(error, (stops, StepError))


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Meanwhile the time of an author's file runs, if this process is watched; ReportError."""
    if _child is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    _child.work.append(what)
    _child.note()
    try:
        yield
    except TooLongError as error:
        raise ReportError(f"{what}: {error}") from error
    finally:
        _child.require_terminal()
        _child.work.pop()
        _child.note()


def again(state: Hashable) -> None:
    """Have this process, if it is watched, started again should it end from now on.

    state: of what it works on
    raises: ReportError with what ended the process before this one, if that was at the same state
    """
    if _child:
        state = hash(state) or 1
        if _before and _before[0] == state:
            raise _before[1]
        _child.state = state
        _child.note()


@contextmanager
def silent() -> Iterator[None]:
    """Meanwhile what a library of C++ prints of its crash goes where the parent reads it."""
    if _child:
        os.dup2(_child.crash.fileno(), 2)
    try:
        yield
    finally:
        if _child:
            os.dup2(_child.terminal, 2)


def limit() -> int:
    """Seconds that what an author wrote may run, 0 for no limit; UsageError for what is none."""
    text = os.environ.get(LIMIT) or str(USUAL)
    if not re.fullmatch(r"\d{1,6}", text):
        raise UsageError(f"{LIMIT}={text!r} is no number of seconds; give one, or 0 for no limit.")
    return int(text)


def guarded(work: Callable[[], object]) -> int:
    """Run the program in a child, as `work`, which may raise SystemExit with a number there; wait
    for it, and start it again where `again` asks for that.

    returns: the exit status of the child, in the parent
    raises: ReportError in the parent if the child did not end by itself, with the author's file
        and the line that it was at, as far as they are known; UsageError for a limit that is none
    """
    global _child, _before
    seconds = limit()
    if seconds == 0 or not hasattr(os, "fork"):
        work()
        return 0
    alive, held = os.pipe()
    while True:
        shared, crash, signals = mmap.mmap(-1, SIZE), tempfile.TemporaryFile(), []  # noqa: SIM115
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            os.close(held)
            _child = _Child(shared, crash, alive, seconds)
            _child.run(work)
        try:
            return _watched(pid, shared, crash, seconds, signals)
        except ReportError as error:
            _before = HEAD.unpack_from(shared)[2], error
            if not _before[0] or {*signals} - {signal.SIGALRM}:
                raise


def _watched(pid, shared, crash, limit, signals):
    """Wait for the child, and say what became of it, as of `guarded`; signals: as of `_wait`."""
    status = _wait(pid, shared, limit, signals)
    ended, since, _, length = HEAD.unpack_from(shared)
    if -status in signals:  # as if nobody had stood between
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    if ended:
        return status if status >= 0 else 128 - status
    what = shared[HEAD.size : HEAD.size + length].decode("utf-8", "replace") if since else ""
    crash.seek(0)
    place = what or "the program"
    folders = [Path(what).parent] if what.endswith(".py") else [Path(what) / name for name in OWN]
    for name, line in FRAME.findall(crash.read().decode("utf-8", "replace")):  # innermost first
        of_author = what and any(map(Path(name).is_relative_to, folders))
        if of_author or name.endswith(".j2"):
            place = f"{name}, line {line}"
            break
    if signal.SIGALRM in signals:
        raise ReportError(f"{place}: {_too_long(limit)}")
    if status < 0:
        raise ReportError(
            f"{place}: the program was ended by {signal.Signals(-status).name}, as when memory "
            "runs out or a library crashes; let it show less, or take less of the model."
        )
    raise ReportError(
        f"{place}: the whole program was ended, with status {status}, or what its errors are "
        "written to was closed; take that out of what runs there."
    )


def _wait(pid, shared, limit, signals):
    """Wait for the child; its status, negative for a signal. signals: gets those it is given."""

    def look(*_):
        _, since, *_ = HEAD.unpack_from(shared)
        if since and time.monotonic() - since > 1.1 * limit + 2 * AGAIN:
            signals.append(signal.SIGALRM)  # Python does not come to stop it: it waits for C
            os.kill(pid, signal.SIGABRT if len(signals) < 5 else signal.SIGKILL)

    def pass_on(number, _):
        signals.append(number)
        with suppress(ProcessLookupError):
            os.kill(pid, number)

    before = {
        number: signal.signal(number, pass_on)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in before.items():
        signal.signal(number, handler)
    return status


def _too_long(limit):
    return f"it ran for {lasting(limit)} without an end; mend it, or give {LIMIT} more seconds."
