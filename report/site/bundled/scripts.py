"""One script of all modules of a page: browsers let no page on a disk import another file.

Each module becomes a function that is called when the module is first asked for, and returns what
it exports. That is the same as long as no two modules wait for each other, and what is exported
does not change later; both are checked.
"""

import json
import posixpath
import re
from pathlib import Path

from report.errors import ReportError
from report.files import inside
from report.site.bundled.inlined import script_text, style_text
from report.site.links import in_script

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
