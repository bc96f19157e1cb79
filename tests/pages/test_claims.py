"""Claims: a sentence is published only where the data bear it out, and has no number of its own."""

from dataclasses import replace

import numpy as np
import pytest
from jinja2 import Environment

from report.datasets.formats.pair import AT_TOKEN, CHANNELS, HEADS
from report.datasets.read.study import open_study
from report.errors import ReportError
from report.pages.claims import ThroughErrors, failure, source_of
from report.pages.new import stands_in
from report.pages.render import failing, names_of
from report.pages.templates import environment
from report.study.study import read_study
from tests import made_answers, made_conditions, rendered
from tests.commands import ROOT
from tests.figures import (
    hand_atlas,
    hand_difference,
    hand_made,
    hand_regions,
    hand_sweep,
    hand_table,
)


def render(tmp_path, text, through_errors=False, **values):
    """What a template becomes; or, through its errors, its claims that do not hold."""
    path = tmp_path / "article.md.j2"
    path.write_text("First line.\n" + text, "utf-8")
    jinja, failed = environment(tmp_path), []
    if through_errors:
        jinja.code_generator_class = ThroughErrors

    def claim_fails(*about):
        failed.append(failure(*about))
        if not through_errors:
            raise ReportError(failed[0])

    text = jinja.get_template(path.name).render(claim_fails=claim_fails, **values)
    return failed if through_errors else text.removeprefix("First line.\n")


def test_a_claim_that_holds_is_its_sentence(tmp_path):
    text = "{% claim many > all / 2 %}Most: {{ many }} of {{ all }}.{% endclaim %} More."
    assert render(tmp_path, text, many=7, all=9) == "Most: 7 of 9. More."


def test_one_that_does_not_hold_is_named_with_its_numbers(tmp_path):
    text = "{% claim many > all / 2 and name != 'x' %}Most heads: {{ many }}.{% endclaim %}"
    with pytest.raises(ReportError) as caught:
        render(tmp_path, text, many=3, all=9, name="L1H2")
    for part in ("article.md.j2, line 2", "Most heads: …", "many > all / 2", "many is 3"):
        assert part in str(caught.value)
    assert "all is 9" in str(caught.value)
    assert "name is L1H2" in str(caught.value)


def test_what_stands_after_else_is_published_instead(tmp_path):
    text = "{% claim many > 5 %}Most.{% else %}Few: {{ many }}.{% endclaim %}"
    assert render(tmp_path, text, many=3) == "Few: 3."
    assert render(tmp_path, text, many=7) == "Most."
    with pytest.raises(ReportError, match="this does not hold"):
        render(tmp_path, "{% claim many > 5 %}Most.{% else %} {% endclaim %}", many=3)


def test_claims_stand_in_each_other_and_in_calls(tmp_path):
    text = (
        "{% macro box() %}[{{ caller() }}]{% endmacro %}{% call box() %}{% claim a %}A{% if b %}"
        "{% claim c %}C{% endclaim %}{% endif %}{% endclaim %}{% endcall %}"
    )
    assert render(tmp_path, text, a=True, b=True, c=True) == "[AC]"
    assert render(tmp_path, text, a=True, b=False, c=False) == "[A]"
    with pytest.raises(ReportError, match="needs c, and c is False"):
        render(tmp_path, text, a=True, b=True, c=False)


@pytest.mark.parametrize(
    "words",
    [
        "It is 5 % of them.",
        "It is 0.5.",
        "It is .5.",
        "Two of {{ n }} heads.",
        "{{ n }} and L16H0.",
        "{{ 7 }} heads.",
        "{{ '7 heads' | upper }}.",
        "{{ '7' if n else 'none' }}.",
        "{% if n %}in layer 3{% endif %}.",
        "{{ n + 1 }}",
    ],
)
def test_a_number_that_is_typed_is_refused(tmp_path, words):
    with pytest.raises(ReportError, match="line 2: the claim says"):
        render(tmp_path, "{% claim n %}" + words + "{% endclaim %}", n=7)


@pytest.mark.parametrize(
    "words",
    [
        "SmolLM2 has {{ n }}.",
        "See <a href='page-2'>there</a>.",
        "See [there](page/2).",
        "A note.[^2]",
        "{{ values[2] }} in one of them.",
        "{{ values | first | round(1) }}",
    ],
)
def test_other_digits_are_no_numbers(tmp_path, words):
    render(tmp_path, "{% claim n %}" + words + "{% endclaim %}", n=7, values=[1.5, 2, 3])


@pytest.mark.parametrize("text", ["{% claim %}A.{% endclaim %}", "{% claim n %}A."])
def test_a_claim_that_is_not_whole_is_refused(tmp_path, text):
    with pytest.raises(ReportError, match="line 2"):
        render(tmp_path, text, n=7)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{% set a = none_of[3].b %}{% claim a > 2 %}A.{% endclaim %}", ["element 3", "a is not"]),
        ("{% claim n / 0 > 2 %}A.{% endclaim %}", ["division by zero", "n is 7"]),
        ("{% claim n > 9 and m.o > 1 %}A.{% endclaim %}", ["m.o > 1, and n is 7, m.o is not"]),
        ("{% claim n > nothing %}A.{% endclaim %}", ["n is 7, nothing is None"]),
        ("{% claim [n][m.o] > 9 %}A.{% endclaim %}", ["made of what is not known"]),
        ("{% claim n > nan %}A.{% endclaim %}", ["n > nan, and n is 7, nan is no number"]),
        (
            "{% set n = 99 %}{% set n = m.o.p %}{% claim n > 9 %}A.{% endclaim %}",
            ["n is not known"],
        ),
        ("{% if n %}{{ m.o.p }}{% claim n > 9 %}A.{% endclaim %}{% endif %}", ["n is 7"]),
        (
            "{% macro box(x) %}{{ caller() }}{% endmacro %}{% call box(m.o.p) %}"
            "{% claim n > 9 %}A.{% endclaim %}{% endcall %}",
            ["n is 7"],
        ),
    ],
)
def test_a_claim_that_cannot_be_computed_does_not_hold(tmp_path, text, parts):
    """…nor does an error before it keep it from being tried."""
    values = {"n": 7, "m": {}, "none_of": [], "nothing": None, "nan": float("nan")}
    (sentence,) = render(tmp_path, text, through_errors=True, **values)
    for part in ("article.md.j2, line 2", "does not hold: 'A.'", *parts):
        assert part in sentence


@pytest.mark.parametrize(
    "written",
    [
        "(a + b) * c - (d - e) / 2 ** f",
        "(a - b) | abs < c / 10 and not (d or e.f[-1])",
        "(a | selectattr('b', 'lt', 0.8) | list)[0].c > d[1:] | sum",
        "a[b, c] in [d, (1, 'x')] or (e < f) == g(h, i=-j) is none",
    ],
)
def test_a_condition_is_quoted_as_it_is_written(written):
    (output,) = Environment().parse(f"{{{{ {written} }}}}").body
    assert source_of(output.nodes[0]) == written


HEADER = """---
title: Heads
date: 2026-01-02
author: Ann
summary: Where do they look?
{about}---
"""
BODY = (
    '{{ figure("attention_map") }}\n\n{% claim data.heads > 9 %}Many heads: {{ data.heads }}.'
    "{% endclaim %}\n\n{% claim data.layers == 3 %}{{ data.layers }} layers.{% endclaim %}\n"
)


@pytest.fixture
def article(tmp_path, monkeypatch):
    """A function from lines of front matter and options to an article, and its data."""
    rendered.words_only(monkeypatch)
    data = hand_made.study(tmp_path / "datasets" / "a" / "0123456789ab")

    def made(about="", body=BODY, **options):
        path = tmp_path / "templates" / "articles" / "a.md.j2"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEADER.format(about=about) + body, "utf-8")
        return read_study(path, **options), data

    return made


def test_an_article_with_a_claim_that_does_not_hold_is_not_written(article, tmp_path):
    study, data = article()
    (sentence,) = failing(study, data)
    for part in ("a.md.j2, line 9", "Many heads: …", "data.heads > 9", "data.heads is 4"):
        assert part in sentence
    with pytest.raises(ReportError) as caught:
        rendered.text_of(study, data, tmp_path)
    assert str(caught.value) == sentence
    assert not (tmp_path / "site_src" / "articles").exists()
    study, data = article(body=BODY.replace("== 3", "== 5"))
    assert len(failing(study, data)) == 2
    with pytest.raises(ReportError, match=r"heads > 9.* 1 more do not hold"):
        rendered.text_of(study, data, tmp_path)
    study, data = article(body=BODY.replace("> 9", "> 3"))
    assert failing(study, data) == []
    assert "Many heads: 4." in rendered.text_of(study, data, tmp_path)


@pytest.mark.parametrize(
    ("about", "options", "own"),
    [
        ("", {}, True),
        ("about: [{name}]\n", {}, True),
        ("about: [another]\n", {}, False),
        ("about: [{name}, another]\n", {}, False),
        ("about: [{name}]\n", {"layers": "2"}, False),
        ("about: [{name}]\n", {"dtype": "bfloat16"}, True),
        ("", {"layers": "2"}, True),
    ],
)
def test_of_what_an_article_is_not_about_it_has_the_words_of_its_kind(
    article, tmp_path, about, options, own
):
    _, data = article()
    about = about.format(name=data.manifest["model"]["name"])
    study, data = article(about, BODY.replace("> 9", "> 3"), **options)
    text = rendered.text_of(study, data, tmp_path)
    assert ("Many heads: 4." in text) == own
    assert ("What do the attention heads of" in text) != own
    assert bool(stands_in(study, names_of(data))) != own
    assert "\n# Heads\n" in text


def of_fillers(folder):
    models = [{"name": name, "layers": 6, "heads": 9} for name in ("one", "two", "three")]
    called = {"random": ("random", "Random tokens")}
    conditions = ("none", "filler", "sentence", "random", "newline", "front")
    data = made_conditions.study(folder, models, conditions=conditions, called=called)
    answers = made_answers.write(folder / "answers", signs=(-1, -1))
    return open_study([model.path for model in data.models], apart=[answers])


def of_other_heads(folder):
    """The frozen pair, as if each head had done what the one before it in its layer did."""
    data = open_study([*(ROOT / "frozen" / "who-tells-it-where-to-look").iterdir()])
    data.manifest["model"]["name"] = "turned"
    for of in (data._tables["tokens"], data._tables["heads"]):
        for name in of.keys() & {*HEADS, *AT_TOKEN}:
            of[name] = np.roll(of[name], len(of[name]) // data.layers // data.heads)
    for name in CHANNELS:
        data._tables["receivers"][name] = np.roll(data._tables["receivers"][name], 1)
    return data


def of_three(folder):
    return open_study([hand_atlas.study(folder / name).path for name in ("one", "two", "three")])


OTHER_DATA = {
    "attention-focus-plots": lambda folder: hand_made.several(folder, ("rotary", "alibi_bias")),
    "filler-tokens": of_fillers,
    "how-heads-form": hand_sweep.study,
    "reading-a-table": hand_table.study,
    "what-four-bits-do": lambda folder: hand_difference.study(folder, ("Q8_0", "Q4_0", "MXFP4")),
    "the-same-heads-three-times": of_three,
    "which-heads-do-what": hand_atlas.study,
    "who-gets-the-drink": None,
    "which-sentence-do-heads-come-back-to": hand_regions.study,
    "who-tells-it-where-to-look": of_other_heads,
}
"""Article that ships -> a function from a folder to data of its kind, of numbers at random."""


def test_every_article_that_ships_is_tried_on_other_data():
    articles = (ROOT / "templates" / "articles").glob("*.md.j2")
    assert OTHER_DATA.keys() == {path.name.removesuffix(".md.j2") for path in articles}


@pytest.mark.parametrize("name", OTHER_DATA)
def test_what_articles_say_fails_where_the_data_are_others(name, tmp_path, monkeypatch, request):
    rendered.words_only(monkeypatch)
    make = OTHER_DATA[name]
    data = make(tmp_path / "data") if make else request.getfixturevalue("prediction")
    template = ROOT / "templates" / "articles" / f"{name}.md.j2"
    study = read_study(template)
    assert stands_in(study, names_of(data))
    study = replace(study, front_matter=study.front_matter.model_copy(update={"about": []}))
    failed = failing(study, data)
    assert all(sentence.startswith(f"{template}, line ") for sentence in failed)
    assert len({sentence for sentence in failed if "cannot be computed" not in sentence}) >= 5
    with pytest.raises(ReportError) as caught:
        rendered.text_of(study, data, tmp_path)
    assert str(caught.value).startswith(failed[0])
    assert not (tmp_path / "site_src").exists()


def test_damaged_data_are_said_to_be_damaged_not_a_claim_to_be_wrong(article):
    study, data = article(body=BODY.replace("data.layers ==", 'find.count("itself", 0.5) =='))
    (data.path / "heads" / "itself.json").write_text("{}", "utf-8")
    with pytest.raises(ReportError, match=r"itself.json: is not the file that was measured"):
        failing(study, data)
