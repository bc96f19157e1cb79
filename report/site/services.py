"""Checks of a built site's files for machines: the site map, the feed, the index of the search,
`robots.txt` for crawlers and `CNAME` for hosts of pages."""

import gzip
import json
import re
import zlib
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.parsers import expat

from report.site.links import leads_to

LISTED = re.compile(r"<(?:loc|link|guid)>([^<]*)</|<atom:link href=\"([^\"]*)\"")
"""Addresses in the site map and in the feed."""

INDEXES = {"search/search_index.json": "docs", "search.json": "items"}
"""Where MkDocs and Zensical write what the search knows -> the key of its entries."""

SITE_MAP = re.compile(r"^Sitemap:\s*(.*?)\s*$", re.IGNORECASE | re.MULTILINE)
"""Addresses of site maps in `robots.txt`."""

DOMAIN = re.compile(r"(?=.{4,253}$)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]+")
"""A name of a domain, the content of `CNAME`."""


def check_services(folder: Path, site: str, anchors: Mapping[Path, set[str]]) -> list[str]:
    """Problems of these files, as far as they are there: phrases that begin with a file's name.

    folder: of the site
    site: its address, which begins all whole addresses; "" if it was built without one
    anchors: path of a page -> its anchors
    """
    checks = {
        "sitemap.xml": _check_xml,
        "feed.xml": _check_xml,
        "sitemap.xml.gz": _check_packed,
        "robots.txt": _check_robots,
        "CNAME": _check_domain,
        **dict.fromkeys(INDEXES, _check_index),
    }
    problems = []
    for name, check in checks.items():
        path = folder / name
        if path.is_file():
            try:
                of_file = check(path, folder, site, anchors)
            except (OSError, EOFError, ValueError, zlib.error) as error:
                of_file = [f"cannot be read ({error})"]
            problems += [f"{name}: {problem}" for problem in of_file]
    return problems


def _check_xml(path, folder, site, anchors):
    content = path.read_bytes()
    try:
        expat.ParserCreate().Parse(content, True)
    except expat.ExpatError as error:
        return [f"is not XML ({error})"]
    addresses = map(unescape, map("".join, LISTED.findall(content.decode("utf-8"))))
    return _dead_links(addresses, folder, site)


def _dead_links(addresses, folder, site):
    """Problems of whole addresses that lead to no file of the site: phrases."""
    return [
        f"{address} leads nowhere"
        for address in addresses
        if not address.startswith(site)
        or leads_to(address.removeprefix(site), folder / "index.html", folder) is None
    ]


def _check_packed(path, folder, site, anchors):
    whole = folder / "sitemap.xml"
    beside = whole.read_bytes() if whole.is_file() else b""
    with gzip.open(path) as packed:
        same = beside and packed.read(len(beside) + 1) == beside  # a packed gigabyte stays packed
    return [] if same else ["is not the site map that lies beside it"]


def _check_robots(path, folder, site, anchors):
    return _dead_links(SITE_MAP.findall(path.read_bytes().decode("utf-8")), folder, site)


def _check_domain(path, folder, site, anchors):
    domain = path.read_bytes().decode("utf-8").strip().lower()
    return [] if DOMAIN.fullmatch(domain) else [f"{domain!r} is no name of a domain"]


def _check_index(path, folder, site, anchors):
    try:
        entries = json.loads(path.read_bytes())[INDEXES[path.relative_to(folder).as_posix()]]
        locations = [entry["location"] for entry in entries]
        return [each for location in locations for each in _dead_place(location, folder, anchors)]
    except (LookupError, TypeError, AttributeError, RecursionError) as error:
        return [f"is no index of a search ({error!r})"]


def _dead_place(location, folder, anchors):
    """Problems of a place that the search leads to, a page or an anchor in it: phrases."""
    page = leads_to(location, folder / "index.html", folder)
    if page is None:
        return [f"{location} leads nowhere"]
    anchor = unquote(urlsplit(location).fragment)
    known = anchor in anchors.get(page, {anchor})
    return [] if known else [f"{location}: that page has no anchor #{anchor}"]
