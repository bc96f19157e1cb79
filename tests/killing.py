"""Runs the command line in children that kill themselves just before their n-th change of files.

`children` starts it as a program, python -m tests.killing MODEL. For each line of its input, a list
of `order`, it forks a child an order, lets them run at the same time, and answers in a line with a
list of {"killed": bool, "code": int, "changes": int, "said": text}. It has built a site itself, so
what is imported, compiled and read only once is there for all children.
"""

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import vl_convert
from PIL import Image

from report.__main__ import main
from report.kinds.passage import measure as passage_kind
from tests.commands import ROOT
from tests.full_disk import fill_up
from tests.small import CORPUS, write_publication

WRITING = os.O_WRONLY | os.O_RDWR
CHANGING = {"os.mkdir", "os.rename", "os.remove", "os.rmdir"}


def order(folder, *arguments, at=None, **moments):
    """What a child is to do: `report` with these arguments, killed before a change in a folder.

    at: its number; None: never
    moments: `moment` and `after` instead, see `count_moments`; `room`, see `full_disk.fill_up`
    """
    arguments = [str(argument) for argument in arguments]
    return {"folder": str(folder), "arguments": arguments, "at": at} | moments


@contextmanager
def children(model):
    """A function that runs orders at the same time, and returns what became of each.

    model: folder of the one that most children measure
    """
    with subprocess.Popen(
        [sys.executable, "-m", "tests.killing", str(model)],
        cwd=ROOT,
        # no thread may be lost in a fork
        env=os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def run(*orders):
            print(json.dumps(orders), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield run
        process.stdin.close()


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
    """Put text that depends on the same things in place of what the drawing library makes, which
    also starts threads, and none outlives a fork."""

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


def child(order, pipe, said):
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream, target in enumerate((nothing, said, said)):
        os.dup2(target, stream)
    sys.argv = ["report", *order["arguments"]]
    if order.get("room") is not None:
        fill_up(order["room"])
    if "moment" in order:
        count_moments(order, lambda passed: os.pwrite(pipe, b"%8d" % passed, 0))
    else:
        count_changes(order["folder"], order["at"], lambda made: os.pwrite(pipe, b"%8d" % made, 0))
    try:
        main()
    except SystemExit as end:
        os._exit(end.code or 0)
    os._exit(99)


def begin(order):
    """Start a child: its process, and files of the number of its changes and of what it says."""
    counter, said = os.memfd_create("changes"), os.memfd_create("said")
    pid = os.fork()
    if not pid:
        child(order, counter, said)
    return pid, counter, said


def ended(pid, counter, said):
    """Wait for a child, and say what became of it."""
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    answer = {
        "killed": status == -signal.SIGKILL,
        "code": status,
        "changes": int(os.pread(counter, 8, 0) or 0),
        "said": os.pread(said, os.fstat(said).st_size, 0).decode(),
    }
    os.close(counter)
    os.close(said)
    return answer


def serve():
    for line in sys.stdin:
        begun = [begin(order) for order in json.loads(line)]
        print(json.dumps([ended(*each) for each in begun]), flush=True)


def build_once(model):
    """Build a small site of the model in this process, so that children find all of it ready."""
    with TemporaryDirectory(prefix="ready-") as folder:
        project = write_publication(Path(folder) / "project")
        options = ("--project", project, "--model", model, "--passage", project / "passage.md")
        sys.argv = ["report", "site", *map(str, options)]
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            try:
                main()
            except SystemExit as end:
                assert not end.code, said.getvalue()
    threads = [*Path("/proc/self/task").iterdir()]
    assert len(threads) == 1, f"{len(threads)} threads, of which a fork would lose all but one"


if __name__ == "__main__":
    passage_kind.corpus = lambda: CORPUS
    draw_quickly()
    build_once(sys.argv[1])
    serve()
