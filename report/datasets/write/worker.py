"""A process that makes the calls it is given; see `processes`.

Calls come pickled on stdin, each a function and its arguments, and what they return or raise goes
to stdout. It ends when nothing more can come, also amid a call: nobody waits for its result then,
and the next command removes the folder that it writes into.
"""

import os
import pickle
import signal
import sys
import threading
import traceback
from contextlib import suppress
from queue import SimpleQueue

AUTHORED = "authored"
"""Argument of a process that runs what authors write."""


def main() -> None:
    """Answer calls, each with whether something was raised, and the result or the exception."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks decides when it is over
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    del sys.argv[0]  # what is left begins with the name of the program that asks
    if AUTHORED in sys.argv[1:]:
        watched(answers)
    else:
        answer(answers)


def watched(answers) -> None:
    """Answer calls in a process that this one watches, and, if it ends amid one, say why; then in
    another."""
    from report.authored import boundary, guard
    from report.errors import ReportError

    with suppress(BrokenPipeError):  # nobody waits for an answer
        while True:
            try:
                guard.guarded(lambda: answer(answers, boundary.in_words))
                return
            except ReportError as error:
                pickle.dump((True, error), answers)
                answers.flush()


def answer(answers, in_words=lambda error: error) -> None:
    """Answer calls, without an end; in_words: makes the exception that is answered of another."""
    calls = SimpleQueue()
    threading.Thread(target=receive, args=(calls,), daemon=True).start()
    while True:
        function, arguments = calls.get()
        try:
            answer = False, function(*arguments)
        except Exception as error:
            answer = True, in_words(error)
        pickle.dump(answer, answers)
        answers.flush()


def receive(calls: SimpleQueue) -> None:
    """Put the calls that come into a queue; end the process when there can be no other."""
    try:
        while True:
            calls.put(pickle.load(sys.stdin.buffer))  # noqa: S301 (of our own program)
    except (EOFError, pickle.UnpicklingError):  # the latter: cut off amid a call
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    main()
