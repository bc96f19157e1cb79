"""Prose, figures and settings that authors write, of anything: a sentence, or what can be read."""

import functools
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from report.pages.prose import check_prose
from report.pages.render import render_article
from report.site.address import read_site
from report.site.build import require_settings
from report.study.study import read_study
from tests.figures import hand_made
from tests.fuzz.profile import examples
from tests.fuzz.refusals import tried
from tests.unpainted import unpainted

SOUND = '{{ figure("update_magnitude") }}\n'
HEADER = "---\ntitle: T\ndate: 2026-01-02\nauthor: A\nsummary: S\ncover: update_magnitude\n---\n"
PLACE = re.compile(r"\.(j2|py|yml)\b|figure '|SITE_URL")
"""What a refusal begins with, or names: the author's file, or the figure."""

VALUES = [
    *("1", "-1", "0", "1e308", "2 ** 70", "none", "true", "[]", "{}", "()", "''", '"a"'),
    *('"\\ud800"', '"\\0"', "[[1]]", '{"a": 1}', "range(3)", "data", "model", "find", "study"),
    *("nothing", "loop", "find.length", "data.layers", "data.tokens", "find.strongest", "figure"),
    *("self", "caller", "'<b>'", "'{{ 1 }}'", "'%999999999999d'", '"{0.a}"', "9" * 5000, "1j"),
    '"x" * 10 ** 6',
]
CALLS = [
    *("{{ %s }}", "{{ %s.foo }}", "{{ %s['a'] }}", "{{ %s() }}", "{{ %s + 1 }}"),
    *("{{ %s | count }}", "{{ figure(%s) }}", '{{ figure("update_alignment", layer=%s) }}'),
    *("{{ ref(%s) }}", '{{ figure("update_alignment", key=%s) }}'),
    *('{{ figure("update_alignment", data=%s) }}', "{{ term(%s) }}", "{{ cite(%s) }}"),
    *("{{ cover(%s) }}", "{{ live(%s) }}", "{{ %s | percent }}"),
    *("{%% for a in %s %%}{{ a }}{%% endfor %%}", "{%% if %s %%}a{%% endif %%}"),
    *("{{ can_draw(%s) }}", "{%% set a = %s %%}{{ a }}", "{%% include %s %%}"),
    *("{%% call finding(%s) %%}a{%% endcall %%}", "{%% extends %s %%}"),
    *("{%% import %s as a %%}{{ a.b }}", "{{ %s | format(1) }}", "{%% %s %%}"),
    *("{{ %s | text | large }}", "{{ %s | join(', ') }}", "{{ find.values(%s) }}"),
    *("{{ %s is divisibleby 0 }}", "{{ find.strongest(%s) }}", "{{ %s.format(1) }}"),
    *("{{ '%%s' | format(%s) }}", "{{ %s | map('x') | list }}"),
    "{%% macro m(a=%s) %%}{{ m() }}{%% endmacro %%}{{ m() }}",
    *("{%% block a %%}{{ %s }}{%% endblock %%}", "{{ (%s, 1) | sort }}", "{{ %s | tojson }}"),
    *("{{ left_out(%s) }}", "{{ %s | shortened(3) }}"),
]
PIECE = (
    st.builds(lambda call, value: call % value, st.sampled_from(CALLS), st.sampled_from(VALUES))
    | st.text(max_size=10)
    | st.sampled_from(
        ["{{", "}}", "{%", "%}", "{#", "\n", "{% raw %}", "<b>", "[^1]", "{% if 1 %}"]
    )
)


@functools.cache
def data():
    folder = Path(tempfile.mkdtemp(prefix="fuzz-")) / "datasets" / "a" / "0123456789ab"
    return hand_made.study(folder)


def rendered(project, body):
    """What is done with an article before a model runs, and after; returns its Markdown."""
    path = project / "templates" / "articles" / "a.md.j2"
    path.write_bytes((HEADER + SOUND + body).encode("utf-8", "surrogatepass"))
    study = read_study(path)
    check_prose(study)
    with unpainted():
        render_article(study, data(), project / "site_src")
    return (project / "site_src" / "articles" / "a" / "index.md").read_text("utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = tmp_path_factory.mktemp("authors")
    for folder in ("templates/articles", "figures", "docs"):
        (project / folder).mkdir(parents=True)
    return project


def one_sentence_or_sound(function, *arguments):
    result, said = tried(function, *arguments)
    assert said is None or PLACE.search(said), said
    assert said is None or "defect" not in said
    return result


@examples(350)
@given(st.lists(PIECE, max_size=4).map("\n".join))
@example('{{ "\ud800" }}')
@example('{% include "x" * 10 ** 6 %}')
@example('{{ term("x" * 10 ** 6) }}')
def test_prose_of_anything(project, body):
    text = one_sentence_or_sound(rendered, project, body)
    assert text is None or 'id="fig-1"' in text


GIVEN = [
    *("None", "5", "'a'", "[]", "{}", "[5]", "[{}]", "[{1: 2}]", "[{'a': float('nan')}]"),
    *("object()", "[{'a': 1}]", "[{'a': [1]}]", "[{'a': '\\ud800'}]", "{'rows': [{'a': 1}]}"),
    *("{'usermeta': 1}", "{'usermeta': {'report': 1}}", "{'usermeta': {'report': {}}}", "data"),
    *("'nan'", "(1, 2)", "[{'token': 10 ** 9, 'a': 1}]", "[{'layer': 'x', 'head': -1, 'a': 2}]"),
    *("lambda *a, **b: 1", "altair.Chart()", "altair.Chart(altair.NamedData('rows')).mark_point()"),
    *("iter([{'a': 1}])", "altair.Chart(altair.NamedData('rows')).mark_bar().encode(x='a:Q')"),
    *("1 / 0", "data.nothing", "altair.Chart(altair.NamedData('rows')).mark_bar().encode(x='b:W')"),
    *("sys.exit(0)", "chart(data)", "choices.layer_control(data)", "[choices.layer_control(data)]"),
    *("[choices.Switch('a', 'A', {})]", "[choices.Control('a', 'A', 0, 9 ** 9, 0)]"),
    *("[choices.Control('', '', 5, 1, 9)]", "b'a'", "np.float32(1)", "np.zeros(3)"),
    *("[{'a': np.float64('inf')}]", "type('A', (), {})", "2 ** 5000", "[grid.Box(0, 0, 0, 0)]"),
    *("(yield)", "[{'a': True, 'b': None, 'token': 1}]", "sys.modules"),
]
NAMES = [
    *("chart", "rows", "title", "caption", "use", "controls", "seen", "alt", "left_out", "boxes"),
    *("panels", "columns", "legends"),
]
MADE = """'''It shows something.'''
import sys
import altair
import numpy as np
from report.figures.parts import choices, grid


def chart(data, **state):
    return altair.Chart(altair.NamedData("rows")).mark_bar().encode(x="a:Q")


def rows(data, **state):
    return [{"a": 1}]
"""


@st.composite
def figures(draw):
    text = MADE
    for _ in range(draw(st.integers(1, 3))):
        name, value = draw(st.sampled_from(NAMES)), draw(st.sampled_from(GIVEN))
        kind = draw(st.integers(0, 9))
        if kind == 0:
            text += f"\n{name.upper()} = {value}\n"
        elif kind == 1:
            text += f"\n{name} = {value}\n"
        else:
            text += f"\n\ndef {name}(data, **state):\n    return {value}\n"
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.text(max_size=3)) + text[at:]
    return text


@examples(350)
@given(figures())
@example(MADE + "\n\ndef rows(data, **state):\n    return sys.modules\n")
@example(MADE + "\n\ndef controls(data):\n    return [choices.Control('a', 'A', 0, 9**9, 0)]\n")
def test_figures_of_anything(project, text):
    (project / "figures" / "mine.py").write_bytes(text.encode("utf-8", "surrogatepass"))
    one_sentence_or_sound(rendered, project, '\n{{ figure("mine") }}\n')


KEYS = [
    *("site_name", "site_url", "docs_dir", "theme", "plugins", "hooks", "nav", "extra", "strict"),
    *("markdown_extensions", "INHERIT", "extra_css", "exclude_docs", "dev_addr", "repo_url"),
    *("nope", "site_dir", "validation", "watch", "use_directory_urls", "site_description"),
    "extra_templates",
]
SETTINGS = [
    *("", "A", "1", "true", "[]", "{}", "[a]", "{a: 1}", "[[1]]", "null", "!ENV HOME"),
    *("!ENV [A, 1]", "!!python/name:os.nothing", "!!python/object/apply:time.time []"),
    *("2026-99-99", "*a", "&a [*a]", "[search]", "[serch]", "{name: material}"),
    *("{name: null, custom_dir: no}", "no.py", "[hook.py]", "https://a.b/", "https://u:p@a.b/"),
    *("ftp://a", '"\\ud800"', '"\\0"', "'" * 3, "{", "|", "- a", "[" * 3000, "9" * 5000),
    *("!relative", "mkdocs.yml", "/dev/null", "..", "docs", "{toc: {a: 1}}"),
]


@examples(700)
@given(
    st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(SETTINGS)), max_size=4),
    st.binary(max_size=4),
)
@example([("INHERIT", "!ENV HOME")], b"")
@example([("markdown_extensions", "{toc: {a: 1}}")], b"")
@example([("docs_dir", '"\\ud800"')], b"")
def test_settings_of_anything(project, pairs, tail):
    config = project / "mkdocs.yml"
    (project / "hook.py").write_text("raise SystemExit(0)\n")
    lines = ["site_name: A", *(f"{key}: {value}" for key, value in pairs)]
    config.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass") + b"\n#" + tail)
    one_sentence_or_sound(read_site, config)
    one_sentence_or_sound(require_settings, config)
