"""Share cards: the picture that a shared link shows, a figure beside the title."""

import hashlib
import io
import re
import unicodedata
from importlib import metadata
from pathlib import Path
from xml.sax.saxutils import escape

import vl_convert
from PIL import Image, PngImagePlugin

from report import files
from report.pages.page import Page, Site
from report.text import xml_text

SIZE = 1200, 630
"""Pixels, as link previews ask for."""

SITE_CARD = "assets/card.png"
"""The share card of pages that have none of their own."""

FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
COLUMN = 450
"""Width of the text, in pixels; the rest belongs to the figure."""

PLACE = 858, 322
LARGEST = 564, 504
"""Middle and largest size of the figure, in pixels."""

TITLE_SIZES = (60, 52, 44, 38)
MOST_LINES = 6

VIEW_BOX = re.compile(r'<svg[^<>]* viewBox="([^"]*)"')

MANNER = 1
"""Counts up whenever the same title and figure make another picture."""


def card_path(name: str) -> str:
    """Path of an article's share card from the root of the site."""
    return f"figures/{name}/card.png"


def write_cards(pages: list[Page], site: Site, site_src: Path) -> None:
    """Write a share card for every page, and one for the site with the figure of the newest."""
    for page in pages:
        below = [page.author, f"{page.date:%Y-%m-%d}"]
        _write(site_src / card_path(page.name), site_src, page, site.name, page.title, below)
    if pages:
        _write(site_src / SITE_CARD, site_src, pages[0], "", site.name, [site.description])


def _write(path, site_src, page, above, title, below):
    figure = (site_src / f"{page.cover}-light.svg").read_text("utf-8")
    svg = card_svg(above, title, below, figure)
    made_of = f"{metadata.version('vl-convert-python')} {MANNER} {svg}".encode()
    mark = hashlib.sha256(made_of).hexdigest()
    if _mark(path) != mark:
        files.write_bytes(path, _png(svg, mark))


def _png(svg, mark):
    """The card as PNG, which names what it was drawn from."""
    image = Image.open(io.BytesIO(vl_convert.svg_to_png(svg, scale=1))).convert("RGB")
    note = PngImagePlugin.PngInfo()
    note.add_text("Comment", f"drawn from {mark}")
    content = io.BytesIO()
    image.save(content, "png", pnginfo=note, optimize=True)
    return content.getvalue()


def _mark(path):
    """What an existing card was drawn from; None if it is not there or is no picture."""
    if not Path(path).is_file():
        return None
    try:
        with Image.open(path) as image:
            return image.info.get("Comment", "").removeprefix("drawn from ")
    except OSError:
        return None


def card_svg(above: str, title: str, below: list[str], figure: str) -> str:
    """The card as SVG text: the same arguments give the same text.

    above, title: any text; below: lines of any text; figure: an SVG picture with a viewBox
    """
    size, lines = _fitted(title)
    step = round(size * 1.16)
    first = 150 + size * 0.75
    spans = [
        _text(64, first + i * step, size, 700, "#14203f", line) for i, line in enumerate(lines)
    ]
    small = [part for line in below for part in _wrapped(line, 24, COLUMN)][:4]
    bottom = SIZE[1] - 64 - 34 * (len(small) - 1)
    spans += [_text(64, bottom + 34 * i, 24, 400, "#4a5064", t) for i, t in enumerate(small)]
    if above:
        spans.append(_text(64, 92, 26, 600, "#a8326b", _wrapped(above, 26, COLUMN)[0]))
    # As a part of this picture: in an <image>, the pictures inside the figure would not be drawn.
    box = VIEW_BOX.search(figure)[1]
    width, height = map(float, box.split()[2:])
    scale = min(LARGEST[0] / width, LARGEST[1] / height)
    wide, high = width * scale, height * scale
    left, top = PLACE[0] - wide / 2, PLACE[1] - high / 2
    inside = figure[figure.index(">") + 1 : figure.rindex("</svg>")]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        'width="1200" height="630" viewBox="0 0 1200 630">'
        '<rect width="1200" height="630" fill="#ffffff"/>'
        '<rect width="1200" height="14" fill="#1b2a52"/>'
        f'<rect x="{left - 24:.1f}" y="{top - 24:.1f}" width="{wide + 48:.1f}" '
        f'height="{high + 48:.1f}" rx="10" fill="#ffffff" stroke="#dfe3ec" stroke-width="3"/>'
        f'<svg x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" viewBox="{box}" '
        f'preserveAspectRatio="xMidYMid meet">{inside}</svg>{"".join(spans)}</svg>'
    )


def _text(x, y, size, weight, colour, line):
    return (
        f'<text x="{x}" y="{y:g}" font-family="{FONT}" font-size="{size}" font-weight="{weight}" '
        f'fill="{colour}">{escape(xml_text(line))}</text>'
    )


def _fitted(title):
    """The largest size at which a title fits, and its lines; cut off where none does."""
    for size in TITLE_SIZES:
        lines = _wrapped(title, size, COLUMN)
        if len(lines) * size * 1.16 <= 330:
            return size, lines
    visible = lines[:MOST_LINES]
    return size, [*visible, "…"] if len(lines) > MOST_LINES else visible


def _wrapped(text, size, width):
    """Text in lines no wider than `width` pixels; words that are too long are broken.

    Widths are estimated, from above: what draws the text cannot be asked.
    """
    lines, line, used = [], "", 0.0
    for word in " ".join(str(text).split()).split(" "):
        for part in _parts(word, size, width):
            wide = _width(part, size)
            if line and used + _width(" ", size) + wide > width:
                lines.append(line)
                line, used = "", 0.0
            used += wide + (_width(" ", size) if line else 0)
            line = f"{line} {part}" if line else part
    return [*lines, line]


def _parts(word, size, width):
    part, used = "", 0.0
    for letter in word:
        wide = _width(letter, size)
        if used + wide > width:
            yield part
            part, used = "", 0.0
        part, used = part + letter, used + wide
    yield part


def _width(text, size):
    return size * sum(_em(letter) for letter in text)


def _em(letter):
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if unicodedata.combining(letter):
        return 0.0
    if letter in " ijltf.,:;'|!()[]":
        return 0.34
    return 0.92 if letter in "mwMW@%" else 0.74 if letter.isupper() else 0.6
