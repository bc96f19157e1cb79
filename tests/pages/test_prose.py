"""What prose asks for and there cannot be is refused before a model runs, with template and line:
also controls that a figure does not have, and values beyond the model."""

import pytest

from report import pipeline, project
from report.errors import ReportError
from report.figures.build.find import figure_named
from report.kinds import folders
from report.measuring import run as measuring
from report.pages.new import kinds, new_article
from report.pages.prose import check_prose, check_state
from report.study.study import read_studies, read_study
from tests.commands import ROOT
from tests.figures import hand_conditions, hand_made, hand_sweep, hand_table
from tests.figures.live_page import OF

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


SIZE = {"layers": 3, "heads": 4}


def placed(name, **state):
    written = "".join(f", {key}={value}" for key, value in state.items())
    return f'{{{{ figure("{name}", key="again"{written}) }}}}'


SHIPPED = read_studies(ROOT / "templates" / "articles")


@pytest.mark.parametrize("study", SHIPPED, ids=[study.name for study in SHIPPED])
def test_articles_that_ship_ask_for_nothing_that_there_cannot_be(study):
    check_prose(study)


@pytest.mark.parametrize("kind", kinds())
def test_new_articles_too(tmp_path, kind):
    where = project.Project(tmp_path)
    check_prose(read_study(new_article("mine", kind, where)))


PLAIN = '{"plain": "", "polite": ""}'
PANELS = "find.panels([(0, 0, 0)]"
WRONG = [
    ("passage", "{{ kompared }}", "unknown name 'kompared'; did you mean 'compared'"),
    ("passage", '{{ figur("a") }}', "unknown name 'figur'; did you mean 'figure'"),
    ("passage", "{{ data.length | cuont }}", "No filter named 'cuont'"),
    ("passage", "{% if %}", "Expected an expression"),
    ("passage", '{{ figure("atention_map") }}', "did you mean 'attention_map'"),
    ("passage", '{% if can_draw("x") %}{% endif %}', "unknown figure 'x'"),
    ("passage", "{{ figure() }}", "figure.*missing a required argument: 'name'"),
    ("passage", '{{ term("haed") }}', "unknown term 'haed'"),
    ("passage", '{{ ref("update_magnitud") }}', "no such figure; did you mean 'update_magnitude'"),
    ("passage", '{{ find.strongst("itself") }}', "'find.strongst'; did you mean 'find.strongest'"),
    ("passage", '{{ find.strongest("itself", sauce="") }}', "unexpected keyword argument 'sauce'"),
    ("passage", "{{ data.lenght }}", "'data.lenght'; did you mean 'data.length'"),
    ("sweep", '{{ figure("attention_map") }}', "is drawn of a passage, and is given a sweep"),
    ("passage", '{{ figure("classes_by_layer") }}', "drawn of a table"),
    ("conditions", '{{ figure("filler_lines") }}', r"data=find\.panels\("),
    ("conditions", f'{{{{ figure("attention_map", data={PANELS}, {PLAIN})) }}}}', "given panels"),
    ("conditions", '{{ find.head(0, 0, 0, "taken", "polit") }}', "'polit'; did you mean 'polite'"),
    (
        "conditions",
        f'{{% set both = {{"none": "a"}} %}}\n{{{{ {PANELS}, both) }}}}',
        "unknown condition 'none'; there are: plain, polite",
    ),
    ("conditions", '{{ data.models[0].condition("filler").label }}', "unknown condition 'filler'"),
    ("several", "{{ find.length }}", r"write `compared\[0\]\.find`"),
    # controls
    ("passage", placed("attention_map", layre=1), "control 'layre'; did you mean 'layer'"),
    ("sweep", placed("repeated_loss", layer=1), "repeated_loss has: none"),
    ("table", placed("classes_by_layer", targt="'value'"), "did you mean 'target'"),
    ("sweep", placed("heads_at_step", habits="'induction'"), "mean 'habit'"),
    ("several", placed("attention_map", modell="'a'"), "mean 'model'"),
    ("passage", placed("attention_map", layer=3), "layer=3 is not .*from 0 to 2"),
    (
        "passage",
        "{% set deep = 9 %}" + placed("attention_map", layer="deep"),
        "layer=9 is not allowed",
    ),
    ("passage", placed("attention_breakdown", head=4), "head=4 is not .*from 0 to 3"),
    ("sweep", placed("habits_by_model", habit="'firsttoken'"), "give one of: "),
    ("passage", placed("attention_map", layer="'1'"), "layer='1' is not allowed"),
    ("passage", placed("attention_map", layer="true"), "layer=True is not allowed"),
    # odd arguments, and deep templates
    ("passage", "{{ figure(name='a', name='b') }}", "the argument 'name' comes tw"),
    ("passage", "{{ figure(5) }}", r"figure\(5\): the name .* in quotes"),
    ("passage", "{{ can_draw([]) }}", r"can_draw\(\[\]\): the name .* in quotes"),
    ("passage", "{{ figure('attention_map', key='../a') }}", r"figure\('\.\./a'\): "),
    ("passage", "{{ figure('attention_map', key=5) }}", r"figure\(5\): "),
    ("passage", "{{ ref(5) }}", r"ref\(5\): this article has no such"),
    ("passage", "{{ cover('update') }}", r"cover\('update'\): .*: update_magnitude"),
    ("passage", f"{{{{ {'(' * 300}1{')' * 300} }}}}", "too m"),
    ("passage", "{% for a in [] %}" * 30 + "{% endfor %}" * 30, "too m"),
    ("passage", f"{{{{ {'-' * 3000}1 }}}}", "too m"),
]


@pytest.mark.parametrize(
    ("kind", "body", "said"), WRONG, ids=[f"{kind} {body[:60]}" for kind, body, _ in WRONG]
)
def test_what_there_cannot_be_is_refused_with_its_line(tmp_path, kind, body, said):
    study = article(tmp_path, kind, f"\nText.\n\n{body}\n")
    line = study.body[: study.body.index("Text.")].count("\n") + 3 + body.count("\n")
    with pytest.raises(ReportError, match=rf"a\.md\.j2, line {line}: .*{said}"):
        check_prose(study, SIZE)


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


FINE = [
    ("passage", "{% set one = 1 %}{{ one }}"),
    ("passage", "{% for one, two in [(1, 2)] %}{{ one + two }}{% endfor %}"),
    ("passage", "{% macro said(what) %}{{ what }}{% endmacro %}{{ said(1) }}"),
    ("passage", "{% macro ref(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ ref('x', 'y') }}"),
    ("passage", "{% if thing is defined %}{{ thing }}{% endif %}"),
    ("passage", "{% call finding() %}{{ find.values('itself').mean() }}{% endcall %}"),
    ("passage", '{{ figure("attention_map", **find.strongest("itself").state) }}'),
    ("sweep", '{% if can_draw("attention_map") %}{{ figure("attention_map") }}{% endif %}'),
    ("several", "{% if compared | length == 1 %}{{ find }}{% endif %}"),
    (
        "conditions",
        '{% if "filler" in find.added %}{{ find.head(0, 0, 0, "taken", "filler") }}{% endif %}',
    ),
    (
        "conditions",
        '{{ figure("filler_effect", key="a_%d" | format(1), data=find.panels([(0, 0, 0)], {})) }}'
        '{{ ref("a_1") }}',
    ),
    ("passage", placed("attention_map", layer=2, head=3)),
    ("passage", placed("attention_map", layer="find.strongest('first_token').layer")),
    ("passage", "{% if data.layers > 8 %}" + placed("attention_map", layer=8) + "{% endif %}"),
    ("passage", placed("attention_breakdown", sort_idx=99)),
    ("sweep", placed("heads_at_step", at=40)),
    ("several", placed("attention_map", model="'falcon-8x8'", layer=1)),
]


@pytest.mark.parametrize(("kind", "body"), FINE, ids=[body[:60] for _, body in FINE])
def test_what_may_be_is_not_refused(tmp_path, kind, body):
    check_prose(article(tmp_path, kind, body), SIZE)


def test_nothing_is_said_of_models_whose_size_is_not_known(tmp_path):
    check_prose(article(tmp_path, "passage", placed("attention_map", layer=10**6)))


KNOWN = ("data", "models", "panels", "conditions", "answers", "sweep")
"""Fixtures of data whose figures look nothing up in them before they say what they control."""


@pytest.mark.parametrize("name", [name for of in KNOWN for name in OF[of]])
def test_controls_that_need_no_data_are_known(name):
    with pytest.raises(ReportError, match=rf"unknown control 'x{name}'; .*{name} has: "):
        check_state(figure_named(name), {f"x{name}": 1}, {}, False)


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
