"""Usage: python -m tests.killing FOLDER MODEL

Runs the command line in children that kill themselves just before their n-th change of files.

Started as a program by test_killed.py. For each line {"arguments": [...], "at": n} of its input (n
null: never) it forks, lets the child run, and answers {"killed": bool, "code": int,
"changes": int} in a line. What takes long to import is imported once, for all children.
"""

import json
import os
import signal
import sys

from report.__main__ import main
from report.kinds import passage as passage_kind
from report.models import measure, tokens  # noqa: F401 (imported before forking, to save time)
from report.models.load import load_model
from tests.small import CORPUS

WRITING = os.O_WRONLY | os.O_RDWR
CHANGING = {"os.mkdir", "os.rename", "os.remove", "os.rmdir"}


def count_changes(folder, at, tell):
    """Count what changes below `folder`; `tell` the number; kill the process before number `at`."""
    made = 0

    def hook(event, arguments):
        nonlocal made
        changes = event in CHANGING or (event == "open" and (arguments[2] or 0) & WRITING)
        # within rmtree, names are relative to an open folder
        inside = str(arguments[0]).startswith(folder) or event in ("os.remove", "os.rmdir")
        if not (changes and inside):
            return
        made += 1
        tell(made)
        if made == at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def child(folder, order, pipe):
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    passage_kind.corpus = lambda: CORPUS
    sys.argv = ["report", *order["arguments"]]
    count_changes(folder, order["at"], lambda made: os.pwrite(pipe, b"%8d" % made, 0))
    try:
        main()
    except SystemExit as end:
        os._exit(end.code or 0)
    os._exit(99)


def serve(folder):
    for line in sys.stdin:
        counter = os.memfd_create("changes")
        pid = os.fork()
        if not pid:
            child(folder, json.loads(line), counter)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        answer = {
            "killed": status == -signal.SIGKILL,
            "code": status,
            "changes": int(os.pread(counter, 8, 0) or 0),
        }
        os.close(counter)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    load_model(sys.argv[2])  # makes transformers import what it needs for such a model
    serve(sys.argv[1])
