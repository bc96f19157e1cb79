"""Runs other programs so that they, and whatever they start, end with this one.

Where a command is killed, a builder would else write on into a folder that the next one removes,
and git push on. In between runs this file, as a program of its own: its input ends when whoever
waits for the program is gone, in whatever way. Elsewhere than on Linux, it ends the program alone.
"""

import ctypes
import glob
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

PR_SET_CHILD_SUBREAPER = 36
"""What a program has started is ours once the program has ended."""

PATIENCE = 1
"""Seconds in which a program may put a terminal, or files, in order."""


LOOK = 0.1
"""Seconds between two looks whether the program is still wanted."""


def run(
    command: list[str],
    timeout: float | None = None,
    look: Callable[[], object] = lambda: None,
    **options,
):
    """Run a command that has no input: as `subprocess.run`, with what it says as text.

    look: called again and again meanwhile; what it raises ends the command
    """
    reading, writing = os.pipe()
    with subprocess.Popen(  # noqa: S603 (a list of arguments, no shell)
        [sys.executable, "-I", "-S", __file__, *command],
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        **options,
    ) as process:
        os.close(reading)
        try:
            output = _output(process, timeout, look)
        finally:
            os.close(writing)
    return subprocess.CompletedProcess(command, process.returncode, *output)


def _output(process, timeout, look):
    begun = time.monotonic()
    while True:
        look()
        left = LOOK if timeout is None else min(LOOK, timeout - (time.monotonic() - begun))
        try:
            return process.communicate(timeout=max(left, 0))
        except subprocess.TimeoutExpired:
            if timeout is not None and time.monotonic() - begun >= timeout:
                raise


def main(command: list[str]) -> None:
    """Run the command, and end as it does; end it if the input ends."""
    signal.signal(signal.SIGINT, lambda *_: None)  # of a terminal: both others get it, and decide
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603
    gone = threading.Event()

    def wait():
        code = process.wait()
        if not gone.is_set():
            os._exit(code if code >= 0 else 128 - code)

    threading.Thread(target=wait, daemon=True).start()
    os.read(0, 1)
    gone.set()
    begun = time.monotonic()
    while pids := _children(process):
        late = time.monotonic() > begun + PATIENCE
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        time.sleep(0.01)


def _children(process):
    """Numbers of the processes that this one is the parent of, and that run."""
    if sys.platform != "linux":
        return [process.pid] if process.poll() is None else []
    numbers = []
    for path in glob.glob("/proc/[0-9]*/stat"):  # noqa: PTH207 (pathlib takes long to import)
        with suppress(OSError), open(path) as file:  # noqa: PTH123
            state, parent = file.read().rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state != "Z":
                numbers.append(int(path.split("/")[2]))
    return numbers


if __name__ == "__main__":
    main(sys.argv[1:])
