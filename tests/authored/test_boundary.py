"""Whatever goes wrong in what authors write is one sentence with its file and line."""

import re

import pytest

from report.authored.boundary import authored, in_words
from report.errors import ReportError
from report.pages import render as pages
from report.pages.prose import check_prose
from report.study.study import read_study
from tests.authored.test_guard import FIGURE
from tests.fuzz.refusals import tried
from tests.unpainted import unpainted

pytestmark = pytest.mark.promise("authors-files")

HEADER = "---\ntitle: T\ndate: 2026-01-02\nauthor: A\nsummary: S\ncover: update_magnitude\n---\n"
CHART = 'return altair.Chart(altair.NamedData("rows")).mark_bar().encode(x="a:Q", y="b:Q")'


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    from tests.figures import hand_made

    return hand_made.study(tmp_path_factory.mktemp("pages") / "datasets" / "a" / "0123456789ab")


@pytest.fixture
def project(tmp_path):
    """The folder of a publication, with a figure of its own that is sound."""
    (tmp_path / "templates" / "articles").mkdir(parents=True)
    (tmp_path / "figures").mkdir()
    own(tmp_path)
    return tmp_path


def own(project, old="", new=""):
    text = FIGURE.replace("WHERE", "''").replace("ACT", "pass")
    assert old in text
    (project / "figures" / "mine.py").write_text(text.replace(old, new, 1))


def rendered(project, data, body):
    """What is done with an article before a model runs, and after."""
    path = project / "templates" / "articles" / "a.md.j2"
    path.write_text(HEADER + '{{ figure("update_magnitude") }}\n' + body, "utf-8")
    study = read_study(path)
    check_prose(study)
    with unpainted():
        pages.render_article(study, data, project / "site_src")


PROSE = {
    "a long number": '{{ "%999999999999d" | format(1) }}',
    "half a character": '{{ "\\ud800" }}',
    "half a character in a macro": '{% macro a() %}{{ "\\udfff" }}{% endmacro %}{{ a() }}',
    "a field that is not there": '{{ "{0.foo}".format(1) }}',
    "a call of what is no function": "{{ 5() }}",
    "a sum of what has none": '{{ 1 + "a" }}',
    "a filter of what it cannot take": "{{ 5 | percent | large }}",
    "what calls itself": "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
    "much inside each other": "{% for a in [] %}" * 30 + "{% endfor %}" * 30,
    "many brackets": f"{{{{ {'(' * 300}1{')' * 300} }}}}",
    "what fills the memory": '{{ "a" * (2 ** 62) }}',
    "a template that is not there": '{% set name = "no.md.j2" %}{% include name ~ "" %}',
    "a partial in Latin-1": '{% include "latin.md.j2" %}',
    "a partial with a mistake": '{% include "_wrong.md.j2" %}',
    "a cover that is no figure": '{{ cover("up" ~ "date") }}',
}
ELSEWHERE = {"a partial in Latin-1": ("latin", 2), "a partial with a mistake": ("_wrong", 3)}


@pytest.mark.parametrize("name", PROSE)
def test_a_mistake_in_prose_has_its_file_and_line(project, data, name):
    (project / "templates" / "latin.md.j2").write_bytes("\nB\xe4r".encode("latin-1"))
    (project / "templates" / "_wrong.md.j2").write_text("\n\n{{ 1 // 0 }}")
    _, said = tried(rendered, project, data, f"\nText.\n\n{PROSE[name]}\n")
    file, line = ELSEWHERE.get(name, ("a", 12))
    assert re.match(rf"\S*/{file}\.md\.j2, line {line}: .{{5}}", said), said
    assert not (project / "site_src").exists()


ARTICLE = {
    "an unknown name": ("\n{{ kompared }}", ", line 2: 'kompared' is undefined"),
    "what it cannot do": ("{{ 1 + 'a' }}", ", line 1: TypeError: "),
    "a mistake": ("{% if %}", ", line 1: Expected an expression"),
    "Latin-1": ("\nB\xe4r", ", line 2: cannot be read as UTF-8 text"),
}


@pytest.mark.parametrize(("text", "said"), ARTICLE.values(), ids=list(ARTICLE))
@pytest.mark.parametrize("name", ["_article.md.j2", "_figure.html.j2", "embed.html.j2"])
def test_a_template_of_ones_own_has_its_file_and_line(project, data, name, text, said):
    (project / "templates" / name).write_bytes(text.encode("latin-1"))
    _, found = tried(rendered, project, data, "")
    place = re.escape(name) + said
    assert re.search(place, found), found


OWN = {
    "a number as key": ('"a": 1', "1: 1"),
    "rows that are no list": ('[{"a": 1, "b": 2}]', "5"),
    "a chart that is none": (CHART, "return {}"),
    "a chart that is a list": (CHART, "return [1]"),
    "a chart with another look": (CHART, 'return {"usermeta": {}}'),
    "a field that is not there": ('x="a:Q"', 'x="c:Q"'),
    "a type that is none": ('x="a:Q"', 'x="a:W"'),
    "a title that is none": ('act("file")', "title = lambda data: None"),
    "controls that are none": ('act("file")', "controls = lambda data: [5]"),
    "panels that are none": ('act("file")', "panels = lambda data: 5"),
    "boxes that are none": ('act("file")', "boxes = lambda data: []"),
    "columns that are none": ('act("file")', 'COLUMNS = "a"'),
    "an aspect that is none": ('act("file")', 'ASPECT = "a"'),
    "a zero byte": ('act("file")', "\0"),
    "a class of its own": ('act("chart")', "class Own(BaseException): pass\n    raise Own"),
    "the end of the program": ('act("rows")', "sys.exit(0)"),
    "an error that says nothing": ('act("rows")', "raise type('E', (Exception,), {'__str__': 5})"),
    "an error of many lines": ('act("rows")', r"raise ValueError('\n'.join('ab' * 9000))"),
    "half a character": ('act("rows")', r"raise ValueError('\ud800')"),
    "half a character in a row": ('"a": 1', r'"a": "\ud800"'),
    "half a character in a title": ('act("file")', r"title = lambda data: '\ud800'"),
}


@pytest.mark.parametrize(("old", "new"), OWN.values(), ids=list(OWN))
def test_a_mistake_in_a_figure_has_its_name(project, data, old, new):
    own(project, old, new)
    _, said = tried(rendered, project, data, '\n{{ figure("mine") }}\n')
    assert re.search(r"/mine\.py\b|figure 'mine'|a\.md\.j2, line 10", said), said


def test_a_mistake_in_what_a_figure_imports_has_that_file(project, data):
    own(project, 'act("rows")', "sys.path.insert(0, os.path.dirname(__file__)); import beside_it")
    (project / "figures" / "beside_it.py").write_text("\nraise SystemExit(3)\n")
    _, said = tried(rendered, project, data, '\n{{ figure("mine") }}\n')
    assert re.search(r"/beside_it\.py, line 2: SystemExit: 3", said), said


def test_what_is_ours_is_said_to_be_and_what_the_user_stops_is_stopped(tmp_path):
    try:
        {}["a"]
    except KeyError as error:
        said = str(in_words(error))
    assert re.search(r"defect of the program.*KeyError: 'a' \(.*/test_boundary\.py, line \d+", said)
    assert "REPORT_TRACEBACK=1" in said
    refused = ReportError("no")
    assert in_words(refused) is refused
    with pytest.raises(KeyboardInterrupt), authored(tmp_path):
        raise KeyboardInterrupt
