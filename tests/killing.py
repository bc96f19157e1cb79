"""Usage: python -m tests.killing FOLDER MODEL

Runs the command line in children that kill themselves just before their n-th change of files.

Started as a program by test_killed.py. For each line {"arguments": [...], "at": n} of its input (n
null: never; or "moment" and "after", see `count_moments`) it forks, lets the child run, and answers
{"killed": bool, "code": int, "changes": int} in a line. What takes long to import is imported once,
for all children.
"""

import hashlib
import io
import json
import os
import signal
import sys
import threading
from pathlib import Path

import vl_convert
from PIL import Image

from report import pipeline  # noqa: F401 (imported before forking, to save time)
from report.__main__ import main
from report.measuring.kinds import passage as passage_kind
from report.models.load.load import load_model
from report.models.measure import passage  # noqa: F401 (imported before forking, to save time)
from report.models.text import tokens  # noqa: F401 (imported before forking, to save time)
from tests.full_disk import fill_up
from tests.small import CORPUS

SAID = "said.txt"
"""In the folder: what the last child printed."""

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


def count_moments(order, tell):
    """Count all that Python tells its auditors, some 100,000 events in a build: a clock that a
    busy machine does not disturb. Kill the process at one, or some time after MkDocs began."""
    passed = 0

    def hook(event, arguments):
        nonlocal passed
        passed += 1
        if passed % 100 == 0:
            tell(passed)
        if passed == order["moment"]:
            os.kill(os.getpid(), signal.SIGKILL)
        if event == "subprocess.Popen" and order["after"] is not None:
            threading.Timer(order["after"], os.kill, (os.getpid(), signal.SIGKILL)).start()

    sys.addaudithook(hook)


def draw_quickly():
    """Put text that depends on the same things in place of what the drawing library makes."""

    def drawn(spec, *_, **__):
        mark = hashlib.sha256(json.dumps(spec, sort_keys=True, default=str).encode()).hexdigest()
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><text>{mark}</text></svg>'
        )

    def png(svg, **_):
        content = io.BytesIO()
        Image.new("RGB", (3, 3), "#" + hashlib.sha256(svg.encode()).hexdigest()[:6]).save(
            content, "png"
        )
        return content.getvalue()

    vl_convert.vegalite_to_svg = drawn
    vl_convert.vegalite_to_vega = lambda spec, **_: {"marks": [], "of": drawn(spec)}
    vl_convert.javascript_bundle = lambda *_, **__: "export const vega = 1;" * 20_000
    vl_convert.svg_to_png = png


def child(folder, order, pipe):
    nothing = os.open(os.devnull, os.O_RDWR)
    said = os.open(Path(folder) / SAID, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream, target in enumerate((nothing, said, said)):
        os.dup2(target, stream)
    passage_kind.corpus = lambda: CORPUS
    sys.argv = ["report", *order["arguments"]]
    if order.get("room") is not None:
        fill_up(order["room"])
    if "moment" in order:
        draw_quickly()
        count_moments(order, lambda passed: os.pwrite(pipe, b"%8d" % passed, 0))
    else:
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
