"""A process that makes calls for another; see `processes`.

Calls come pickled on stdin as (function, arguments). Answers go pickled to stdout as (False,
result) or (True, exception). It ends when stdin does, also amid a call: nobody waits for its result
then, and the next command removes the folder that it writes into.
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
"""Command line argument of a process that runs authors' code."""


def main() -> None:
    """Answer the calls on stdin until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks decides when it is over
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    del sys.argv[0]  # what is left begins with the name of the program that asks
    if AUTHORED in sys.argv[1:]:
        answer_in_child(answers)
    else:
        answer_calls(answers)


def answer_in_child(answers) -> None:
    """Answer calls in a child process; if it ends amid one, answer that with why, and go on in
    another child."""
    from report.authored import boundary, guard
    from report.errors import ReportError

    with suppress(BrokenPipeError):  # nobody waits for an answer
        while True:
            try:
                guard.guarded(lambda: answer_calls(answers, boundary.in_words))
                return
            except ReportError as error:
                pickle.dump((True, error), answers)
                answers.flush()


def answer_calls(answers, in_words=lambda error: error) -> None:
    """Answer calls without end.

    answers: binary file that they are written to
    in_words: a raised exception -> the one that is sent
    """
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
    """Put calls from stdin into a queue; end the process with stdin."""
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
