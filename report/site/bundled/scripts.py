"""Makes parts of a page of what it loads: styles, pictures, classic scripts, and one script of all
its modules, since browsers let no page on a disk import another file.

Each module becomes a function that is called when the module is first imported, and returns its
exports. That is the same as long as modules do not import each other in a circle, and an export
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
"""Ending -> media type of pictures and fonts."""

FEATURES = ("navigation.top", "toc.", "content.")
"""Prefixes of the names of the theme's features that need no other page."""

ENDS = re.compile(r"</(?=script|style)", re.IGNORECASE)


def script_text(text: str) -> str:
    """A script whose texts do not end its element."""
    return ENDS.sub(r"<\\/", text).replace("<!--", r"<\!--")


def data_address(path: Path) -> str:
    """A picture or a font as a "data:" address.

    raises: ReportError if the file is neither, by its ending
    """
    kind = TYPES.get(path.suffix.lower())
    if kind is None:
        raise ReportError(
            f"{path}: no bundle can hold such a file; it holds {', '.join(sorted(TYPES))}."
        )
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def style_text(text: str, path: Path, site: Path) -> str:
    """A style sheet that holds its pictures and fonts.

    path: of the style sheet, below `site`
    raises: ReportError if it names a file that is not there, or imports another style sheet
    """

    def with_content(match):
        address = "".join(each or "" for each in match.groups())
        if address.startswith(("data:", "#")):
            return match[0]
        target = leads_to(address, path, site)
        if target is None or not match[0].lower().startswith("url"):
            raise ReportError(f"{path}: {address} cannot be put into a bundle; leave it out.")
        return f'url("{data_address(target)}")'

    return ENDS.sub(r"<\\/", IN_STYLE.sub(with_content, text))


def settings(text: str) -> str:
    """The theme's settings, JSON, without what needs a server or other pages."""
    try:
        values = json.loads(text)
        features = [each for each in values["features"] if each.startswith(FEATURES)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReportError("the page has no settings of the theme; build the site anew.") from error
    values |= {"base": ".", "features": features, "search": "", "version": None}
    return re.sub("<", r"\\u003c", json.dumps(values, ensure_ascii=False))


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
"""Forms of import and export that are not known here."""


class Modules:
    """The modules that a page loads, each as the body of a function."""

    def __init__(self, site: Path):
        self.site = site
        self.entries = []
        """Paths in the site of the modules that the page itself names."""
        self.bodies = {}
        """Path in the site -> body of a function; each after those that it imports."""
        self.exports = {}
        """Path in the site -> {name of an export: name within the module}."""
        self.beside = {}
        """Files that modules fetch: path in the site -> content."""

    def add(self, path: Path) -> None:
        """Take a module that a page names, and all that it may import.

        raises: ReportError for imports in a circle, or a form of import or export not known here
        """
        name = path.relative_to(self.site).as_posix()
        self.entries.append(name)
        todo = [name]
        while todo:
            todo += self._take(todo.pop(), ())

    def _take(self, name, importing):
        """Take a module and what it imports statically; return what it imports dynamically.

        importing: the chain of modules that import it
        """
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
        """Take the files that a module fetches."""
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
        """The body of a module's function: imports call $load and $later, exports are returned."""
        folder = posixpath.dirname(name)
        exports = {}

        def imported(match):
            names, whole, address = match.groups()
            path = _joined(folder, address)
            module = f"$load({json.dumps(path)});"
            if whole:
                return f"const {whole} = {module}"
            pairs = _pairs(names or "")
            missing = {export for export, _ in pairs} - self.exports[path].keys()
            if missing:
                raise ReportError(
                    f"{self.site / name}: {path} exports no {min(missing)}; import what it has."
                )
            pattern = ", ".join(f"{export}: {alias}" for export, alias in pairs)
            return f"const {{ {pattern} }} = {module}" if pairs else module

        def declared(match):
            exports[match[2]] = match[2]
            return f"{match[1]} {match[2]}"

        def listed(match):
            exports.update({alias: local for local, alias in _pairs(match[1])})
            return ""

        body = LATER.sub(lambda each: f"$later({json.dumps(_joined(folder, each[1]))})", text)
        body = IMPORT.sub(imported, body)
        body = LISTED.sub(listed, DECLARED.sub(declared, body))
        if left := LEFT.search(body):
            raise ReportError(
                f"{self.site / name}: no bundle can hold `{left[0][:60]}`; write it as a plain "
                "import or export."
            )
        self.exports[name] = exports
        entries = ", ".join(f"{export}: {local}" for export, local in exports.items())
        body = body.replace("import.meta.url", "$here")
        return f"{body.rstrip()}\nreturn {{ {entries} }};"


def script(modules: Modules, names: list[str], licence: str) -> str:
    """The script of a page, of its modules and of runtime.js, which loads them.

    names: of the files that lie beside the page; [] if they are in it
    licence: of the libraries in the modules
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
    """[(name, alias), ...] in the braces of an import or export: (a, a), (b, c) of "a, b as c"."""
    words = [each.split() for each in listed.split(",") if each.strip()]
    return [(each[0], each[-1]) for each in words]
