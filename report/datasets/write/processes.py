"""Calls of one function in several processes, which know nothing of the libraries that measure.

They are started as programs of their own (worker.py), neither forked nor by `multiprocessing`: a
fork of a process in which torch runs threads may hang, and what `multiprocessing` starts imports
the user's own program once more.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from report.datasets.write import worker
from report.errors import ReportError

MEMORY = 2 << 30
"""Bytes that all processes may take together; a single one may take more."""

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""Processes that compute side by side would only wait for each other's threads."""

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Linux's file of the time of processors that a container gets in a period: "200000 100000"."""

Job = Callable[[], tuple]
"""Makes the arguments of a call. It runs in this process, shortly before they are needed."""


def number(size: int) -> int:
    """The number of processes that fit the processors and `MEMORY`, at least 1.

    size: bytes that one takes
    """
    return max(1, min(processors(), MEMORY // max(size, 1)))


def processors() -> int:
    """The number of processors that this process may use, also within a container."""
    has_affinity = hasattr(os, "sched_getaffinity")
    number = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # there is no such file, or it says "max"
        share, period = map(int, QUOTA.read_text().split())
        number = min(number, max(1, share // period))
    return number


@contextmanager
def calls(function: Callable, jobs: Iterable[Job], number: int) -> Iterator[Iterator[Any]]:
    """Within the context, processes call a function, once a job.

    function: of a module that imports neither torch nor transformers
    number: of processes; 1 calls it in this one
    yields: an iterator of the results, in the order of the jobs; it raises what a call raised, or
        a ReportError if a process ended before its call
    raises: ReportError if a process cannot be started
    """
    if number == 1:
        yield (function(*job()) for job in jobs)
        return
    with pool(number) as submit:
        yield _results(partial(submit, function), iter(jobs), 2 * number)


@contextmanager
def pool(number: int, authored: bool = False) -> Iterator[Callable[[Callable, Job], Future]]:
    """Within the context, processes make calls; one is started where a call finds none that waits.

    number: of processes, at most
    authored: whether calls run what authors write. Then each process is watched (see
        `report.authored.guard`), has this one's paths of imports, and makes a ReportError of
        any error
    yields: called with a function of a module that imports neither torch nor transformers, and a
        job; returns the future of its result, which raises what a call raised, or a ReportError if
        a process ended before its call, or cannot be started
    """
    started, idle, over = [], SimpleQueue(), threading.Event()
    for _ in range(number):
        idle.put(None)
    threads = ThreadPoolExecutor(number)

    def call(function, job):
        arguments, process = job(), idle.get()
        try:
            if process is None or process.poll() is not None:
                process = None  # where none can be started, the next call tries again
                process = _start(authored)
                started.append(process)
            if over.is_set():
                process.kill()
            raised, result = _answer(process, function, arguments)
        finally:
            idle.put(process)
        if raised:
            raise result
        return result

    try:
        yield partial(threads.submit, call)
    finally:
        over.set()
        for process in list(started):
            process.kill()
        threads.shutdown(cancel_futures=True)
        for process in started:
            process.communicate()


@contextmanager
def beside() -> Iterator[Callable]:
    """Within the context, a process that makes calls for all threads of this one, one at a time.

    yields: called with a function of a module that imports neither torch nor transformers, and its
        arguments; returns what that returns, or raises what it raises. A process that was ended is
        started anew for the next call
    raises: ReportError if a process cannot be started, or was ended amid a call
    """
    process, lock, over = _start(), threading.Lock(), False

    def call(function, *arguments):
        nonlocal process
        with lock:
            if process.poll() is not None and not over:
                process = _start()
            raised, result = _answer(process, function, arguments)
        if raised:
            raise result
        return result

    try:
        yield call
    finally:
        over = True
        process.kill()
        with lock:
            process.communicate()


def _results(submit, jobs, ahead):
    """Yield results in order; at most `ahead` calls run, or have results that nobody took."""
    waiting = [submit(job) for job in islice(jobs, ahead)]
    while waiting:
        yield waiting.pop(0).result()
        waiting += [submit(job) for job in islice(jobs, 1)]


def _answer(process, function, arguments):
    """Whether a call raised something, and its result or the exception; ReportError if the process
    ended before that."""
    try:
        pickle.dump((function, arguments), process.stdin, pickle.HIGHEST_PROTOCOL)
        process.stdin.flush()
        return pickle.load(process.stdout)  # noqa: S301 (of our own program)
    except (OSError, EOFError, ValueError) as error:  # the last: its pipes are closed
        process.kill()
        process.wait()
        raise ReportError(
            "a process of this program was ended from outside; if that was for want of memory, "
            "take a shorter passage or fewer layers (--layers 0-3)"
        ) from error


def _start(authored=False):
    """A new process, which waits for calls; authored: as of `pool`."""
    package = str(Path(__file__).parents[3])
    more = sys.path if authored else [os.environ.get("PYTHONPATH")]
    environment = ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, [package, *more]))}
    # errors name the command that this program was started by
    ways = [worker.AUTHORED] if authored else []
    try:
        return subprocess.Popen(  # noqa: S603 (a list of arguments, no shell)
            [sys.executable, "-P", worker.__file__, sys.argv[0], *ways],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | environment,
        )
    except OSError as error:
        raise ReportError(
            f"no process can be started: {error.strerror}; end other programs and run the command "
            "again"
        ) from error
