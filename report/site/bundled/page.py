"""The page of an article as a bundle has it: scripts, styles and pictures are in it, and links lead
into it, to the published site, or nowhere. Text stays as it is.

The contents of an article are folded under its title where the window has no room beside the text:
on a site they are in the drawer that leads to other pages, which a bundle has not.
"""

import json
import posixpath
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

from report.errors import ReportError
from report.files import inside, strict_json
from report.pages.policy import NAME, script_hash
from report.site.allowed import EXECUTED
from report.site.bundled import scripts
from report.site.bundled.scripts import Modules
from report.site.links import is_foreign, leads_to

MARK = "<!-- an article in one file, by attention-focus-plots bundle -->"
"""The second line of a bundle, by which it is known again; also the comment of a .zip."""

GLOSSARY = "assets/glossary.json"
WORD = "word:"
"""Before the name of a term in the bundle's own glossary; no heading has such an anchor."""

OUTSIDE = ("http://", "https://", "mailto:")


class Addresses:
    """The addresses of one article of a built site."""

    def __init__(self, site: Path, name: str, published: str = ""):
        self.site, self.name = site, name
        self.page = site / "articles" / name / "index.html"
        self.root = urlsplit(published).path or "/"
        self.site_url = published if published.startswith(("http://", "https://")) else ""
        """Where the site is published; "" if it does not say."""
        self.published = self.site_url and f"{self.site_url.rstrip('/')}/articles/{name}/"
        self.glossary = _glossary(site)
        self.words = set()
        """The terms of the glossary that the article links to."""

    def file(self, address: str) -> Path | None:
        """The file of the site that an address in the page leads to."""
        return leads_to(address, self.page, self.site, self.root)

    def below(self, address: str) -> str | None:
        """The path in the site of a folder or a file, which may be missing; None if outside."""
        path = posixpath.normpath(posixpath.join("articles", self.name, address))
        if is_foreign(address) or path.startswith(("../", "/")) or path in ("..", "."):
            return None
        return path

    def link(self, address: str, folders: set[str]) -> str | None:
        """Where a link leads in the bundle; None: nowhere, it is to be plain text.

        folders: of the files that the bundle holds
        """
        if address.startswith("#"):
            return address
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        at_home = self.site_url and address.startswith(self.site_url)
        if (parts.scheme or parts.netloc) and not at_home:
            return address if address.lower().startswith(OUTSIDE) else None
        here = parts._replace(scheme="", netloc="").geturl() if at_home else address
        return self._inner(here, unquote(parts.fragment), folders)

    def _inner(self, address, fragment, folders):
        """The same for an address of the site."""
        file = self.file(address)
        path = file and file.relative_to(self.site).as_posix()
        if file == self.page:
            return f"#{quote(fragment, safe=':=,+')}"
        if path == "glossary/index.html" and fragment in self.glossary:
            self.words.add(fragment)
            return f"#{WORD}{quote(fragment)}"
        if path and path.endswith(".json") and any(path.startswith(f"{each}/") for each in folders):
            return quote(path)
        return urljoin(self.published, address) if self.published else None


def _glossary(site):
    """{anchor: (name, text)} of the site's terms; none if it has no glossary.

    raises: ReportError if the file is not what a build writes
    """
    path = inside(site, GLOSSARY)
    if not path.is_file():
        return {}
    try:
        terms = strict_json(path.read_bytes())
        return {anchor: (str(each["name"]), str(each["text"])) for anchor, each in terms.items()}
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError) as error:
        raise ReportError(f"{path}: is not the list of terms; build the site anew.") from error


class Folders(HTMLParser):
    """Goes through a page; `folders` are paths in the site."""

    def __init__(self, addresses):
        super().__init__()
        self.addresses, self.folders = addresses, set()

    def handle_starttag(self, tag, attributes):
        at = dict(attributes)
        for name in ("data-datasets", "data-spec", "data-seen"):
            path = self.addresses.below(at.get(name) or "")
            if at.get(name) and path:
                folder = path if name == "data-datasets" else path.rpartition("/")[0]
                self.folders.add(folder)
        # never the whole site, whatever a page says
        self.folders = {each for each in self.folders if each.count("/") > 0}


STYLE = """<style>
.md-typeset details.contents { border-color: var(--md-default-fg-color--lighter); }
.md-typeset .contents > summary { background: none; padding-inline-start: 0.6rem; }
.md-typeset .contents > summary::before { display: none; }
.md-typeset .contents ul { list-style: none; margin: 0.4rem 0; }
.md-typeset .contents li { margin: 0; }
.md-typeset .contents a { display: block; padding: 0.3rem 0; }
@media print, screen and (min-width: 60em) { .md-typeset details.contents { display: none; } }
</style>
"""
"""From 60em on, the theme shows the contents beside the text."""


class Contents:
    """Collects the headings of an article while its page is read."""

    def __init__(self) -> None:
        self.headings: list[tuple[str, list[str]]] = []
        """Anchor and parts of the text, as HTML, of each."""
        self._reading = False
        self._skipped = False  # within the link that a heading has to itself

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        """Take note of a tag that begins."""
        if tag == "h2" and attributes.get("id"):
            self.headings.append((attributes["id"], []))
            self._reading = True
        elif tag == "a" and "headerlink" in attributes.get("class", "").split():
            self._skipped = True

    def end(self, tag: str) -> None:
        """Take note of a tag that ends."""
        if tag == "h2":
            self._reading = False
        elif tag == "a":
            self._skipped = False

    def text(self, text: str) -> None:
        """Take note of text, as it stands in the page."""
        if self._reading and not self._skipped:
            self.headings[-1][1].append(text)

    def html(self) -> str:
        """The list; "" for an article without headings."""
        listed = "".join(
            f'<li><a href="#{escape(anchor)}">{"".join(parts).strip()}</a></li>'
            for anchor, parts in self.headings
        )
        if not listed:
            return ""
        folded = f'<details class="contents"><summary>Contents</summary><ul>{listed}</ul></details>'
        return f"{STYLE}{folded}\n"


POLICY, CONTENTS, TAIL = "@policy@", "@contents@", "@tail@"

VOID = set("area base br col embed hr img input link meta source track wbr".split())
LEFT_OUT = {
    ("label", "for", "__drawer"),
    ("label", "for", "__search"),
    ("div", "data-md-component", "search"),
    ("nav", "data-md-component", "tabs"),
    ("div", "data-md-type", "navigation"),
    ("nav", "class", "md-footer__inner md-grid"),
}
"""(tag, attribute, value) of what the theme has to lead to other pages."""

KEPT_LINKS = {"canonical", "license", "author", "me"}
"""<link rel=...> that loads nothing; `icon` and `stylesheet` are put into the page."""

LICENCE = "assets/vega.LICENSE.txt"


class Page:
    """A page that is to be filled in with its policy, and with what comes at its end."""

    def __init__(self, parts: list[str], reader: "_Reader"):
        self._parts = parts
        self.hashes = reader.hashes
        """Of the scripts in it."""
        self.modules = reader.modules
        self.folders = reader.folders
        """Folders of the site that its figures fetch files from."""
        words = reader.words()
        self.beside = reader.modules.beside | ({GLOSSARY: words} if words else {})
        """Files that its scripts fetch besides: path in the site -> content."""
        licence = reader.addresses.site / LICENCE
        self.licence = licence.read_text("utf-8") if licence.is_file() else ""
        self._contents = reader.contents.html()

    def text(self, policy: str, tail: str) -> str:
        """The whole page; tail: HTML before the end of its body."""
        meta = f'<meta http-equiv="{NAME}" content="{policy}">'
        given = {POLICY: meta, CONTENTS: self._contents, TAIL: tail}
        return "".join(given.get(part, part) for part in self._parts)


def rewritten(html: str, addresses: Addresses) -> Page:
    """The page of an article of a built site, whose policy has been checked.

    raises: ReportError if something in it can be in no bundle
    """
    folders = Folders(addresses)
    folders.feed(html)
    folders.close()
    reader = _Reader(addresses, folders.folders)
    reader.feed(html)
    reader.close()
    return Page(reader.finished(), reader)


class _Reader(HTMLParser):
    """Goes through a page and writes that of the bundle into `parts`."""

    def __init__(self, addresses, folders):
        super().__init__(convert_charrefs=False)
        self.addresses, self.folders = addresses, folders
        self.modules = Modules(addresses.site)
        self.contents = Contents()
        self.parts, self.hashes = [f"<!doctype html>\n{MARK}"], []
        self.late = []  # scripts that run when the page has been read
        self._skipped, self._depth = None, 0
        self._script = None  # (what becomes of a script's text, its parts so far)
        self._has_glossary = False  # whether the glossary is written
        self._plain = False  # within a link that leads nowhere

    def finished(self) -> list[str]:
        """The parts, with the end of the page where the page itself has none."""
        if TAIL not in self.parts:
            self.parts += [self._glossary(), *self.late, TAIL]
        return self.parts

    def words(self) -> bytes:
        """The texts of the terms that the page links to, as its scripts fetch them."""
        known = self.addresses.glossary
        texts = {
            f"{WORD}{each}": dict(zip(("name", "text"), known[each], strict=True))
            for each in sorted(self.addresses.words)
        }
        return json.dumps(texts, ensure_ascii=False).encode() if texts else b""

    # --- tags -----------------------------------------------------------------------------------

    def handle_starttag(self, tag, attributes):
        if self._skipped:
            self._depth += tag == self._skipped
            return
        at = {name: value or "" for name, value in attributes}
        if any(tag == of and at.get(name) == value for of, name, value in LEFT_OUT):
            self._skipped, self._depth = tag, 1
            return
        self.contents.begin(tag, at)
        rewrite = getattr(self, f"_on_{tag}", None)
        self.parts += rewrite(at) if rewrite else [self._placed(tag, at)]

    def handle_startendtag(self, tag, attributes):
        if not self._skipped:
            self.parts.append(self.get_starttag_text())

    def handle_endtag(self, tag):
        if self._skipped:
            self._depth -= tag == self._skipped
            self._skipped = self._skipped if self._depth else None
            return
        self.contents.end(tag)
        if tag == "script" and self._script:
            act, texts = self._script
            self._script = None
            self.parts += act("".join(texts))
        elif tag == "a" and self._plain:
            self._plain = False
            self.parts.append("</span>")
        elif tag == "article":
            self.parts += [self._glossary(), "</article>"]
        elif tag == "body":
            self.parts += [self._glossary(), *self.late, TAIL, "</body>"]
        elif tag == "h1" and CONTENTS not in self.parts:
            self.parts += ["</h1>", CONTENTS]
        elif tag not in VOID:
            self.parts.append(f"</{tag}>")

    def _placed(self, tag, at):
        """A tag whose addresses of files lead from the page of the bundle."""
        changed = dict(at)
        for name in ("data-datasets", "data-spec", "data-seen"):
            if name in at:
                end = "/" if at[name].endswith("/") else ""
                changed[name] = (self.addresses.below(at[name]) or "") + end
        if "data-embed" in at:
            published = self.addresses.published
            del changed["data-embed"]
            if published:
                changed["data-embed"] = self.addresses.link(at["data-embed"], set()) or ""
        return self.get_starttag_text() if changed == at else _tag(tag, changed)

    def _on_meta(self, at):
        if at.get("http-equiv", "").lower() == NAME.lower():
            about = {"name": f"{self.addresses.name}.html", "published": self.addresses.published}
            return [POLICY, "\n", self._classic(f"window.bundled = {json.dumps(about)};")]
        if at.get("property", "").startswith("og:") or at.get("name", "").startswith("twitter:"):
            return []
        return [self.get_starttag_text()]

    def _on_link(self, at):
        kind = at.get("rel", "").lower()
        if kind == "stylesheet":
            path = self._file(at.get("href", ""))
            text = scripts.style_text(path.read_text("utf-8"), path, self.addresses.site)
            media = {"media": at["media"]} if at.get("media") else {}
            return [_tag("style", media), text, "</style>"]
        if "icon" in kind.split():
            href = at.get("href", "")
            if not href.startswith("data:"):
                href = scripts.data_address(self._file(href))
            return [_tag("link", {"rel": "icon", "href": href})]
        return [self.get_starttag_text()] if kind in KEPT_LINKS else []

    def _on_base(self, at):
        return []

    def _on_source(self, at):
        return []  # another size of a picture: one is enough until the chart is drawn

    def _on_img(self, at):
        address = at.get("src", "")
        at.pop("srcset", None)
        if not address.startswith("data:"):
            path = self._file(address)
            shade = address.partition("#")[2]
            # scripts and styles know pictures by the ends of their addresses
            at["src"] = f"{scripts.data_address(path)}#{path.name}{'#' if shade else ''}{shade}"
        return [_tag("img", at)]

    def _on_a(self, at):
        if "href" not in at:
            return [self.get_starttag_text()]
        address = self.addresses.link(at["href"], self.folders)
        names = at.get("class", "").split()
        if address is None:
            self._plain = True
            names = [each for each in names if each not in ("term", "figure-ref")]
            attributes = {"id": at.get("id"), "class": " ".join(names), "dir": at.get("dir")}
            return [_tag("span", {name: value for name, value in attributes.items() if value})]
        if not address.startswith("#"):  # a card of another page would have to be fetched
            names = [each for each in names if each not in ("term", "figure-ref")]
        changed = at | {"href": address} | ({"class": " ".join(names)} if "class" in at else {})
        return [self.get_starttag_text() if changed == at else _tag("a", changed)]

    # --- scripts --------------------------------------------------------------------------------

    def _on_script(self, at):
        kind, source = at.get("type", "").lower(), at.get("src")
        self._script = (lambda text: [], [])
        if source and kind == "module":
            self.modules.add(self._file(source))
            return []
        if source:
            text = self._file(source).read_text("utf-8")
            later = "defer" in at or "async" in at
            (self.late if later else self.parts).append(self._classic(text))
            return []
        if kind in ("module", "importmap"):
            raise ReportError(
                f"{self.addresses.page}: no bundle can hold a <script type={kind}>; put it into a "
                "file below site_src and name that in `extra_javascript` of mkdocs.yml."
            )
        if kind in EXECUTED:
            self._script = (lambda text: [self._classic(text)], [])
            return []
        act = scripts.settings if at.get("id") == "__config" else str
        self._script = (lambda text: [act(text), "</script>"], [])
        return [self.get_starttag_text()]

    def _classic(self, text):
        """A script that runs where it stands."""
        text = scripts.script_text(text)
        self.hashes.append(script_hash(text))
        return f"<script>{text}</script>"

    # --- text -----------------------------------------------------------------------------------

    def _text(self, text):
        if self._script:
            self._script[1].append(text)
        elif not self._skipped:
            self.parts.append(text)
            self.contents.text(text)

    def handle_data(self, data):
        self._text(data)

    def handle_entityref(self, name):
        self._text(f"&{name};")

    def handle_charref(self, name):
        self._text(f"&#{name};")

    def handle_decl(self, decl):
        pass  # see `parts`; comments are dropped as well

    # --- what is added ---------------------------------------------------------------------------

    def _glossary(self):
        """The terms that the page links to, once, as their page is not here."""
        if self._has_glossary or not self.addresses.words:
            return ""
        self._has_glossary = True
        listed = "".join(
            f'<dt id="{WORD}{escape(each)}"><strong>{escape(name)}</strong></dt>'
            f"<dd>{escape(text)}</dd>\n"
            for each in sorted(self.addresses.words)
            for name, text in [self.addresses.glossary[each]]
        )
        return f'<h2 id="words:glossary">Glossary</h2>\n<dl>\n{listed}</dl>\n'

    def _file(self, address):
        """The file of the site that the page shows or runs.

        raises: ReportError if there is none
        """
        path = self.addresses.file(address)
        if path is None:
            raise ReportError(
                f"{self.addresses.page}: {address[:200]} leads nowhere in the site; build the site "
                "anew."
            )
        return path


def _tag(tag, attributes):
    """A start tag."""
    text = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{text}>"
