"""A process that makes the calls it is given; see `processes`.

Calls come pickled on stdin, each a function and its arguments, and what they return or raise goes
to stdout. It ends when nothing more can come.
"""

import os
import pickle
import signal
import sys


def main() -> None:
    """Answer calls, each with whether something was raised, and the result or the exception."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks decides when it is over
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    while True:
        try:
            function, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301 (of our own program)
        except EOFError:
            return
        try:
            answer = False, function(*arguments)
        except Exception as error:
            answer = True, error
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
