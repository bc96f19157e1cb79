"""Verifies a built site as a reader's browser would meet it, without a browser.

Every link, anchor, picture, figure and dataset must resolve inside the site. Every dataset must
fit its schema and the hash in its manifest. No page may load anything from another host, and every
page must have the policy that stops foreign scripts.
"""

import json
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from report import files
from report.datasets import store
from report.datasets.verify.published import check_datasets
from report.errors import ReportError
from report.pages.provenance import NAME as PROVENANCE
from report.site.address import built_for
from report.site.protect import problems as policy_problems

LOADED = {
    ("img", "src"),
    ("script", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
    ("audio", "src"),
    ("object", "data"),
}
"""(tag, attribute) of what a browser fetches by itself; it follows an <a href> only on a click."""

NOT_FETCHED = {"canonical", "alternate", "prev", "next", "license", "author", "me"}
"""<link rel=...> that names an address without loading it."""

NAMED = {"og:url", "og:image"}
"""<meta property=...> that holds an address."""

LISTED = re.compile(r"<(?:loc|link|guid)>([^<]*)</|<atom:link href=\"([^\"]*)\"")
"""Addresses in the site map and in the feed."""

CSS_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)['\"]?\s*\)|@import\s+['\"]([^'\"]+)")

SHOWN = 12
"""Problems listed in the error message; the rest are counted."""


class _Page(HTMLParser):
    """What an HTML page links to, what it loads, and its anchors."""

    def __init__(self):
        super().__init__()
        self.anchors = {"", "__top"}
        self.links = []
        """(address, True if the browser fetches it by itself)"""
        self.figures = []
        """(name, address of the specification, address of the datasets), one a chart"""
        self._figure = None, None
        self.pictures_without_alt = 0
        self.styles = []
        """Style sheets in the page itself, and style attributes."""
        self._in_style = False

    def handle_starttag(self, tag, attributes):
        at = dict(attributes)
        self.anchors |= {at[key] for key in ("id", "name") if at.get(key)}
        if tag == "img" and "alt" not in at:
            self.pictures_without_alt += 1
        self._in_style = tag == "style"
        if at.get("style"):
            self.styles.append(at["style"])
        for candidate in (at.get("srcset") or "").split(","):
            if candidate.strip():
                self.links.append((candidate.split()[0], True))
        if at.get("data-embed"):
            self.links.append((at["data-embed"] + "#" + at.get("id", ""), False))
        if "data-figure" in at:
            self._figure = at["data-figure"], at.get("data-datasets")
        if "data-spec" in at:
            name, datasets = self._figure
            self.figures.append((name, at["data-spec"], datasets))
        if tag == "meta" and at.get("property") in NAMED:
            self.links.append((at.get("content") or "", False))
        for key in ("href", "src", "data"):
            if at.get(key) is None or (key == "data" and tag != "object"):
                continue
            fetched = (tag, key) in LOADED and at.get("rel") not in NOT_FETCHED
            self.links.append((at[key], fetched))

    def handle_endtag(self, tag):
        self._in_style = False

    def handle_data(self, data):
        if self._in_style:
            self.styles.append(data)


def check_site(folder: Path) -> dict[str, int]:
    """Check every page and dataset below `folder`.

    returns: how many were checked of pages, links, figures, pictures, datasets
    raises: ReportError that lists what is wrong, page by page
    """
    folder = Path(folder)
    if not (folder / "index.html").is_file():
        raise ReportError(f"{folder}: no built site here (index.html missing); run `make site`.")
    require_files(folder)
    pages = {path: _parse(path) for path in sorted(folder.rglob("*.html"))}
    counts, problems = Counter(pages=len(pages)), []
    site = built_for(folder)
    for path, page in pages.items():
        where = path.relative_to(folder).as_posix()
        found = _check_links(path, page, pages, folder, counts, site) + _check_figures(
            path, page, folder, counts
        )
        if page.pictures_without_alt:
            found.append(f"pictures without alt text: {page.pictures_without_alt}")
        found += policy_problems(path.read_bytes().decode("utf-8"))
        found += [f"loads {url} from another host" for url in _foreign_urls(*page.styles)]
        problems += [f"{where}: {problem}" for problem in found]
    problems += _check_styles(folder) + _check_lists(folder, site)
    problems += check_datasets(folder, counts) + _check_provenance(folder)
    if problems:
        more = f" (and {len(problems) - SHOWN} more)" if len(problems) > SHOWN else ""
        listed = "\n  ".join(problems[:SHOWN])
        number = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise ReportError(f"{folder}: {number}{more}:\n  {listed}")
    return dict(counts)


def require_files(folder: Path) -> None:
    """Stop for what no host serves as it lies here: links, devices, a repository of git.

    raises: ReportError that names the first
    """
    for path in sorted(folder.rglob("*")):
        if path.name == ".git":
            what = "belongs to a repository of git"
        elif path.is_symlink():
            what = "is a link"
        elif not (path.is_file() or path.is_dir()):
            what = "is neither a file nor a folder"
        else:
            continue
        where = path.relative_to(folder).as_posix()
        raise ReportError(
            f"{folder}: {where} {what}, which cannot be published; put a file in its place, or "
            "remove it."
        )


def _parse(path):
    page = _Page()
    page.feed(path.read_text("utf-8"))
    return page


def _check_links(path, page, pages, folder, counts, site):
    problems = []
    for address, fetched in page.links:
        if site and not fetched and address.startswith(site):  # as on the host it is built for
            address = urlsplit(address)._replace(scheme="", netloc="").geturl()
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") or parts.netloc:
            if fetched:
                problems.append(f"loads {address} from another host")
            continue
        if parts.scheme:
            continue  # mailto:, data:, javascript: of the theme
        target = _target(path, address, folder, urlsplit(site).path)
        if target is None or not target.is_file():
            problems.append(f"{address} leads nowhere")
            continue
        counts["pictures" if target.suffix in (".svg", ".png") else "links"] += 1
        anchor = unquote(parts.fragment)
        is_page = target in pages and not anchor.startswith(("only-", ":~:"))
        anchors = {anchor, anchor.partition(":")[0]}  # "fn:1", or "fig-1:layer=2": a figure's state
        if is_page and not anchors & pages[target].anchors:
            missing = min(anchors, key=len)
            problems.append(f"{address}: that page has no anchor #{missing}")
    return problems


def _check_figures(path, page, folder, counts):
    problems = []
    for name, spec_address, datasets_address in page.figures:
        try:
            models = _specifications(_target(path, spec_address or "", folder))
        except ReportError as error:
            problems.append(f"figure {name}: {error}")
            continue
        if not models:
            problems.append(f"figure {name}: no specification at {spec_address}")
        for spec_path in models:
            problems += _check_specification(path, name, spec_path, datasets_address, folder)
        counts["figures"] += bool(models)
    return problems


def _specifications(path):
    """The specification at a path, and those of other models that its figure can change to."""
    if path is None or not path.is_file():
        return []
    try:
        others = json.loads(path.read_text("utf-8"))["usermeta"]["report"].get("models", {})
    except (ValueError, LookupError, TypeError, AttributeError):
        others = {}  # it is broken, and will be said to be
    names = [name for name in others.values() if name != path.name]
    return [path, *(files.inside(path.parent, name) for name in names)]


def _check_specification(path, name, spec_path, datasets_address, folder):
    if not spec_path.is_file():
        return [f"figure {name}: no specification {spec_path.name}"]
    try:
        spec = json.loads(spec_path.read_text("utf-8"))["usermeta"]["report"]
        states = _extremes(spec["controls"])
        urls = {spec["data"]["url"].format(**state) for state in states}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return [f"figure {name}: specification is broken ({error!r})"]
    tokens = {spec["data"]["tokens"]} if spec["data"].get("tokens") else set()
    needed = [*sorted(urls | tokens), _manifest(datasets_address, urls)]
    found = []
    for url in filter(None, needed):
        data = _target(path, (datasets_address or "") + url, folder)
        if data is None or not data.is_file():
            found.append(f"figure {name}: no dataset at {url}")
    return found


def _manifest(address, urls):
    """Address of the manifest of a figure's datasets; below an article's there is one a model."""
    of_article = (address or "").rstrip("/").rpartition("/")[0].endswith("datasets")
    below = [url for url in urls if not url.startswith("../")]  # others were written for the figure
    if of_article and not below:
        return None
    return f"{min(below).partition('/')[0]}/manifest.json" if of_article else "manifest.json"


def _extremes(controls):
    """States with every slider at its first and at its last value."""
    ends = ({}, {})
    for control in controls:
        first, last = control.get("minimum"), control.get("maximum")
        if first is None:
            first = last = control["value"]
        ends[0][control["param"]], ends[1][control["param"]] = first, last
    return ends


def _check_lists(folder, site):
    """What the site map and the feed list must be there, below the address of the site."""
    problems = []
    for path in (folder / "sitemap.xml", folder / "feed.xml"):
        text = path.read_text("utf-8") if path.is_file() else ""
        for address in map(unescape, map("".join, LISTED.findall(text))):
            inside = address.removeprefix(site) if site else address
            target = _target(folder / "index.html", inside, folder)
            if (site and not address.startswith(site)) or target is None or not target.is_file():
                problems.append(f"{path.name}: {address} leads nowhere")
    return problems


def _check_styles(folder):
    problems = []
    for path in sorted(folder.rglob("*.css")):
        where = path.relative_to(folder).as_posix()
        foreign = _foreign_urls(path.read_text("utf-8"))
        problems += [f"{where}: loads {url} from another host" for url in foreign]
    return problems


def _foreign_urls(*styles):
    """Addresses on other hosts that style sheets load."""
    urls = ("".join(groups) for style in styles for groups in CSS_URL.findall(style))
    return [url for url in urls if re.match(r"(https?:)?//", url)]


def _check_provenance(folder):
    """What is wrong with what pages tell machines of their datasets: every checksum must be right,
    and all datasets told of."""
    problems = []
    for path in sorted(folder.glob(f"datasets/*/{PROVENANCE}")):
        where = path.relative_to(folder)
        try:
            told = store.read(path)["datasets"]
        except ReportError as error:
            problems.append(str(error))
            continue
        sums = {name: value for each in told for name, value in each["files"].items()}
        sums |= {each["manifest"]: each["manifest_sha256"] for each in told}
        for name, value in sums.items():
            file = files.inside(path.parent, name)  # the schema allows no other name
            if not file.is_file():
                problems.append(f"{where}: tells of {name}, which is missing")
            elif files.sha256(file) != value:
                problems.append(f"{where}: {name} is not the file that it tells of")
        there = {p.relative_to(path.parent).as_posix() for p in path.parent.glob("*/manifest.json")}
        problems += [f"{where}: does not tell of {name}" for name in sorted(there - set(sums))]
    return problems


def _target(page, address, folder, root="/"):
    """The file that an address on a page leads to, or None if it lies outside the site.

    root: path of the site on its host, with slashes around it
    """
    root = root or "/"
    here = root + page.relative_to(folder).as_posix()
    path = unquote(urlsplit(urljoin(here, urlsplit(address)._replace(fragment="").geturl())).path)
    if not path.startswith(unquote(root)) or "\0" in path:
        return None
    target = (folder / path.removeprefix(unquote(root))).resolve()
    if not target.is_relative_to(folder.resolve()):
        return None
    target = folder / target.relative_to(folder.resolve())
    return target / "index.html" if target.is_dir() else target
