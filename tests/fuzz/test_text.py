"""Any text through what makes it safe for Markdown, YAML, XML, HTML, JSON: it stays that text."""

import html
import json
import math
import re
from html.parser import HTMLParser
from types import SimpleNamespace
from xml.etree import ElementTree

import markdown
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from report import text
from report.datasets import store
from report.datasets.formats import passage
from report.figures.build import still
from report.figures.build.find import figure_named
from report.kinds.passage.data import PassageData
from report.pages import filters
from report.pages.templates import environment
from report.text import quoted, shortened, whole
from tests.figures import hand_made
from tests.fuzz.profile import examples

PIECES = [
    *("</script>", "<img src=x onerror=alert(1)>", "{{ 7*7 }}", "{% raw %}", "{#", "[a](b)"),
    *("![a](b)", "| a | b |", "<!--", "-->", "---", "```", "***", "# a", "1. a", "&amp;", "&#0;"),
    *("\\", "`", "''", '"', "\0", "\x1b[31m", "\r\n", "\n\n", "\t", "\u2028", "\u2029", "\u202e"),
    *("\u200d", "\ufeff", "\ud83d", "\ude00", "\U0001f600", "\ufffe", "\uffff", "\U0010ffff"),
    *("e\u0301", "x" * 500, "]]>", "$x$", ":::", "!!! note", "??? a", "[^1]", "~~", "==", "^^"),
    *("{.a}", "*[a]: b", "\x85", "\xa0"),
]
TEXTS = st.lists(
    st.sampled_from(PIECES) | st.text(st.characters(), max_size=12) | st.text(max_size=12),
    max_size=5,
).map("".join)

EXTENSIONS = ["tables", "attr_list", "md_in_html", "footnotes", "abbr", "def_list", "admonition"]


class Words(HTMLParser):
    """What an HTML text shows, and the tags that it has."""

    def __init__(self, content):
        super().__init__(convert_charrefs=True)
        self.shown, self.tags = "", []
        self.feed(content)
        self.close()

    def handle_data(self, data):
        self.shown += data

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def as_browsers_read(value):
    """A text after references to its characters were read: HTML has no NUL, and no line ends but
    one kind."""
    return html.unescape("".join(f"&#{ord(character)};" for character in value))


@pytest.mark.promise("same-text")
@examples(200)
@given(TEXTS)
@example("\0")
@example(" ".join(PIECES))
def test_markdown_shows_the_text_and_makes_nothing_of_it(value):
    value = whole(value)
    made = markdown.markdown(f"before {filters.markdown_text(value)} after", extensions=EXTENSIONS)
    found = Words(made)
    assert [tag for tag, _ in found.tags] == ["p"]
    assert " ".join(found.shown.split()) == (
        " ".join(f"before {as_browsers_read(value)} after".split())
    )


@pytest.mark.promise("same-text")
@examples(200)
@given(TEXTS)
@example("\n".join(PIECES))
def test_yaml_reads_the_text(value):
    value = whole(value)
    line = f"title: {filters.yaml_text(value)}"
    assert len(line.splitlines()) == 1
    assert yaml.safe_load(line) == {"title": value}


@pytest.mark.promise("same-text")
@examples(200)
@given(TEXTS)
def test_xml_can_hold_the_text(value):
    value = whole(value)
    escaped = html.escape(text.xml_text(value))
    found = ElementTree.fromstring(f"<a>{escaped}</a>").text or ""
    assert len(found.replace("\r", "")) <= len(value)
    assert found.replace("\n", "") == text.NOT_IN_XML.sub("\ufffd", value).replace(
        "\r", "\n"
    ).replace("\n", "")


@examples(200)
@given(TEXTS)
def test_anchors_quotes_and_labels(value):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", text.slug(value))
    said = quoted(value)
    assert said.isprintable()
    assert len(said.encode()) < 1000
    assert whole(whole(value)) == whole(value)
    assert len(whole(value)) <= len(value)
    label = passage.token_label(whole(value))
    assert label
    assert label.strip(" ")
    assert not re.search(
        "[\0-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]", label
    )
    assert filters.reading_minutes(value, 3) >= 1
    shown = Words(str(filters.broken_lines(label)))
    assert {tag for tag, _ in shown.tags} <= {"br"}


@examples(300)
@given(st.floats() | st.integers(-(10**18), 10**18))
@example(math.nan)
@example(math.inf)
@example(-math.inf)
@example(5e-324)
@example(1.7e308)
def test_numbers_read_well(value):
    for said in (
        text.number(value),
        text.percent(value),
        filters.spread(SimpleNamespace(value=value, error=abs(value))),
        filters.percent_spread(SimpleNamespace(value=value, error=math.nan)),
    ):
        assert said
        assert "-" not in said
        assert "nan" not in said
        assert "inf" not in said
    assert text.large(abs(int(value)) if math.isfinite(value) else 0)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return hand_made.study(tmp_path_factory.mktemp("made"))


def with_texts(data, texts):
    """The data of a study whose tokens are others."""
    pieces = [{"id": n, "text": texts[n % len(texts)]} for n in range(hand_made.LENGTH)]
    about = dict.fromkeys(
        ("name", "title", "source", "licence", "language"), whole(texts[0]) or "a"
    )
    told = passage.encode(SimpleNamespace(**about), pieces)
    store.write(data.path / "passage.json", told)
    return PassageData(data.path), told


@pytest.mark.promise("same-text")
@examples(60)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_tokens_of_any_text_are_read_as_they_were_and_shown(made, texts):
    data, told = with_texts(made, texts)
    assert json.loads((data.path / "passage.json").read_text("utf-8")) == told
    assert [token.text for token in data.tokens] == [each["text"] for each in told["tokens"]]
    content = (
        environment()
        .get_template("_passage.html.j2")
        .render(tokens=data.tokens, passage=data.passage, shaded=True, model="a", opens=None)
    )
    found = Words(content)
    spans = [attrs for tag, attrs in found.tags if tag == "span" and "title" in attrs]
    assert not {tag for tag, _ in found.tags} & {"script", "img", "a", "style", "iframe"}
    assert not [name for _, attrs in found.tags for name in attrs if name.startswith("on")]
    assert len(spans) in (0, hand_made.LENGTH)
    shown = "".join(found.shown.split())
    for token in data.tokens:
        assert "".join(shortened(token.label, 400).split()) in shown


@pytest.mark.promise("same-text")
@examples(4)
@given(st.lists(TEXTS, min_size=4, max_size=6))
def test_a_picture_of_tokens_of_any_text_is_svg(made, texts):
    import vl_convert

    data, _ = with_texts(made, texts)
    attention_map = figure_named("attention_map")
    spec = still.specification(attention_map, data, layer=0, head=1)
    drawn = vl_convert.vegalite_to_svg(spec)
    root = ElementTree.fromstring(drawn)
    assert root.tag.endswith("svg")
    assert not [each for each in root.iter() if each.tag.endswith("script")]
    assert attention_map.alt(data, layer=0, head=1)
