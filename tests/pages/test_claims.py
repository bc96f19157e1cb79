"""Claims: a sentence is published only where the data bear it out, and has no number of its own."""

import pytest

from report.errors import ReportError
from report.pages.claims import failure
from report.pages.new import stands_in
from report.pages.render import failing, names_of
from report.pages.templates import environment
from report.study.study import read_study
from tests import rendered
from tests.figures import hand_made


def render(tmp_path, text, **values):
    path = tmp_path / "article.md.j2"
    path.write_text("First line.\n" + text, "utf-8")
    template = environment(tmp_path).get_template(path.name)

    def claim_fails(*about):
        raise ReportError(failure(*about))

    return template.render(claim_fails=claim_fails, **values).removeprefix("First line.\n")


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
