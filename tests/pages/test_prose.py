"""What prose asks for and there cannot be is told before a model runs, with template and line."""

import pytest

from report import pipeline, project
from report.errors import ReportError
from report.kinds import folders
from report.measuring import run as measuring
from report.pages.prose import check_prose
from report.study.study import read_studies, read_study
from tests.commands import ROOT
from tests.figures import hand_conditions, hand_made, hand_sweep, hand_table

ABOUT = "title: T\ndate: 2026-01-02\nauthor: A\nsummary: S\n"
KINDS = {
    "passage": "cover: update_magnitude\n",
    "several": "models: [falcon-8x8, qwen2-5x28]\ncover: update_magnitude\n",
    "table": "table: seattle-weather\ncover: table_attention_map\n",
    "sweep": "sweep: true\nmodels: [falcon-8x8, qwen2-5x28]\ncover: habits_by_model\n",
    "conditions": (
        "conditions:\n  - {name: plain}\n"
        '  - {name: polite, before: question, text: "Please", kind: text}\ncover: filler_effect\n'
    ),
}
COVERS = {
    "passage": '{{ figure("update_magnitude") }}\n',
    "several": '{{ figure("update_magnitude") }}\n',
    "table": '{{ figure("table_attention_map") }}\n',
    "sweep": '{{ figure("habits_by_model") }}\n',
    "conditions": (
        '{{ figure("filler_effect", data=find.panels([(0, 0, 0)], ["plain", "polite"])) }}\n'
    ),
}
"""A figure of each kind of article, as it may be placed."""


def article(folder, kind, body):
    path = folder / "a.md.j2"
    path.write_text(f"---\n{ABOUT}{KINDS[kind]}---\n{COVERS[kind]}{body}", "utf-8")
    return read_study(path)


SHIPPED = read_studies(ROOT / "templates" / "articles")


@pytest.mark.parametrize("study", SHIPPED, ids=[study.name for study in SHIPPED])
def test_articles_that_ship_ask_for_nothing_that_there_cannot_be(study):
    check_prose(study)


@pytest.mark.parametrize("kind", ["passage", "table", "sweep", "conditions"])
def test_new_articles_too(tmp_path, kind):
    from report.pages.new import new_article

    where = project.Project(tmp_path)
    check_prose(read_study(new_article("mine", kind, where)))


PLAIN = '{"plain": "", "polite": ""}'
WRONG = {
    "a name": ("passage", "{{ kompared }}", "unknown name 'kompared'; did you mean 'compared'"),
    "a function": ("passage", '{{ figur("a") }}', "unknown name 'figur'; did you mean 'figure'"),
    "a filter": ("passage", "{{ data.length | cuont }}", "No filter named 'cuont'"),
    "syntax": ("passage", "{% if %}", "Expected an expression"),
    "a figure": ("passage", '{{ figure("atention_map") }}', "did you mean 'attention_map'"),
    "a figure asked for": ("passage", '{% if can_draw("x") %}{% endif %}', "unknown figure 'x'"),
    "no figure": ("passage", "{{ figure() }}", "figure.*missing a required argument: 'name'"),
    "a term": ("passage", '{{ term("haed") }}', "unknown term 'haed'"),
    "a reference": (
        "passage",
        '{{ ref("update_magnitud") }}',
        "this article has no such figure; did you mean 'update_magnitude'",
    ),
    "a finding": (
        "passage",
        '{{ find.strongst("itself") }}',
        "unknown name 'find.strongst'; did you mean 'find.strongest'",
    ),
    "an argument": (
        "passage",
        '{{ find.strongest("itself", sauce="corpus") }}',
        r"find\.strongest.*unexpected keyword argument 'sauce'",
    ),
    "data": ("passage", "{{ data.lenght }}", "'data.lenght'; did you mean 'data.length'"),
    "of another kind": (
        "sweep",
        '{{ figure("attention_map") }}',
        "cannot be placed here: It is drawn of a passage, and is given a sweep",
    ),
    "of a table": ("passage", '{{ figure("classes_by_layer") }}', "drawn of a table"),
    "no panels": ("conditions", '{{ figure("filler_lines") }}', r"data=find\.panels\("),
    "panels": (
        "conditions",
        f'{{{{ figure("attention_map", data=find.panels([(0, 0, 0)], {PLAIN})) }}}}',
        "drawn of a passage, and is given panels",
    ),
    "a condition": (
        "conditions",
        '{{ find.head(0, 0, 0, "taken", "polit") }}',
        "unknown condition 'polit'; did you mean 'polite'",
    ),
    "a renamed condition": (
        "conditions",
        '{% set both = {"none": "a", "filler": "b"} %}\n{{ find.panels([(0, 0, 0)], both) }}',
        "unknown condition 'none'; there are: plain, polite",
    ),
    "a text of a condition": (
        "conditions",
        '{{ data.models[0].condition("filler").label }}',
        "unknown condition 'filler'",
    ),
    "of one model": ("several", "{{ find.length }}", r"write `compared\[0\]\.find`"),
}


@pytest.mark.parametrize(("kind", "body", "said"), WRONG.values(), ids=WRONG)
def test_what_there_cannot_be_is_told_with_its_line(tmp_path, kind, body, said):
    study = article(tmp_path, kind, f"\nText.\n\n{body}\n")
    line = study.body[: study.body.index("Text.")].count("\n") + 3 + body.count("\n")
    with pytest.raises(ReportError, match=rf"a\.md\.j2, line {line}: .*{said}"):
        check_prose(study)


def test_mistakes_in_parts_are_told_with_the_name_of_the_part(tmp_path):
    (tmp_path / "part.md.j2").write_text("One\n\n{{ nothing_known }}\n")
    study = article(tmp_path, "passage", '{% include "part.md.j2" %}\n')
    with pytest.raises(ReportError, match=r"part\.md\.j2, line 3: unknown name 'nothing_known'"):
        check_prose(study)
    study = article(tmp_path, "passage", '{% include "prat.md.j2" %}\n')
    with pytest.raises(ReportError, match=r"a\.md\.j2, line \d+: no template 'prat\.md\.j2'"):
        check_prose(study)


def test_a_cover_that_is_no_figure_of_the_article(tmp_path):
    study = article(tmp_path, "passage", "")
    study.template.write_text(study.template.read_text().replace("cover: update", "cover: updat"))
    with pytest.raises(ReportError, match=r"line 6: cover 'updat_magnitude' is no figure of this"):
        check_prose(read_study(study.template))


@pytest.mark.parametrize("cover", ["", "cover: update_magnitude\n"])
def test_an_article_without_a_figure_is_not_refused_for_a_cover(tmp_path, cover):
    path = tmp_path / "a.md.j2"
    path.write_text(f"---\n{ABOUT}{cover}---\nWords alone.\n", "utf-8")
    with pytest.raises(ReportError, match=r"a\.md\.j2, line \d: this article has no figure; place"):
        check_prose(read_study(path))


FINE = {
    "set before": ("passage", "{% set one = 1 %}{{ one }}"),
    "items of a loop": ("passage", "{% for one, two in [(1, 2)] %}{{ one + two }}{% endfor %}"),
    "a macro": ("passage", "{% macro said(what) %}{{ what }}{% endmacro %}{{ said(1) }}"),
    "a name asked about": ("passage", "{% if thing is defined %}{{ thing }}{% endif %}"),
    "found": ("passage", "{% call finding() %}{{ find.values('itself').mean() }}{% endcall %}"),
    "a state from data": (
        "passage",
        '{{ figure("attention_map", **find.strongest("itself").state) }}',
    ),
    "where it can be drawn": (
        "sweep",
        '{% if can_draw("attention_map") %}{{ figure("attention_map") }}{% endif %}',
    ),
    "where there is one model": (
        "several",
        "{% if compared | length == 1 %}{{ find }}{% endif %}",
    ),
    "where there is the condition": (
        "conditions",
        '{% if "filler" in find.added %}{{ find.head(0, 0, 0, "taken", "filler") }}{% endif %}',
    ),
    "a key made up": (
        "conditions",
        '{{ figure("filler_effect", key="a_%d" | format(1), data=find.panels([(0, 0, 0)], {})) }}'
        '{{ ref("a_1") }}',
    ),
}


@pytest.mark.parametrize(("kind", "body"), FINE.values(), ids=FINE)
def test_what_may_be_is_not_refused(tmp_path, kind, body):
    check_prose(article(tmp_path, kind, body))


def test_names_of_each_kind_are_those_that_templates_get(tmp_path):
    for made in (hand_made, hand_table, hand_sweep, hand_conditions):
        measured = made.study(tmp_path / made.__name__ / "0123456789ab")
        given = {"data": measured} | folders.findings(measured)
        known = folders.finding_names(measured.kind)
        assert given.keys() == known.keys()
        assert all(isinstance(given[name], cls) for name, cls in known.items() if cls)


def test_prose_is_checked_before_anything_is_read_or_measured(tmp_path, monkeypatch):
    folder = tmp_path / "templates" / "articles"
    folder.mkdir(parents=True)
    article(folder, "passage", "{{ kompared }}")
    monkeypatch.setattr(measuring, "datasets", None)
    with pytest.raises(ReportError, match="unknown name 'kompared'"):
        pipeline.read(pipeline.Request(project.Project(tmp_path)))
