"""What tests of an article's words share: it is rendered without charts, and read as text."""

import html
import re
from dataclasses import replace

from report.figures.build.find import figure_named
from report.pages import article, render, sentences

CAPTION = r'<figure .*?<figcaption>(.*?) <span class="live-figure__links".*?</figure>'
"""A figure, and what is said under it."""


FOLD = "<summary>(?:How to (?:read|use) it|More)</summary>"


def captions_alone(text):
    """An article with its figures replaced by what is said under them, folded or not."""
    return re.sub(CAPTION, r"\1", re.sub(FOLD, "", text))


def without_passage(text):
    """An article without the tokens of its passage and what stands above them."""
    text = re.sub(r'<div class="passage__(?:bar|long).*?</div>\n?', "", text, flags=re.DOTALL)
    return re.sub(r'(<div class="passage-frame">\s*)?<div class="passage".*?</div>', "", text)


NEEDS_A_LIVE_FIGURE = re.compile(
    r"\b(Point at|[Cc]lick|[Cc]hoose a|Move|[Tt]ooltip|[Ss]liders?|[Ss]witch(es)?|arrow keys)\b"
)
"""Words that are not true of a picture; see `ArticleFigures.live` and a figure's `use`."""


def no_chart(data, **state):
    """A specification that nothing can be drawn of."""
    return {"usermeta": {"report": {"data": {"url": ""}, "controls": []}}}


def words_only(monkeypatch):
    """Draw nothing: pictures and charts have tests of their own."""
    monkeypatch.setattr(render, "write_pictures", lambda *arguments: None)
    monkeypatch.setattr(render, "write_cover", lambda *arguments: None)
    monkeypatch.setattr(render.vega, "vega", lambda specification: {})
    monkeypatch.setattr(render, "with_sidenotes", lambda text: text)  # copies of what is there
    monkeypatch.setattr(sentences, "MOST", 0)  # of every state of every figure
    monkeypatch.setattr(
        article,
        "figure_named",
        lambda name, own=None: replace(figure_named(name, own), chart=no_chart),
    )


def text_of(study, data, folder):
    """The Markdown of an article that is rendered into a folder with data of its own.

    Every test of an article's words comes by here, so it sees too that its sentences are whole.
    """
    render.render_article(study, data, folder / "site_src")
    text = (folder / "site_src" / "articles" / study.name / "index.md").read_text("utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", body(text), re.MULTILINE):
        rows = table.replace("|begin|", "").strip().split("\n")
        assert len({row.count("|") for row in rows}) == 1, table
    require_whole(prose(text))
    return text


def plain(text):
    """The article as a reader reads it: no tokens, no figures, no marks."""
    text = re.sub(r'<(div|details) class="table-text.*?</\1>\n', "", text, flags=re.DOTALL)
    text = captions_alone(re.sub(r"</div>\n", "", without_passage(text)))
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def prose(text):
    """What an article says below its question, as a reader reads it."""
    return body(plain(text)).partition("\n")[2]


def require_whole(prose):
    """Assert that every sentence of a text ends, and that nothing in it is missing or doubled."""
    for paragraph in re.split(r"\n\s*\n", prose.strip()):
        joined = " ".join(line.strip() for line in paragraph.strip().split("\n"))
        if joined.startswith(("|", ">")) or "↵" in joined:  # a table, and what models read
            assert joined[0] != "|" or joined[-1] == "|", joined
            continue
        if not joined.startswith(("#", "- ", "!!!", "???", "[^", "```")):
            assert not joined or joined[-1] in ".?:)]", joined
        assert not re.search(r" [.,;:)](?!\w)|[.,;:]{2}(?<!l\.,)|\S {2}", joined), joined
    wrong = r"\b1 (layers|heads|tokens|questions)\b|\bNone\b(?!”)|\bnan\b|\binf\b|\ball 1 "
    assert not re.search(wrong, prose), re.search(wrong, prose)
    notes = re.findall(r"\[\^(\w+)\](?!:)", prose), re.findall(r"\[\^(\w+)\]:", prose)
    assert set(notes[0]) == set(notes[1]), notes


def figures(text):
    """Names of the figures of an article, each of which has a line of its own.

    Every test of an article's words comes by here, so it sees too that no link was escaped.
    """
    assert not re.search("&lt;/?(a|span)[ &]", text)
    found = re.findall(r'data-figure="([\w-]+)"', text)
    alone = re.findall(r'^\n<figure .*?data-figure="([\w-]+)".*</figure>\n$', text, re.MULTILINE)
    assert alone == found  # within a paragraph it would be a part of it
    return found


def answer(text):
    """The sentence in bold that answers an article's question, in its Markdown."""
    return re.search(r'<p class="finding"><strong>([^<]*[.])</strong>', text)[1]


def explains_its_first_head(text):
    """Whether the first short name of a head, "L3H5", is explained there; true if there is none."""
    found = re.search(r"\bL\d+H\d+\b", text)
    head = "head \\d+ of layer \\d+(; both|, and both) count from 0"
    return not found or bool(re.match(rf"{found[0]}(</a>)? (\(|is ){head}", text[found.start() :]))


def begins_with_a_digit(text):
    """Sentences of a text, without figures' links and marks, that begin with one: list of str."""
    joined = re.sub(r"(?<!\n)\n(?!\n)", " ", text)
    return re.findall(r"(?:\n\n|(?<!\bal)[.?!] )(\d.{0,40})", joined)


def body(text):
    """An article below its title and question, without its byline, down to what stands below all
    articles."""
    found = re.split("## (?:Notes|References|How this was measured)", text)[0]
    found = found.partition("every value can be read.")[2]
    found = re.sub(r"\n.* min read.*\n", "\n", found)
    return re.sub(r"\[([^]]*)\]\(\.\./[^)]*\)", r"\1", found)  # links to other pages as words
