"""Verifies a built site as a reader's browser would meet it, without a browser.

Every file must be the one that the build listed. Every link, anchor, picture, figure and dataset
must resolve inside the site, as must what style sheets and scripts load. Every dataset must be the
one that was measured, by the hash in its manifest. No page may hold what is not allowed (see
`allowed.py`), and every page must have the policy that stops foreign scripts.
Figures must be drawn from datasets that are there: specifications name them. The site map, the
feed, the index of the search, `robots.txt` and `CNAME` must be what machines take them for.
"""

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.parsers import expat

from report import files
from report.datasets import store, whole
from report.errors import ReportError, command
from report.files import unreplaced
from report.kinds import folders, questions
from report.pages.lists import HEADS
from report.site import protect, sums
from report.site.address import built_for
from report.site.links import in_script, in_styles, is_foreign, leads_to

BROKEN = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What is raised on the way through JSON that is not as it should be."""


def check_figure(page: Path, specification: str, datasets: str, folder: Path) -> list[str]:
    """What is missing or broken of what one chart of a page is drawn from, as phrases.

    specification, datasets: addresses as the page has them; folder: of the site
    """
    path = leads_to(specification, page, folder)
    if path is None:
        return [f"no specification at {specification}"]
    try:
        paths = _of_all_models(path)
    except ReportError as error:
        return [str(error)]
    return [
        problem for each in paths for problem in _check_specification(page, each, datasets, folder)
    ]


def _of_all_models(path):
    """The specification at a path, and those of other models that its figure can change to."""
    try:
        others = _report(path).get("models", {})
        names = [name for name in others.values() if name != path.name]
    except (OSError, *BROKEN):
        return [path]  # it is broken, and will be said to be
    return [path, *(files.inside(path.parent, name) for name in names)]


def _check_specification(page, path, datasets, folder):
    """The same of one specification, and of the one that the build compiled of it, which is the one
    that a page's script draws."""
    try:
        report = _report(path)
        states = _extremes(report["controls"])
        urls = {_filled(report["data"]["url"], state) for state in states}
        tokens = report["data"].get("tokens", "passage.json")  # None: no token is named
        words = {_filled(tokens, state) for state in states} if tokens else ()
        needed = [*sorted(urls), *sorted(words), _manifest(datasets, urls)]
    except OSError:
        return [f"no specification {path.name}"]
    except BROKEN as error:
        return [f"specification is broken ({error!r})"]
    problems = [
        f"no dataset at {url}"
        for url in dict.fromkeys(filter(None, needed))
        if leads_to(f"{datasets}{url}", page, folder) is None
    ]
    compiled = path.with_suffix(".vega.json")
    try:
        same = _report(compiled) == report
    except OSError:
        return [*problems, f"no specification {compiled.name}"]
    except BROKEN as error:
        return [*problems, f"specification {compiled.name} is broken ({error!r})"]
    return problems if same else [*problems, f"{compiled.name} was not compiled of {path.name}"]


def _report(path):
    """What a specification tells the page's script."""
    return json.loads(path.read_bytes().decode("utf-8"))["usermeta"]["report"]


def _filled(url, state):
    """The address of a state's dataset, as the page's script makes it."""
    return re.sub(r"{(\w+)}", lambda name: str(state[name[1]]), url)


def _manifest(address, urls):
    """Address of the manifest of a figure's datasets; below an article's there is one a model."""
    of_article = address.rstrip("/").rpartition("/")[0].endswith("datasets")
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


NAMED = {"og:url", "og:image"}
"""<meta property=...> that holds an address."""

READ = dict.fromkeys((".css", ".html", ".js", ".svg", ".txt", ".xml"), files.LARGEST_TEXT)
READ[".json"] = store.LARGEST
"""Ending of the files that are read whole -> the bytes that one may have."""

SHOWN = 12
"""Problems listed in the error message; the rest are counted."""


class _Page(protect.Page):
    """What an HTML page links to, what it loads, and its anchors, beside its policy."""

    def __init__(self):
        super().__init__()
        self.anchors = {"", "__top"}
        self.links = []
        self.figures = []
        """(name, address of the specification, address of the datasets), one a chart"""
        self._figure = None, None
        self.pictures_without_alt = 0
        self.styles = []
        """Style sheets in the page itself, and style attributes."""
        self._in_style = False

    def handle_starttag(self, tag, attributes):
        super().handle_starttag(tag, attributes)
        at = dict(attributes)
        self.anchors |= {at[key] for key in ("id", "name") if at.get(key)}
        if tag == "img" and "alt" not in at:
            self.pictures_without_alt += 1
        self._in_style = tag == "style"
        if at.get("style"):
            self.styles.append(at["style"])
        for candidate in (at.get("srcset") or "").split(","):
            if candidate.strip():
                self.links.append(candidate.split()[0])
        if at.get("data-embed"):
            self.links.append(f"{at['data-embed']}#{at.get('id') or ''}")
        if "data-figure" in at:
            self._figure = at["data-figure"], at.get("data-datasets")
        if "data-spec" in at:
            name, datasets = self._figure
            self.figures.append((name, at["data-spec"], datasets))
        if tag == "meta" and at.get("property") in NAMED:
            self.links.append(at.get("content") or "")
        self.links += [at[key] for key in ("href", "src", "poster") if at.get(key) is not None]

    def handle_endtag(self, tag):
        super().handle_endtag(tag)
        self._in_style = False

    def handle_data(self, data):
        super().handle_data(data)
        if self._in_style:
            self.styles.append(data)


def check_site(folder: Path) -> dict[str, int]:
    """Check every file, page and dataset of the site in `folder`.

    returns: how many were checked of pages, links, figures, pictures, datasets
    raises: ReportError that lists what is wrong, file by file; or that says that the site was built
        anew meanwhile
    """
    folder = Path(folder)
    with unreplaced(folder):
        return _check(folder)


def _check(folder):
    if not (folder / "index.html").is_file():
        raise ReportError(
            f"{folder}: no built site here (index.html missing); run `{command('site')}`."
        )
    require_files(folder)
    problems = sums.problems(folder) + protect.strays(folder)
    for path, drawing in protect.drawings(folder).items():
        where = path.relative_to(folder).as_posix()
        problems += [f"{where}: line {refused.line}: {refused.why}" for refused in drawing.refused]
    site = _address(folder, problems)
    pages = _read_pages(folder, problems)
    counts = Counter(pages=len(pages))
    for path, page in pages.items():
        where = path.relative_to(folder).as_posix()
        of_page = _check_links(path, page, pages, folder, counts, site) + _check_figures(
            path, page, folder, counts
        )
        if page.pictures_without_alt:
            of_page.append(f"pictures without alt text: {page.pictures_without_alt}")
        of_page += protect.problems_of(page)
        in_page = [each for text in page.styles for each in in_styles(text) if not is_foreign(each)]
        of_page += _check_loaded(path, in_page, folder, site)
        problems += [f"{where}: {problem}" for problem in of_page]
    for pattern, links_in in (("*.css", in_styles), ("*.js", in_script)):
        problems += _check_files(folder, pattern, links_in, site)
    anchors = {path: page.anchors for path, page in pages.items()}
    problems += check_services(folder, site, anchors)
    problems += check_heads(folder, anchors)
    problems += check_datasets(folder, counts)
    if problems:
        more = f" (and {len(problems) - SHOWN} more)" if len(problems) > SHOWN else ""
        listed = "\n  ".join(map(_printable, problems[:SHOWN]))
        number = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise ReportError(f"{folder}: {number}{more}:\n  {listed}")
    return dict(counts)


def require_files(folder: Path) -> None:
    """Stop for what no host serves as it lies here: links, devices, a repository of git; and for a
    file that no reader would wait for, nor anybody who checks it.

    raises: ReportError that names the first
    """
    for path in sorted(folder.rglob("*")):
        if path.name == ".git":
            what = "belongs to a repository of git"
        elif path.is_symlink():
            what = "is a link"
        elif not (path.is_file() or path.is_dir()):
            what = "is neither a file nor a folder"
        elif path.suffix in READ and path.is_file() and path.stat().st_size > READ[path.suffix]:
            what = f"has more than {READ[path.suffix] / 1e6:.0f} MB"
        else:
            continue
        where = path.relative_to(folder).as_posix()
        raise ReportError(
            f"{folder}: {where} {what}, which cannot be published; put a file in its place, or "
            "remove it."
        )


def _address(folder, problems):
    """What the site was built for, "" if it does not say; what it says may be no address. (Without
    an address, Zensical says "/".)"""
    address = built_for(folder)
    try:
        urlsplit(address)
        return address
    except ValueError:
        problems.append(f"index.html: {address} is not the address of a site")
        return ""


def _printable(problem):
    """A problem in one line, whatever the names of files and the addresses in it hold."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in problem)


def _read_pages(folder, problems):
    """The pages of a site that can be read, by path; what stops the others joins `problems`."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        with _reading(path, folder, problems):
            html = path.read_bytes().decode("utf-8")
            page = _Page()
            page.feed(html)
            page.close()
            pages[path] = page
    return pages


@contextmanager
def _reading(path: Path, folder: Path, problems: list[str]) -> Iterator[None]:
    """Whatever stops the reading of a file is one of the problems, and not the end of the check."""
    where = path.relative_to(folder).as_posix()
    try:
        yield
    except UnicodeDecodeError as error:
        problems.append(f"{where}: is not UTF-8 text ({error.reason} at byte {error.start})")
    except (OSError, ValueError, AssertionError) as error:  # an assertion of Python's HTMLParser
        problems.append(f"{where}: cannot be read ({error})")


def _check_links(path, page, pages, folder, counts, site):
    problems = []
    for link in page.links:
        try:
            if site and link.startswith(site):  # as on the host it is built for
                link = urlsplit(link)._replace(scheme="", netloc="").geturl()
            parts = urlsplit(link)
        except ValueError:
            problems.append(f"{link} is no address")
            continue
        if parts.scheme or parts.netloc:
            continue  # of another host, mailto:, data:
        target = leads_to(link, path, folder, urlsplit(site).path)
        if target is None:
            problems.append(f"{link} leads nowhere")
            continue
        counts["pictures" if target.suffix in (".svg", ".png") else "links"] += 1
        anchor = unquote(parts.fragment)
        is_page = target in pages and not anchor.startswith(("only-", ":~:"))
        # "fn:1", or "fig-1:layer=2": a figure's state; "head=L1H2": what a page is about
        anchors = {anchor, anchor.partition(":")[0], anchor.partition("=")[0]}
        if is_page and not anchors & pages[target].anchors:
            missing = min(anchors, key=len)
            problems.append(f"{link}: that page has no anchor #{missing}")
    return problems


def _check_figures(path, page, folder, counts):
    problems = []
    for name, specification, datasets in page.figures:
        of_figure = check_figure(path, specification or "", datasets or "", folder)
        problems += [f"figure {name}: {problem}" for problem in of_figure]
        counts["figures"] += leads_to(specification or "", path, folder) is not None
    return problems


def _check_files(folder, pattern, links_in, site):
    """What is wrong with what files load. links_in: finds the addresses in a text"""
    problems = []
    for path in sorted(folder.rglob(pattern)):
        with _reading(path, folder, problems):
            links = links_in(path.read_bytes().decode("utf-8"))
            where = path.relative_to(folder).as_posix()
            of_file = _check_loaded(path, links, folder, site)
            problems += [f"{where}: {problem}" for problem in of_file]
    return problems


def _check_loaded(path, links, folder, site):
    """What is wrong with the addresses of what a browser loads for a file by itself."""
    problems = []
    for link in links:
        if is_foreign(link):
            problems.append(f"loads {link} from another host")
        elif leads_to(link, path, folder, urlsplit(site).path) is None:
            problems.append(f"{link} leads nowhere")
    return problems


def check_datasets(folder: Path, counts: dict[str, int]) -> list[str]:
    """Problems of the datasets of a built site: phrases that begin with the file, or the folder.

    Each has to be the one that was measured, as its manifest says, and that one fitted its schema
    when it was written. Then those of one kind and model have to fit together.

    folder: of the site
    counts: its entry "datasets" grows by one a dataset, but for manifests
    """
    problems = []
    for path in sorted(each.parent for each in folder.glob("datasets/*/*/manifest.json")):
        where = path.relative_to(folder).as_posix()
        try:
            manifest = store.read(path / "manifest.json")
            counts["datasets"] += len(manifest["files"])
            problems += [f"{where}/{problem}" for problem in whole.problems(path, manifest)]
            for kind in sorted(
                {manifest["kind"], *(each for each in questions() if each in manifest)}
            ):
                folders.verify(kind, path)
        except ReportError as error:
            problems.append(f"{where}: {error}")
    return problems


def check_heads(folder: Path, anchors: Mapping[Path, set[str]]) -> list[str]:
    """Problems of the file by which pages find those of heads: phrases that begin with its name.

    folder: of the site; anchors: path of a page -> its anchors
    """
    path = folder / HEADS
    if not path.is_file():
        return []
    try:
        content = json.loads(path.read_bytes())
        to = [(each["at"].partition("#")[0], {"head"}) for each in content["atlases"]]
        to += [(f"articles/{name}/", set()) for name in [*content["articles"], *content["titles"]]]
        for atlas in content["atlases"]:
            to += [(f"articles/{name}/", set()) for of in atlas["named"].values() for name in of]
    except (OSError, *BROKEN) as error:
        return [f"{HEADS}: cannot be read ({error!r})"]
    problems = []
    for address, needed in dict.fromkeys((address, frozenset(of)) for address, of in to):
        target = leads_to(address, folder / "index.html", folder)
        if target is None:
            problems.append(f"{HEADS}: {address} leads nowhere")
        elif not needed <= anchors.get(target, set()):
            problems.append(f"{HEADS}: {address} is not the page of a head")
    return problems


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
