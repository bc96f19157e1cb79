"""Own figures and templates that end the program, or do not end: one sentence, and exit 1."""

import json
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.commands import ROOT, contents, report
from tests.site import unmeasured
from tests.small import ARTICLE, write_corpus, write_publication
from tests.unpainted import unpainted

pytestmark = pytest.mark.promise("authors-files")

FIGURE = '''"""How large a thing is."""
import altair, ctypes, os, sys, time


def act(where):
    if where == WHERE:
        ACT


def chart(data, **state):
    act("chart")
    return altair.Chart(altair.NamedData("rows")).mark_bar().encode(x="a:Q", y="b:Q")


def rows(data, **state):
    act("rows")
    return [{"a": 1, "b": 2}]


act("file")
'''
LINE = FIGURE.splitlines().index("        ACT") + 1

FORKS = """
import json, os, sys, tempfile, time
from pathlib import Path
import altair
from report.__main__ import program
from report.authored.guard import busy, guarded
from report.errors import ReportError
from report.figures.build.find import figure_named
from report.pages.templates import environment
from report.site.build import build, require_settings


def order():
    '''The next order, in a child of its own; the parent says how each child ended.'''
    for line in sys.stdin:
        work, variables, sys.argv[1:] = json.loads(line)
        files = [tempfile.TemporaryFile() for _ in range(2)]
        if not (pid := os.fork()):
            for stream, file in enumerate([open(os.devnull), *files]):
                os.dup2(file.fileno(), stream)
            os.environ.update(variables)
            return work
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = [os.pread(file.fileno(), 10**6, 0).decode() for file in files]
        print(json.dumps([code, *texts]), flush=True)
    sys.exit()


def draw():
    figure = figure_named("mine", Path(sys.argv[1]))
    figure.chart(None), figure.rows(None)
    print("drawn")


def main():
    try:
        exec(work)
    except ReportError as error:
        print("error:", error, file=sys.stderr)
        sys.exit(1)


work = order()
try:
    sys.exit(program() if work == "program" else guarded(main))
except ReportError as error:
    sys.exit(f"error: {error}")
"""
"""A program that has imported what takes long, and does each piece of work in a child."""


@pytest.fixture(scope="module")
def ended():
    """A function that runs a piece of work as the program does, guarded, and returns how it
    ended: `returncode`, `stdout`, `stderr`."""
    command = [sys.executable, "-c", FORKS]
    env = {"PATH": "/usr/bin", "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "100"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}

    def ended(work, *arguments, limit=60):
        order = [work, {"REPORT_TIME_LIMIT": str(limit)}, [str(each) for each in arguments]]
        print(json.dumps(order), file=process.stdin, flush=True)
        code, out, err = json.loads(process.stdout.readline())
        return SimpleNamespace(returncode=code, stdout=out, stderr=err)

    with subprocess.Popen(command, env=env, **pipes) as process:
        yield ended
        process.stdin.close()


@pytest.fixture
def drawn(ended):
    return lambda folder, limit=60: ended("draw()", folder, limit=limit)


def write_figure(folder, act="pass", where="chart", more=""):
    folder.mkdir(exist_ok=True)
    text = FIGURE.replace("WHERE", repr(where)).replace("ACT", act.replace("\n", "\n        "))
    (folder / "mine.py").write_text(text + more)
    return folder


def refusal(done):
    """The one sentence of a command that failed."""
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("error: ")
    return line


ENDS = {
    "leaves": ("chart", "sys.exit()"),
    "leaves while it is read": ("file", "sys.exit(0)"),
    "raises what Ctrl-C raises": ("rows", "raise KeyboardInterrupt"),
    "ends the process": ("chart", "os._exit(0)"),
    "ends it while it is read": ("file", "os._exit(3)"),
    "reads what is not there": ("rows", "ctypes.string_at(0)"),
    "aborts": ("chart", "os.abort()"),
    "is killed": ("chart", "os.kill(os.getpid(), 9)"),
    "closes what is written": ("rows", "os.closerange(3, 100)"),
    "closes the terminal": ("chart", "os.closerange(0, 3)"),
    "closes all and raises": ("file", "os.closerange(0, 100)\n1 / 0"),
}


@pytest.mark.parametrize(("where", "act"), ENDS.values(), ids=list(ENDS))
def test_a_figure_that_ends_the_program_is_one_sentence_with_its_line(drawn, tmp_path, where, act):
    line = refusal(drawn(write_figure(tmp_path, act, where)))
    place = "" if "kill" in act or "close" in act else f", line {LINE}"
    assert re.search(rf"/mine\.py{place}: ", line)


def test_an_error_that_cannot_be_said_any_more_is_one_sentence(drawn, tmp_path):
    line = refusal(drawn(write_figure(tmp_path, "sys.stderr = 1\n1 / 0")))
    assert line.startswith("error: the program: the whole program was ended, with status 1")


@pytest.mark.parametrize("then", ["pass", "1 / 0"])
def test_a_thread_that_goes_on_keeps_no_program_from_its_end(drawn, tmp_path, then):
    act = f"import threading\nthreading.Thread(target=time.sleep, args=[10**6]).start()\n{then}"
    done = drawn(write_figure(tmp_path, f"print('printed')\n{act}", "file"))
    if then == "pass":
        assert (done.returncode, done.stdout, done.stderr) == (0, "printed\ndrawn\n", "")
    else:
        assert (done.returncode, done.stdout) == (1, "printed\n")
        assert f"/mine.py, line {LINE + 3}: ZeroDivisionError" in done.stderr


ENDLESS = {
    "Python": "while True: pass",
    "what takes all that is raised": "while True:\n    try: time.sleep(9)\n    except: pass",
    "C": "10 ** 10 ** 9",
}


@pytest.mark.parametrize("act", ENDLESS.values(), ids=list(ENDLESS))
def test_a_figure_without_end_is_one_sentence_with_its_line(drawn, tmp_path, act):
    line = refusal(drawn(write_figure(tmp_path, act), limit=1))
    number = re.search(r"/mine\.py, line (\d+): it ran for 1\.0 s", line)[1]
    assert LINE <= int(number) < LINE + 3


def test_what_is_drawn_of_ours_and_takes_too_long_is_one_sentence_too(ended):
    line = refusal(ended("with busy('one.md.j2'): time.sleep(9)", limit=1))
    assert line.startswith("error: one.md.j2: it ran for 1.0 s")


def test_a_figure_that_ends_is_drawn_however_long_all_of_it_takes(drawn, tmp_path):
    """The time is that of one call, and no other way to end is in its way."""
    done = drawn(write_figure(tmp_path, "sys.stdout.flush()", "rows"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "drawn\n", "")
    slow = write_figure(tmp_path, "time.sleep(0.7)", more='\nact("chart")\n')
    assert drawn(slow, limit=1).stdout == "drawn\n"
    unwatched = drawn(write_figure(tmp_path, "os._exit(0)"), limit=0)
    assert (unwatched.returncode, unwatched.stdout) == (0, "")
    assert "REPORT_TIME_LIMIT='1.5' is no number of seconds" in refusal(drawn(slow, limit=1.5))


POWER = "{% macro a() %}\n{{ 9 ** (9 ** 9) }}{% endmacro %}{{ a() }}"
WIDE = '{% for n in range(10 ** 5) %}{% set a = "%0999999999d" % n %}{% endfor %}'
IN_C = {
    "a power around articles": ("_article.md.j2", POWER, "it ran for 1"),
    "a long text": ("a.md.j2", '{{ "a" * 10**12 }}', "takes more memory"),
    "wide numbers": ("a.md.j2", WIDE, "it ran for 1"),
    "a list in a part": ("within.md.j2", "{% for a in [9 ** (9 ** 9)] %}{% endfor %}", "it ran"),
}
"""Expressions that C works out, and what is said of them."""


@pytest.mark.parametrize(("name", "text", "why"), IN_C.values(), ids=list(IN_C))
def test_what_takes_all_time_or_memory_in_c_has_its_file_and_line(ended, tmp_path, name, text, why):
    (tmp_path / "within.md.j2").write_text('{% include "a.md.j2" %}')
    inner = tmp_path / name.replace("within", "a")
    inner.write_text(f"\n{{% set a = 1 %}}\n\n{text}\n")
    work = "environment(Path(sys.argv[1])).get_template(sys.argv[2]).render()"
    line = refusal(ended(work, tmp_path, name, limit=1))
    place = f"{inner}, line {4 + text.count(chr(10))}"
    assert re.match(rf"error: {re.escape(place)}: ({why})", line), line


ASKS = "require_settings(Path(sys.argv[1]) / 'mkdocs.yml')"


@pytest.mark.parametrize(
    ("name", "text"), [("site_src/more/own.md", "<a "), ("templates/articles/own.md.j2", "[a](")]
)
def test_prose_that_markdown_takes_minutes_for_is_named_before_it_is_built(
    ended, tmp_path, name, text
):
    root = unmeasured.write(tmp_path / "project")
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# About\n\nA [link](index.md).\n\nSome\n{text * 60_000}\n\nMore.\n")
    line = refusal(ended(ASKS, root, limit=3))
    assert line.startswith(f"error: {path}, line 5: it ran for 3.0 s without an end")


def test_a_builder_without_end_is_stopped_and_the_likely_page_named(ended, tmp_path):
    root = unmeasured.write(tmp_path / "project")
    page = root / "site_src" / "articles" / "own" / "index.md"
    page.parent.mkdir(parents=True)
    page.write_text(f"# Own\n\n{'[' * 60_000}\n")
    assert ended(f"{ASKS}; print('asked')", root).stdout == "asked\n"
    build = "root = Path(sys.argv[1]); build(root / 'mkdocs.yml', root / 'site')"
    line = refusal(ended(build, root, limit=10))
    assert line.startswith(f"error: {page}, line 3: MkDocs ran for 10 s without an end")
    assert not (root / "site").exists()
    assert [path.name for path in root.glob(".site*")] == []


@pytest.fixture(scope="module")
def project(tmp_path_factory, falcon_folder):
    """A measured publication whose article also shows a figure of its own."""
    project = write_publication(tmp_path_factory.mktemp("authored") / "project")
    write_corpus(project)
    keys = f"title: Mine\nmodel: {falcon_folder}\npassage: passage.md\ncorpus: corpus.txt"
    text = ARTICLE.format(cover="update_magnitude").replace("title: Small", keys)
    article = project / "templates" / "articles" / "small.md.j2"
    article.write_text(f'{text}\n{{{{ figure("mine") }}}}\n')
    write_figure(project / "figures")
    with unpainted():
        done = report("measure", "--project", project)
    assert done.returncode == 0, done.stderr
    return project


def test_the_program_says_it_and_writes_no_article(ended, project):
    write_figure(project / "figures", "os._exit(0)")
    before = contents(project / "site_src")
    done = ended("program", "render", "--project", project)
    assert done.returncode == 1
    assert re.search(rf"\nerror: .*/mine\.py, line {LINE}: the whole program was", done.stderr)
    assert contents(project / "site_src") == before


def test_a_renderer_that_dies_is_one_sentence_that_names_the_figure(ended, project):
    """As where its memory runs out: it prints a stack of C++, and traps."""
    crash = (
        "import os, report.figures.build.vega as v\nbefore = v.vl_convert.vegalite_to_vega\n"
        "def die(spec, **options):\n    if spec['usermeta']['report']['figure'] != 'mine':\n"
        "        return before(spec, **options)\n"
        "    os.write(2, b'#0 0x7f C stack')\n    os.kill(os.getpid(), 5)\n"
        "def title(data):\n    v.vl_convert.vegalite_to_vega = die\n    return 'Mine'\n"
    )
    write_figure(project / "figures", more=crash)
    done = ended("program", "render", "--project", project)
    assert done.returncode == 1 and "C stack" not in done.stderr
    assert re.search(
        r"\nerror: .*/mine\.py, line \d+: the program was ended by SIGTRAP", done.stderr
    )


def test_prose_without_end_is_one_sentence_with_its_line(ended, project):
    part = project / "templates" / "_part.md.j2"
    part.write_text("\n{% for n in range(10**12) %}{% endfor %}\n")
    write_figure(project / "figures", more='\ndef caption(data):\n    return "It is mine."\n')
    article = project / "templates" / "articles" / "small.md.j2"
    before = article.read_text()
    article.write_text(before + '{% include "_part.md.j2" %}')
    done = ended("program", "render", "--project", project, limit=3)
    article.write_text(before)
    assert re.search(r"\nerror: .*/_part\.md\.j2, line 2: it ran for 3\.0 s", done.stderr)
