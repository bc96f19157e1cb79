"""The Content-Security-Policy of every page: what a browser may load and run there.

Everything comes from the site itself, and nothing is evaluated. Of inline scripts only the theme's
run, each allowed by its hash. If a mistake of ours turned text into a script, that script would
stop the build; and it would not run, because it has no hash.
"""

import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path

from report import files
from report.errors import ReportError
from report.pages.policy import NAME, policy, script_hash

HASH = re.compile(r"'sha256-[A-Za-z0-9+/]{43}='")

CHARSET = re.compile(r"<head[^<>]*>\s*<meta charset=\S+?>", re.IGNORECASE)
"""How the head of a page begins. What follows is still within the first KB, as it must be."""

REFERENCE = "404.html"
"""The page that tells which scripts are the theme's, since nothing on it is from an article."""

ROOT = re.compile(r'new URL\("[\w./%~+-]*",')
"""Where a script of the theme names the root of the site, relative to its page."""

EXECUTED = {"", "module", "importmap", "text/javascript", "application/javascript"}
"""Types of scripts that run. Others, such as `application/json`, hold data."""


def protect(folder: Path) -> None:
    """Write one policy into all pages of a built site that have none yet.

    All pages share it, because instant navigation adds the head of the next page to that of the
    first, and a browser that sees two policies obeys both.
    raises: ReportError if a page has an inline script that is not the theme's, or an unusual head,
        or is not UTF-8 text
    """
    read = {path: _read(path, folder) for path in sorted(Path(folder).rglob("*.html"))}
    pages = {path: parsed(html) for path, html in read.items()}
    pages = {path: page for path, page in pages.items() if page.policies != [policy()]}
    reference = pages.get(Path(folder) / REFERENCE)
    known = {_anywhere(text) for text in reference.scripts} if reference else set()
    for path, page in pages.items():
        where = path.relative_to(folder).as_posix()
        unknown = [text for text in page.scripts if _anywhere(text) not in known]
        if unknown:
            raise ReportError(
                f"{where}: has a script in it that is not the theme's ({_begin(unknown[0])}); "
                "put it into a file below site_src and name that in `extra_javascript` of "
                "mkdocs.yml."
            )
        if not CHARSET.search(read[path][:1000]):
            raise ReportError(
                f'{where}: its head does not begin with <meta charset="utf-8">; write it so.'
            )
    hashes = {script_hash(text) for page in pages.values() for text in page.scripts}
    meta = f'<meta http-equiv="{NAME}" content="{policy(hashes)}">'
    for path, page in pages.items():
        end = CHARSET.search(read[path]).end()
        head = "\n".join([meta, *_ahead(page.files)])
        content = f"{read[path][:end]}\n{head}{read[path][end:]}"
        files.write_bytes(path, content.encode("utf-8"))


def _ahead(scripts):
    """Links that make a browser fetch a page's scripts at once. After a policy it no longer looks
    ahead for them, and would fetch each only when it reaches it. scripts: (src, is a module)."""
    for source, module in scripts:
        how = 'rel="modulepreload"' if module else 'rel="preload" as="script"'
        yield f'<link {how} href="{escape(source)}">'


def problems(html: str) -> list[str]:
    """What is wrong with a page's policy, and what the policy would stop."""
    return problems_of(parsed(html))


def problems_of(page: "Page") -> list[str]:
    """The same of a page that is parsed already."""
    if not page.policies:
        return [f"has no {NAME}"]
    if len(page.policies) > 1:
        return [f"has {len(page.policies)} {NAME}s"]
    hashes = HASH.findall(page.policies[0])
    found = []
    if page.policies[0] != policy(hashes):
        found.append(f"its {NAME} is not the one that builds write")
    if page.late:
        found.append(f"its {NAME} comes after <{page.late}>, which it does not bind")
    allowed = set(hashes)
    for text in page.scripts:
        if script_hash(text) not in allowed:
            found.append(f"has a script in it without a hash ({_begin(text)})")
    return found + [f"has code in {each}, which does not run" for each in page.attributes]


def _read(path, folder):
    try:  # as bytes: a browser reads a script's line ends as they are written here
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        where = path.relative_to(folder).as_posix()
        raise ReportError(
            f"{where}: is not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8."
        ) from error


def _anywhere(script):
    """A script of the theme without the address of the root, which differs between pages."""
    return ROOT.sub('new URL("",', script)


def _begin(text):
    return " ".join(text.split())[:60]


class Page(HTMLParser):
    """The policy of a page, and what it is about."""

    def __init__(self):
        super().__init__()
        self.policies = []
        self.scripts = []
        """Texts of the scripts in the page itself, as they stand there."""
        self.attributes = []
        """Attributes that hold code: "onclick of <img>"."""
        self.files = []
        """(src, whether it is a module) of the scripts beside the page."""
        self.late = ""
        """The first tag before the policy that loads or runs something."""
        self._script = None

    def handle_starttag(self, tag, attributes):
        at = {name: value or "" for name, value in attributes}
        if tag == "meta" and at.get("http-equiv", "").lower() == NAME.lower():
            self.policies.append(at.get("content", ""))
        elif tag in ("script", "link", "style", "base") and not self.policies:
            self.late = self.late or tag
        if tag == "script" and "src" in at:
            self.files.append((at["src"], at.get("type", "").lower() == "module"))
        elif tag == "script" and at.get("type", "").lower() in EXECUTED:
            self._script = []
        for name, value in at.items():
            link = name in ("href", "src", "action", "formaction", "data")
            code = re.sub(r"[\x00-\x20]", "", value).lower().startswith("javascript:")
            if name.startswith("on") or (link and code):
                self.attributes.append(f"{name} of <{tag}>")

    def handle_data(self, data):
        if self._script is not None:
            self._script.append(data)

    def handle_endtag(self, tag):
        if tag == "script" and self._script is not None:
            self.scripts.append("".join(self._script))
            self._script = None


def parsed(html: str) -> Page:
    """The `policies`, `scripts`, `attributes` and `late` of a page."""
    page = Page()
    page.feed(html)
    page.close()
    return page
