"""The feed of new articles (RSS 2.0), written where the address of the site is known."""

from datetime import UTC, datetime, time
from email.utils import format_datetime
from pathlib import Path
from xml.etree import ElementTree as Xml

from report import files
from report.pages.page import Page, Site
from report.text import xml_text

FEED = "feed.xml"

NAMESPACES = {
    "atom": "http://www.w3.org/2005/Atom",
    "dc": "http://purl.org/dc/elements/1.1/",
}


def write_feed(pages: list[Page], site: Site, site_src: Path) -> None:
    """Write `feed.xml`. Remove it if the site has no address, since a feed needs whole links.

    pages: newest first
    """
    path = site_src / FEED
    if site.url:
        files.write_text(path, feed(pages, site))
    else:
        files.remove(path)


def feed(pages: list[Page], site: Site) -> str:
    """The feed as XML text; the same pages give the same text."""
    for prefix, uri in NAMESPACES.items():
        Xml.register_namespace(prefix, uri)
    root = Xml.Element("rss", version="2.0")
    channel = Xml.SubElement(root, "channel")
    _add(channel, "title", site.name)
    _add(channel, "link", site.url)
    _add(channel, "description", site.description)
    _add(channel, "language", "en")
    itself = {"href": f"{site.url}{FEED}", "rel": "self", "type": "application/rss+xml"}
    Xml.SubElement(channel, f"{{{NAMESPACES['atom']}}}link", itself)
    if pages:
        _add(channel, "lastBuildDate", _day(max(page.date for page in pages)))
    for page in pages:
        link = f"{site.url}articles/{page.name}/"
        item = Xml.SubElement(channel, "item")
        _add(item, "title", page.title)
        _add(item, "link", link)
        _add(item, "guid", link)
        _add(item, "description", page.summary)
        _add(item, f"{{{NAMESPACES['dc']}}}creator", page.author)
        _add(item, "pubDate", _day(page.date))
        for tag in page.tags:
            _add(item, "category", tag)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _add(parent, tag, text):
    Xml.SubElement(parent, tag).text = xml_text(text)


def _day(day):
    return format_datetime(datetime.combine(day, time(), UTC), usegmt=True)
