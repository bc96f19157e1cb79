"""The picture that stands for a shared link: its size, what is on it, and when it is drawn."""

import io
import re
from datetime import date
from types import SimpleNamespace
from xml.etree import ElementTree as Xml

import pytest
from PIL import Image, ImageChops

from report.pages import share_card
from report.pages.page import Site

SITE = Site("Heads", "About heads", "")
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'width="90" height="30" viewBox="0 0 90 30"><rect width="90" height="30" fill="{}"/></svg>'
)
HOSTILE = '</text><script>alert(1)</script> & "{{ 7*7 }}" \0 \ud800 \u2028'


@pytest.fixture
def site_src(tmp_path):
    write_figure(tmp_path, "#c80000")
    return tmp_path


def write_figure(site_src, colour):
    folder = site_src / "figures" / "one"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "map-light.svg").write_text(PICTURE.format(colour), "utf-8")


def page(title="One", author="Ann"):
    return SimpleNamespace(
        name="one", title=title, author=author, date=date(2026, 11, 20), cover="figures/one/map"
    )


def written(site_src, **texts):
    share_card.write_cards([page(**texts)], SITE, site_src)
    return site_src / "figures" / "one" / "card.png"


def test_a_card_has_the_size_that_previews_ask_for_and_shows_the_figure(site_src):
    path = written(site_src)
    with Image.open(site_src / share_card.SITE_CARD) as image:  # of the site
        assert image.size == share_card.SIZE
        assert image.getpixel(share_card.PLACE) == (200, 0, 0)
    with Image.open(path) as image:
        assert (image.format, image.size, image.mode) == ("PNG", (1200, 630), "RGB")
        red = image.getpixel(share_card.PLACE)
        # a picture three times as wide as high fills the width of its place
        edge = share_card.PLACE[0] + share_card.LARGEST[0] // 2
        assert red == image.getpixel((edge - 2, share_card.PLACE[1])) == (200, 0, 0)
        assert image.getpixel((edge + 2, share_card.PLACE[1])) == (255, 255, 255)
        assert image.getpixel((share_card.PLACE[0], share_card.PLACE[1] + 100)) == (255, 255, 255)


def test_title_and_author_are_on_it(site_src):
    """Where only the text differs, only the column of text does."""
    pictures = [
        Image.open(io.BytesIO(written(site_src, title=t, author=a).read_bytes()))
        for t, a in (("One", "Ann"), ("Two", "Ann"), ("One", "Bob"))
    ]
    for other, (top, bottom) in ((1, (100, 480)), (2, (480, 630))):
        left, upper, right, lower = ImageChops.difference(pictures[0], pictures[other]).getbbox()
        assert left >= 60
        assert right <= 64 + share_card.COLUMN
        assert top <= upper < lower <= bottom


def test_the_same_card_is_not_drawn_again_and_a_changed_one_is(site_src, monkeypatch):
    drawn = []
    png = share_card._png
    monkeypatch.setattr(share_card, "_png", lambda *made_of: drawn.append(made_of) or png(*made_of))
    first = written(site_src).read_bytes()
    assert len(drawn) == 2  # the article's and the site's
    assert written(site_src).read_bytes() == first
    assert len(drawn) == 2
    written(site_src, title="Another")
    assert len(drawn) == 3
    write_figure(site_src, "#0000c8")
    path = written(site_src, title="Another")
    assert len(drawn) == 5
    before = path.read_bytes()
    path.write_bytes(b"no picture")
    written(site_src, title="Another")
    assert len(drawn) == 6
    assert path.read_bytes() == before


def test_any_text_stays_text():
    svg = share_card.card_svg(HOSTILE, HOSTILE, [HOSTILE], PICTURE.format("red"))
    root = Xml.fromstring(svg.encode())
    assert not [element for element in root.iter() if "script" in element.tag]
    shown = " ".join("".join(text.itertext()) for text in root.findall("{*}text"))
    assert "<script>alert(1)</script>" in re.sub(r" (?=\(|<)", "", shown)
    assert "{{ 7*7 }}" in shown


@pytest.mark.parametrize(
    "title",
    ["Pneumonoultramicroscopicsilicovolcanoconiosis " * 9, "注意力头在做什么" * 12, "W" * 500],
)
def test_a_title_of_any_length_stays_in_its_column(title, site_src):
    with Image.open(written(site_src, title=title)) as image:
        beside = image.crop(
            (64 + share_card.COLUMN, 20, share_card.PLACE[0] - share_card.LARGEST[0] // 2 - 30, 630)
        )
        assert beside.getcolors() == [(beside.width * beside.height, (255, 255, 255))]
        between = image.crop((0, 492, 540, 500))  # of title and author
        assert between.getcolors() == [(between.width * between.height, (255, 255, 255))]
