"""What a page loads as parts of it: styles, pictures, classic scripts, and one script of all its
modules, since browsers let no page on a disk import another file.

Each module becomes a function that is called when the module is first asked for, and returns what
it exports. That is the same as long as no two modules wait for each other, and what is exported
does not change later; both are checked.
"""

import base64
import json
import posixpath
import re
from pathlib import Path

from report.errors import ReportError
from report.files import inside
from report.site.links import IN_STYLE, in_script, leads_to

TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".ico": "image/x-icon",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
"""Ending -> media type of what a page may show."""

FEATURES = ("navigation.top", "toc.", "content.")
"""How the names of the theme's features begin that a page alone can have."""

ENDS = re.compile(r"</(?=script|style)", re.IGNORECASE)


def script_text(text: str) -> str:
    """A script that ends where its element ends, whatever stands in its texts."""
    return ENDS.sub(r"<\\/", text).replace("<!--", r"<\!--")


def data_address(path: Path) -> str:
    """A picture or a font as an address that holds it.

    raises: ReportError if it is neither
    """
    kind = TYPES.get(path.suffix.lower())
    if kind is None:
        raise ReportError(
            f"{path}: no bundle can hold such a file; it holds {', '.join(sorted(TYPES))}."
        )
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def style_text(text: str, path: Path, site: Path) -> str:
    """A style sheet with what it shows in it.

    path: where it lies
    raises: ReportError if it names a file that is not there, or imports another style sheet
    """

    def held(match):
        address = "".join(each or "" for each in match.groups())
        if address.startswith(("data:", "#")):
            return match[0]
        target = leads_to(address, path, site)
        if target is None or not match[0].lower().startswith("url"):
            raise ReportError(f"{path}: {address} cannot be put into a bundle; leave it out.")
        return f'url("{data_address(target)}")'

    return ENDS.sub(r"<\\/", IN_STYLE.sub(held, text))


def settings(text: str) -> str:
    """The theme's settings without what needs a server or other pages."""
    try:
        settings = json.loads(text)
        features = [each for each in settings["features"] if each.startswith(FEATURES)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReportError("the page has no settings of the theme; build the site anew.") from error
    fewer = settings | {"base": ".", "features": features, "search": "", "version": None}
    return re.sub("<", r"\\u003c", json.dumps(fewer, ensure_ascii=False))


RUNTIME = Path(__file__).with_name("runtime.js")

IMPORT = re.compile(
    r"""^import\s*(?:(?:\{([^{}]*)\}|\*\s*as\s+([\w$]+))\s*from\s*)?["'](\.{1,2}/[^"'\n]+)["'];?""",
    re.MULTILINE,
)
LATER = re.compile(r"""\bimport\(\s*["'](\.{1,2}/[^"'\n]+)["']\s*\)""")
DECLARED = re.compile(
    r"^export\s+((?:async\s+)?function\s*\*?|class|const)\s+([\w$]+)", re.MULTILINE
)
LISTED = re.compile(r"(?:^|(?<=[;}]))export\s*\{([^{}]*)\};?\s*$", re.MULTILINE)
LEFT = re.compile(r"^(?:import|export)\b.*$|\bimport\.meta\b(?!\.url\b)", re.MULTILINE)


class Modules:
    """The modules that a page needs, each as the body of a function."""

    def __init__(self, site: Path):
        self.site = site
        self.entries = []
        """Modules that the page itself names."""
        self.bodies = {}
        """Path in the site -> body of a function; each after those that it imports."""
        self.exports = {}
        """Path in the site -> names that a module gives."""
        self.beside = {}
        """Files that modules fetch: path in the site -> content."""

    def add(self, path: Path) -> None:
        """Take a module that a page names, and all that it may ask for.

        raises: ReportError if one of them has a form that is not known here
        """
        name = path.relative_to(self.site).as_posix()
        self.entries.append(name)
        todo = [name]
        while todo:
            todo += self._take(todo.pop(), ())

    def _take(self, name, importing):
        """Take a module and what it imports at once. Returns those that it imports later."""
        if name in importing:
            raise ReportError(
                f"{self.site / name}: imports itself, by way of {importing[-1]}; take one of the "
                "imports out."
            )
        if name in self.bodies:
            return []
        text = inside(self.site, name).read_text("utf-8")
        folder = posixpath.dirname(name)
        later = []
        for _, _, address in IMPORT.findall(text):
            later += self._take(_joined(folder, address), (*importing, name))
        self._note_files(name, text)
        later += [_joined(folder, address) for address in LATER.findall(text)]
        self.bodies[name] = self._body(name, text)
        return later

    def _note_files(self, name, text):
        for address in in_script(text):
            path = _joined(posixpath.dirname(name), address)
            if path.endswith(".js"):
                continue
            file = inside(self.site, path)
            content = file.read_text("utf-8")
            if path.endswith(".css"):
                content = style_text(content, file, self.site)
            self.beside[path] = content.encode("utf-8")

    def _body(self, name, text):
        folder = posixpath.dirname(name)
        given = {}

        def imported(match):
            names, whole, address = match.groups()
            path = _joined(folder, address)
            module = f"$load({json.dumps(path)});"
            if whole:
                return f"const {whole} = {module}"
            pairs = _pairs(names or "")
            missing = {inner for inner, _ in pairs} - self.exports[path].keys()
            if missing:
                raise ReportError(
                    f"{self.site / name}: {path} exports no {min(missing)}; import what it has."
                )
            listed = ", ".join(f"{inner}: {outer}" for inner, outer in pairs)
            return f"const {{ {listed} }} = {module}" if pairs else module

        def declared(match):
            given[match[2]] = match[2]
            return f"{match[1]} {match[2]}"

        def listed(match):
            given.update({outer: inner for inner, outer in _pairs(match[1])})
            return ""

        body = LATER.sub(lambda each: f"$later({json.dumps(_joined(folder, each[1]))})", text)
        body = IMPORT.sub(imported, body)
        body = LISTED.sub(listed, DECLARED.sub(declared, body))
        if left := LEFT.search(body):
            raise ReportError(
                f"{self.site / name}: no bundle can hold `{left[0][:60]}`; write it as a plain "
                "import or export."
            )
        self.exports[name] = given
        given = ", ".join(f"{outer}: {inner}" for outer, inner in given.items())
        body = body.replace("import.meta.url", "$here")
        return f"{body.rstrip()}\nreturn {{ {given} }};"


def script(modules: Modules, names: list[str], licence: str) -> str:
    """The whole script of a page.

    names: of the files that lie beside the page; none if they are in it
    licence: of the libraries in it
    """
    parts = "".join(
        f"{json.dumps(name)}($load, $later, $here, fetch) {{\n{body}\n}},\n"
        for name, body in modules.bodies.items()
    )
    notice = "\n".join(f"// {line}".rstrip() for line in licence.splitlines())
    text = "\n".join(
        [
            notice,
            f"const PARTS = {{\n{parts}}};",
            f"const BESIDE = {json.dumps(names)};",
            RUNTIME.read_text("utf-8"),
            f"{json.dumps(modules.entries)}.forEach(use);\n",
        ]
    )
    return script_text(text)


def _joined(folder, address):
    return posixpath.normpath(posixpath.join(folder, address))


def _pairs(listed):
    """[(name inside, name outside)] of what stands in the braces of an import or an export."""
    words = [each.split() for each in listed.split(",") if each.strip()]
    return [(each[0], each[-1]) for each in words]
