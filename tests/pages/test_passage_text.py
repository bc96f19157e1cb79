"""What a page shows of a passage: its text, once, whatever its tokens are parts of."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from report.datasets.formats import passage, renderings
from report.datasets.formats.passage import visible
from report.datasets.formats.renderings import TableToken
from report.kinds.passage.data import Token
from report.models.text.tokens import with_parts
from report.pages.article import partial
from report.pages.templates import environment

TEXTS = {
    "Chinese": "山上的灯亮了。",
    "Hindi": "पहाड़ी पर क्षितिज",
    "Arabic": "من أشعل المِصباح؟ لا 123",
    "Hebrew": "מי הדליק את הַמְּנוֹרָה?",
    "emoji": "👩🏽\u200d❤️\u200d👨🏿 🇩🇪🇫🇷",
    "Persian": "می\u200cسوزد",
    "turned": "a\u202eb\u2067ש\u2069",
    "HTML": '<b>é</b> &amp; "ü" ü</span>',
}

OWN = Path("templates")  # of the publication that the tests run in


class Read(HTMLParser):
    """The text of a page, and the attributes of its tokens in order."""

    def __init__(self, html):
        super().__init__()
        self.text, self.tokens, self.characters, self.depth, self.tags = "", [], [], 0, []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "span":
            found = dict(attrs)
            (self.tokens if "token" in found["class"].split() else self.characters).append(found)
            self.depth += 1

    def handle_endtag(self, tag):
        self.depth -= tag == "span"

    def handle_data(self, data):
        self.text += data


def tokens_of(text, size):
    """The tokens of a passage as a dataset has them: `size` bytes each, after an added one."""
    raw, found = text.encode(), [{"id": 0, "text": "<s>", "special": True}]
    for start in range(0, len(raw), size):
        part = raw[start : start + size]
        said = part.decode(errors="replace")
        own = {} if said.encode() == part else {"bytes": part.hex(" ")}
        found.append({"id": start, "text": said, "special": False} | own)
    return [passage.encoded_token(token) for token in with_parts(found)]


def as_read(tokens):
    return [
        Token(
            index,
            token["id"],
            token["text"],
            token.get("label", token["text"]),
            token.get("special", False),
            token.get("part"),
            token.get("bytes"),
        )
        for index, token in enumerate(tokens)
    ]


def html_of(tokens):
    shown = {"tokens": tokens, "passage": {"language": ""}, "shaded": False, "opens": None}
    return str(partial("_passage.html.j2", OWN, **shown))


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", TEXTS)
def test_a_passage_shows_its_text_once_and_a_target_for_every_token(name, size):
    tokens = as_read(tokens_of(TEXTS[name], size))
    page = Read(html_of(tokens))
    # a space that is a token is shown by a sign
    assert page.text.replace("␣", " ") == "<s>" + visible(TEXTS[name])
    assert len(page.tokens) == len(tokens)
    assert page.depth == 0
    for token, attrs in zip(tokens, page.tokens, strict=True):
        assert attrs["title"].startswith(f"id {token.id}")
        number = f"--part:{token.part['number'] - 1}" if token.part else None
        assert attrs.get("style") == number
        assert not (token.part and token.bytes) or attrs["title"].endswith(f"bytes {token.bytes}")
    counts = [token.part["count"] for token in tokens if token.part and token.part["number"] == 1]
    assert [attrs["style"] for attrs in page.characters] == [f"--parts:{n}" for n in counts]
    assert [number for number, attrs in enumerate(page.tokens) if "tabindex" in attrs] == [0]
    assert set(page.tags) == {"div", "span"}


@pytest.mark.parametrize(
    ("text", "runs"),
    [("Hello שלום", None), ("שלום Hello", "rtl"), ("123 «من", "rtl"), ("山", None), ("?!", None)],
)
def test_a_passage_runs_as_its_first_letter_does(text, runs):
    html = html_of(as_read(tokens_of(text, 1)))
    assert (re.search(r'<div class="passage"[^>]* dir="(\w+)"', html) or [None, None])[1] == runs


def test_what_gives_room_and_what_does_not():
    """Pictures and Chinese letters may stand apart; joined letters may not."""
    for text, apart in (("你", True), ("👩🏽", True), ("🇩🇪", True), ("हि", False), ("ب", False)):
        [characters] = Read(html_of(as_read(tokens_of(text, 1)))).characters
        assert ("characters--apart" in characters["class"]) == apart


def test_cells_of_a_table_keep_their_order():
    """A cell from right to left is a piece of its own, so that it takes no other cell along."""
    texts = [("a", 0), (",", -1), ("שם", 1), (",", -1), ("עיר", 2)]
    told = [
        TableToken(n, n, text, text, False, "header" if cell >= 0 else "delimiter", -1, cell)
        for n, (text, cell) in enumerate(texts)
    ]
    text = renderings.RenderedTable("csv", "CSV", told, [])
    about = {"columns": ["a", "שם", "עיר"], "first": True, "shaded": False, "opens": None}
    template = environment().get_template("_table_text.html.j2")
    html = template.render(text=text, tokens=told, **about)
    cells = re.findall(r"<bdi>(.*?)</bdi>", html)
    assert [re.sub("<[^>]*>", "", cell) for cell in cells] == ["שם", "עיר"]
