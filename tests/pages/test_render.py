"""Articles: figures number themselves, references resolve, mistakes are named with their line."""

import re
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from report.errors import ReportError
from report.figures.build import still
from report.figures.build.find import figure_named
from report.kinds.passage.data import Token
from report.pages import lists
from report.pages import render as pages
from report.pages.article import ArticleFigures
from report.pages.glossary import glossary
from report.pages.sentences import in_two
from report.project import Project
from report.study.study import read_study
from tests.commands import ROOT
from tests.figures import hand_made
from tests.figures.live_page import PROJECT
from tests.rendered import NEEDS_A_LIVE_FIGURE
from tests.unpainted import unpainted

HEADER = """---
title: "On *heads* & <b>tails</b>"
date: 2026-01-02
author: Ann {{ 7*7 }}
summary: "A: summary #1"
tags: [one, "two: 2"]
cover: update_magnitude
---
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return hand_made.study(tmp_path_factory.mktemp("pages") / "datasets" / "a" / "0123456789ab")


@pytest.fixture
def painted():
    """Pictures are drawn in tests that ask for this, which look at them."""


@pytest.fixture(autouse=True)
def nothing_else_drawn(request):
    """In all others an empty picture stands for every one."""
    with nullcontext() if "painted" in request.fixturenames else unpainted():
        yield


def article(tmp_path, body, header=HEADER):
    path = tmp_path / "a.md.j2"
    path.write_text(header + body, "utf-8")
    return read_study(path)


def render(tmp_path, data, body, header=HEADER):
    site_src = tmp_path / "site_src"
    page = pages.render_article(article(tmp_path, body, header), data, site_src)
    return page, (site_src / "articles" / "a" / "index.md").read_text("utf-8")


def test_figures_number_themselves_and_references_may_come_first(tmp_path, data):
    page, text = render(
        tmp_path,
        data,
        'See {{ ref("update_magnitude") }}.\n\n{{ figure("attending_to_itself") }}\n\n'
        '{{ figure("update_magnitude", layer=1) }}\n\nAgain {{ ref("attending_to_itself") }}.\n',
    )
    assert re.findall(r'<figure [^>]*id="(fig-\d)" data-figure="(\w+)"', text) == [
        ("fig-1", "attending_to_itself"),
        ("fig-2", "update_magnitude"),
    ]
    assert 'See <a class="figure-ref" href="#fig-2">Figure 2</a>.' in text
    assert 'Again <a class="figure-ref" href="#fig-1">Figure 1</a>.' in text
    assert re.search(r'name="layer" min="0" max="\d+" value="1"', text)
    assert "updates/1.json" in text
    assert page.cover == "figures/a/update_magnitude-cover"
    assert page.minutes >= 1


def test_a_caption_names_the_figure_that_has_explained_the_same(tmp_path, data):
    names = ("update_magnitude", "attending_to_itself", "attending_to_first_token")
    _, text = render(tmp_path, data, "".join(f'{{{{ figure("{name}") }}}}\n\n' for name in names))
    one, first, again = re.findall(r"<figcaption>(.*?)</figcaption>", text)
    shared = figure_named("attending_to_itself").caption(data).partition("\n")[2].replace("\n", " ")
    assert shared in first
    assert shared not in again
    assert "A point or a cell is a head." in again
    assert "how often its top target is the first token" in again
    see = 'How to read it: see <a class="figure-ref" href="#fig-2">Figure 2</a>.'
    assert see in again
    assert "How to read it: see" not in one + first
    embed = tmp_path / "site_src" / "embed" / "a" / "attending_to_first_token.html"
    assert shared in embed.read_text("utf-8")  # nothing stands before it there


def test_what_needs_a_live_figure_stands_apart_and_is_said_once(tmp_path, data):
    names = ("update_magnitude", "update_alignment", "attending_to_itself", "attention_map")
    article = 'A sentence. {{ live("Move the *slider*.") }} Another.\n\n'
    _, text = render(
        tmp_path, data, article + "".join(f'{{{{ figure("{name}") }}}}\n\n' for name in names)
    )
    assert 'A sentence. <span class="live-only">Move the *slider*.</span> Another.' in text
    strength, way, itself, scores = re.findall(r"<figcaption>(.*?)</figcaption>", text)
    for caption, figure in (
        (strength, figure_named("update_magnitude")),
        (itself, figure_named("attending_to_itself")),
    ):
        assert f'<span class="live-only">{figure.use(data)}</span>' in caption
    assert "live-only" not in way  # "How to read it: see Figure 1" leads to it
    assert way.count("How to read it") == 1
    assert re.search(r"<summary[^>]*>More</summary>", way)
    assert "Point at a cell" in scores.partition('<span class="live-only">')[2]
    embed = tmp_path / "site_src" / "embed" / "a" / "update_alignment.html"
    assert (
        f'<span class="live-only">{figure_named("update_alignment").use(data)}</span>'
        in embed.read_text("utf-8")
    )


TEMPLATES = sorted((ROOT / "templates" / "articles").rglob("*.j2"))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_articles_say_apart_what_needs_a_live_figure(template):
    text = re.sub(r"\{\{ live\(.*?\) \}\}", "", template.read_text("utf-8"))
    assert not NEEDS_A_LIVE_FIGURE.search(text)


@pytest.mark.parametrize(
    ("body", "has"),
    [
        ("A note.[^1]\n\n[^1]: Its text.\n", True),
        ("No note, but [^1 in the text.\n", False),
        ("A note.[^1]\n\n[^1]: Its text.\n\n///Footnotes Go Here///\n", False),
    ],
)
def test_footnotes_have_a_heading_of_their_own(tmp_path, data, body, has):
    _, text = render(tmp_path, data, '{{ figure("update_magnitude") }}\n\n' + body)
    assert ("\n\n## Notes\n\n///Footnotes Go Here///\n\n" in text) == has
    assert text.count("///Footnotes") == (1 if "[^1]:" in body else 0)


def test_terms_lead_to_the_glossary_and_unknown_ones_are_named_with_their_line(tmp_path, data):
    _, text = render(
        tmp_path,
        data,
        '{{ term("score", "scores") }}, {{ term("alibi") }}, {{ term("update") }}\n\n'
        '{{ figure("update_magnitude") }}\n',
    )
    assert '<a class="term" href="../../glossary/#score">scores</a>' in text
    assert '<a class="term" href="../../glossary/#alibi">ALiBi</a>' in text
    assert '<a class="term" href="../../glossary/#update">update</a>' in text
    with pytest.raises(
        ReportError, match=r"a\.md\.j2, line 11: unknown term 'skore'; known: .*sco"
    ):
        render(tmp_path, data, '\n\n{{ term("skore") }}\n')


def test_the_name_of_a_head_says_of_which_model_it_is(tmp_path, data):
    body = (
        "{% set h = find.strongest('first_token') %}"
        "{% call finding() %}\nIt is {{ h.label }}.\n{% endcall %}\n{{ h.label }} `{{ h.place }}` "
        '{{ term("head-name", h.label) }}\n\n{{ figure("update_magnitude") }}\n'
    )
    page, text = render(tmp_path, data, body)
    assert re.fullmatch(r"It is L\dH\d\.", page.answer)
    name = page.answer[6:-1]
    span = f'<span class="head-name" data-model="0123456789ab">{name}</span>'
    assert text.count(span) == 2
    link = f'<a class="term" href="../../glossary/#head-name">{name}</a>'
    assert span.replace(name, link) in text


def test_the_name_of_a_head_may_be_of_another_model(tmp_path):
    several = hand_made.several(tmp_path / "datasets" / "a")
    body = (
        '{{ "L1H2" }} {{ term("head-name", "L1H3", of=data.models[1]) }} {{ "L1H2, L1H3" }}\n\n'
        '{{ figure("attention_map") }}\n'
    )
    _, text = render(tmp_path, several, body, HEADER.replace("update_magnitude", "attention_map"))
    prose = text.partition('<figure class="live-figure')[0]
    found = re.findall(r'<span class="head-name" data-model="(\w+)">(?:<a[^>]*>)?(\w+)<', prose)
    assert found == [("step100", "L1H2"), ("step2000", "L1H3")]
    # whose figures have data of one model each
    apart = ArticleFigures("a", Project(tmp_path), several.models[0])
    assert apart.model_named(several.models[1]) == "000000000001"


def test_a_model_s_name_in_what_was_found_breaks_at_no_hyphen(tmp_path, data, monkeypatch):
    monkeypatch.setitem(data.manifest["model"], "name", "a-1x2")
    said = "{% call finding() %}\nOf {{ model.name | text }}.\n{% endcall %}\n\nText.\n"
    page, _ = render(tmp_path, data, f'{said}\n{{{{ figure("update_magnitude") }}}}\n')
    assert page.answer == 'Of <span class="name">a&#45;1x2</span>.'


def test_what_was_found_stands_in_the_article_and_on_the_home_page(tmp_path, data):
    one = '{{ ref("update_magnitude") }}'
    said = "{% call finding() %}\nOf {{ data.heads }}\n\u00a0% " + one + ". More.\n{% endcall %}\n"
    page, text = render(tmp_path, data, f'{said}\n{{{{ figure("update_magnitude") }}}}\n')
    answer = f"Of {data.heads} \u00a0% Figure 1."
    assert page.answer == answer
    linked = answer.replace("Figure 1", '<a class="figure-ref" href="#fig-1">Figure 1</a>')
    assert f'\n<p class="finding"><strong>{linked}</strong> More.</p>\n\n' in text
    question = text.index('<p class="standfirst"')
    assert text.index("\n# ") < question < text.index('<p class="finding">')
    assert page.figures == {"update_magnitude": (1, "Magnitude of Updates")}
    with pytest.raises(ReportError, match="finding\\(\\) is called twice"):
        render(tmp_path, data, f'{said}{said}{{{{ figure("update_magnitude") }}}}\n')


def test_the_figure_of_a_finding_stands_below_its_answer(tmp_path, data):
    shown = 'figure("update_magnitude")'
    _, text = render(
        tmp_path, data, f"{{% call finding({shown}) %}}One. Two.{{% endcall %}}\n\nText.\n"
    )
    said = ['<p class="finding"><strong>One.</strong></p>', "<figure", "finding--more", "byline"]
    places = [text.index(each) for each in [*said, "\nText."]]
    assert places == sorted(places)
    assert '\n<p class="finding finding--more">Two.</p>\n\n<div class="byline"' in text


def test_pictures_are_drawn_for_light_dark_and_phones_and_only_when_something_changed(
    tmp_path, data, monkeypatch, painted
):
    render(tmp_path, data, '{{ figure("update_magnitude") }}\n')
    folder = tmp_path / "site_src" / "figures" / "a"
    light, dark = (folder / f"update_magnitude-{s}.svg" for s in ("light", "dark"))
    assert light.read_text() != dark.read_text()
    assert (folder / "update_magnitude-phone-dark.svg").read_text().startswith("<svg")
    drawn = []
    draw = still.drawn
    monkeypatch.setattr(still, "drawn", lambda spec: drawn.append(spec) or draw(spec))
    render(tmp_path, data, 'Other prose.\n\n{{ figure("update_magnitude") }}\n')
    assert drawn == []
    render(tmp_path, data, '{{ figure("update_magnitude", layer=0) }}\n')
    assert [spec["width"] for spec in drawn] == [720, 358] * 2 + [480] * 2  # the cover


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ('\n\n{{ figure("no_such") }}', 12, r"unknown figure 'no_such'; known: .*attention_map"),
        ('x\n{{ ref("update_alignment") }}', 11, r"this article has no such figure; it has: up"),
        ("a\nb\n{{ nonsense }}", 12, r"'nonsense' is undefined"),
        ("\n{{ 1 / 0 }}", 11, r"division by zero"),
        ('{{ figure("update_magnitude") }}', 10, r"placed twice"),
        ('{{ figure("update_alignment", layer=9) }}', 10, r"layer=9 is not allowed"),
        ('{{ figure("update_alignment", lyer=1) }}', 10, r"unknown control 'lyer'.*layer"),
        ('{{ find.values("itslf") }}', 10, r"unknown measure 'itslf'; did you mean 'itself'?"),
    ],
)
def test_a_mistake_is_named_with_article_and_line(tmp_path, data, body, line, said):
    with pytest.raises(ReportError, match=rf"a\.md\.j2, line {line}: .*{said}"):
        render(tmp_path, data, '{{ figure("update_magnitude") }}\n' + body)
    assert not (tmp_path / "site_src").exists()


def test_a_cover_that_is_no_figure_of_the_article_is_refused(tmp_path, data):
    with pytest.raises(ReportError, match=r"j2, line \d+: cover 'update_magnitude' is no fig"):
        render(tmp_path, data, '{{ figure("update_alignment") }}\n')


def test_numbers_may_decide_which_figure_is_the_cover(tmp_path, data):
    figures = '{{ figure("update_magnitude") }}\n\n{{ figure("attending_to_itself") }}\n'
    page, text = render(tmp_path, data, figures + '{{ cover("attending_to_itself") }}\n')
    assert page.cover == "figures/a/attending_to_itself-1-cover"
    assert page.cover_alt.split(".")[0] in text
    with pytest.raises(
        ReportError, match=r"line 12: cover\('attention_map'\): this article has no"
    ):
        render(tmp_path, data, figures + '{{ cover("attention_map") }}\n')


def test_a_cover_that_cannot_be_drawn_of_a_model_gives_way_to_the_first_figure(tmp_path):
    data = hand_made.study(tmp_path / "datasets", "no_updates")
    body = (
        '{% if can_draw("update_magnitude") %}{{ figure("update_magnitude") }}{% else %}'
        '{{ left_out("update_magnitude") }}{% endif %}\n\n{{ figure("attending_to_itself") }}\n'
    )
    page, text = render(tmp_path, data, body)
    assert page.cover == "figures/a/attending_to_itself-1-cover"
    assert "could not be told apart" in text
    assert 'id="fig-1" data-figure="attending_to_itself"' in text


def test_a_figure_that_cannot_be_drawn_says_why_and_what_to_write(tmp_path):
    data = hand_made.study(tmp_path / "datasets", "content")
    said = r"line 9: .*cannot be drawn of this model: .* inside {% if can_draw\('attention_br"
    with pytest.raises(ReportError, match=said):
        render(tmp_path, data, '{{ figure("attention_breakdown") }}\n')


def test_parts_of_an_article_lie_beside_it_and_mistakes_in_them_are_named(tmp_path, data):
    (tmp_path / "a").mkdir()
    part = tmp_path / "a" / "part.md.j2"
    part.write_text('One\n{{ figure("update_magnitude") }}{{ thing }}\n')
    body = '{% set thing = "two" %}\n{% include "a/part.md.j2" %}\n'
    _, text = render(tmp_path, data, body)
    assert "</figure>two" in text
    for mistake, said in (("\n{{ 1 / 0 }}", "division"), ("{% if %}", "Expected")):
        part.write_text(mistake)
        line = 1 + mistake.count("\n")
        with pytest.raises(ReportError, match=rf"a/part\.md\.j2, line {line}: .*{said}"):
            render(tmp_path, data, body)


def test_sliders_of_one_layer_and_one_head_are_hidden_and_join_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(hand_made, "LAYERS", 1)
    monkeypatch.setattr(hand_made, "HEADS", 1)
    data = hand_made.study(tmp_path / "datasets")
    names = ("attention_map", "attention_breakdown")
    body = "\n\n".join(f'{{{{ figure("{name}") }}}}' for name in names)
    _, text = render(tmp_path, data, body, HEADER.replace("update_magnitude", "attention_map"))
    hidden = re.findall(r'<label class="live-figure__control" hidden><span>(\w+)', text)
    assert hidden == ["Layer", "Head"] * 2
    assert "Same layer and head" not in text


def test_figures_of_one_head_can_be_joined(tmp_path, data):
    names = ("attention_map", "attention_breakdown", "bias_vs_position")
    for count, said in ((3, "1, 2 and 3"), (2, "1 and 2")):
        body = "\n\n".join(f'{{{{ figure("{name}") }}}}' for name in names[:count])
        header = HEADER.replace("update_magnitude", "attention_map")
        _, text = render(tmp_path, data, body, header)
        assert text.count(f"Same layer and head in Figures {said}<") == count


def test_lists_name_every_article_once_under_each_tag(tmp_path, data):
    page, _ = render(tmp_path, data, '{{ figure("update_magnitude") }}\n')
    lists.render_lists([page], [data], tmp_path / "site_src")
    read = {
        name: (tmp_path / "site_src" / folder / "index.md").read_text()
        for name, folder in (("index", ""), *((n, n) for n in ("archive", "tags", "models")))
    }
    assert read["index"].count('href="articles/a/"') == 2  # picture, title
    assert "figures/a/update_magnitude-phone-light.svg#only-light" in read["index"]
    assert "figures/a/update_magnitude-cover-light.svg#only-light" in read["archive"]
    assert read["archive"].count('href="../articles/a/"') == 2
    assert "## 2026" in read["archive"]
    assert read["tags"].count("articles/a/index.md") == 2
    assert "{: #two-2 }" in read["tags"]
    assert data.manifest["model"]["weights_sha256"] in read["models"]


def test_what_belongs_to_a_removed_article_goes(tmp_path):
    for path in (
        "articles/a/index.md",
        "articles/b/index.md",
        "articles/a.md",
        "figures/b/f.json",
        "datasets/a/k/m.json",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    lists.remove_departed(["a"], tmp_path)
    left = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file())
    assert left == ["articles/a/index.md", "datasets/a/k/m.json"]


def test_the_passage_breaks_where_a_token_does(data):
    texts = {"\n": "↵", "\nWhen": "↵When", "↵": "↵", " lamp": " lamp"}
    tokens = [Token(i, i, text, label, False) for i, (text, label) in enumerate(texts.items())]
    shown = SimpleNamespace(kind="table", tokens=tokens, passage={"language": "en"})
    html = str(ArticleFigures("hand", PROJECT, shown).passage())
    chips = re.findall(r"<span [^>]*>(.*?)</span>", html)
    assert chips == ["↵<br>", "↵<br>When", "↵", " lamp"]
    assert html.count("<br>") == 2


def test_what_only_builders_need_is_folded_away(tmp_path, data):
    builders = re.compile(
        r"\b(make|plots) site|python -m|sweep: true|article’s template|front matter"
    )
    for template in TEMPLATES:
        said = re.sub(r"\{[#%].*?[#%]\}", "", template.read_text("utf-8").rpartition("\n---\n")[2])
        assert not builders.search(said), template
    _, text = render(tmp_path, data, '{{ figure("update_magnitude") }}\n')
    open_text = re.sub(r"^(\?\?\? .*|    .*|# Written by .*)$", "", text, flags=re.MULTILINE)
    assert not builders.search(open_text)
    assert "`attention-focus-plots site --model owner/name` measures another model." in text


def test_one_sentence_stands_under_a_figure_and_the_others_are_folded(tmp_path, data):
    _, text = render(tmp_path, data, '{{ figure("update_magnitude") }}\n')
    figure = figure_named("update_magnitude")
    (what, how), (first, others) = map(in_two, (figure.caption(data), figure.seen(data)))
    (caption,) = re.findall(r"<figcaption>(.*?)</figcaption>", text)
    shown, folded = re.split(r"<summary[^>]*>How to read it</summary>", caption)
    assert f" {what} <span" in shown
    assert f" {first}</span> <details" in shown
    assert re.sub("<.*?>", "", folded).startswith(f"{others} {how}")
    assert figure.use(data) in folded


WITH_NOTES = """\
<a href="#fig-1">Figure 1</a> shows rest.[^sink] It does so often.[^sink]

| Head | Share |
|---|---|
| 1[^table] | 2 |

In code, `[^sink]` is no note.

[^table]: In a table.

[^sink]: Xiao et al., *Efficient
Streaming Language Models* (2023).
[^long]: The first of two paragraphs.

    The second.

Another.[^long] And one more[^lost].
"""


def test_a_note_stands_after_its_first_reference_with_its_number_in_the_list():
    text = pages.with_sidenotes(WITH_NOTES)
    assert re.findall(r"<small.*?</small>", text) == [
        '<small class="sidenote" data-search-exclude><span class="sidenote__number">2</span> '
        "Xiao et al., *Efficient Streaming Language Models* (2023).</small>"
    ]
    assert text.index("<small") == WITH_NOTES.index("[^sink]") + len("[^sink]")
    assert re.sub(r"<small.*?</small>", "", text) == WITH_NOTES


@pytest.mark.parametrize("text", ["No note.", "[^a]: Nobody refers to it.", "Lost.[^a]"])
def test_without_a_pair_nothing_changes(text):
    assert pages.with_sidenotes(text) == text


PLACED = re.compile(r'figure\("(\w+)"(?:, key="(\w+)")?')


def test_every_figure_that_shows_a_term_is_placed_in_an_article_that_ships():
    """One that is not would have no link, and nobody would notice."""
    texts = (path.read_text("utf-8") for path in TEMPLATES)
    pairs = (pair for text in texts for pair in PLACED.findall(text))
    names = {key or name for name, key in pairs}
    assert len(names) > 15
    for term in glossary().values():
        assert term.figures, term.anchor
        assert set(term.figures) <= names, term.anchor
