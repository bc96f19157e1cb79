"""The files that every page needs: script, style sheets, the chart library, published schemas."""

import json
import re
from pathlib import Path

import vl_convert

from report import files
from report.datasets import store
from report.errors import ReportError
from report.figures.build import css
from report.figures.build.vega import VEGA_LITE
from report.pages.glossary import glossary

WEB = Path(__file__).parents[1] / "web"

TOGETHER = {
    "site.css": ("figures.css", "print.css"),
    "figures.css": ("print.css",),  # for the page of a figure alone
    "start.js": ("cards.js",),
}
"""What is sent as one file, as every further one keeps a reader waiting."""

START = WEB / "start.js"
"""The script that pages load; it brings the others."""

COMMENTS = {
    ".js": re.compile(r"^[ \t]*//.*\n|^[ \t]+|^\n", re.MULTILINE),
    ".css": re.compile(r"/\*.*?\*/\s*|^[ \t]+|^\n|(?<=[{};,])\n", re.DOTALL | re.MULTILINE),
}
"""By the ending of a file's name."""

IMPORTED = re.compile(r"""^(?:import|export)\b[^;"']*["']\./([\w.-]+)["']""", re.MULTILINE)
"""An import of a neighbouring script; one inside a function, `import(...)`, may wait."""

HOLDS = "https://cdn.jsdelivr.net/npm/"
"""How the wheel addresses what it holds; nothing is fetched from there."""

WITH_VEGA = {
    "vega-interpreter@2.0.0": "expressionInterpreter",
    "vega-tooltip@1.0.0": "Handler",
}
"""What charts need besides Vega, of the versions that vl-convert-python 1.9 holds."""


def write_assets(site_src):
    """Write script, styles and the chart library to `site_src/assets`, schemas to `schemas`."""
    parts = {name for names in TOGETHER.values() for name in names} - TOGETHER.keys()
    sent = [path for path in sorted(WEB.iterdir()) if path.is_file() and path.name not in parts]
    for path in sent:
        text = "".join(map(_source, (path.name, *TOGETHER.get(path.name, ()))))
        text = without_comments(path.suffix, _told(text))
        files.write_text(site_src / "assets" / path.name, text)
    files.write_text(site_src / "assets" / "vega.js", _chart_library())
    words = {term.anchor: {"name": term.name, "text": term.text} for term in glossary().values()}
    files.write_text(site_src / "assets" / "glossary.json", store.dumps(words))
    written = {path.name for path in sent} | {"vega.js"}
    found = site_src / "assets"  # perhaps of an older version
    files.remove_others([*found.glob("*.js"), *found.glob("*.css"), *found.glob("*.txt")], written)
    for path in sorted(store.SCHEMAS.glob("*.json")):
        files.write_bytes(site_src / "schemas" / path.name, path.read_bytes())
    schemas = {path.name for path in store.SCHEMAS.glob("*.json")}
    files.remove_others((site_src / "schemas").glob("*.json"), schemas)


def _source(name):
    """The text of a file; the figures' style sheet with the colours and sizes that it uses."""
    return (css.css() if name == "figures.css" else "") + (WEB / name).read_text("utf-8")


def _told(script):
    """A first script, told what the others are: so a page asks for all of them at once."""
    listed = f"const MODULES = {json.dumps(sorted(modules('figures.js')))};"
    return script.replace("const MODULES = [];", listed)


def without_comments(suffix, text):
    """A script or a style sheet as it is sent: a reader's browser needs no explanation.

    In scripts, only comments that have lines of their own are taken out. Lines lose what indents
    them, so no text in backquotes may have several.
    """
    return COMMENTS[suffix].sub("", text) if suffix in COMMENTS else text


def modules(name):
    """The scripts that one needs before it runs, set of file names: what it and they import."""
    found, todo = {START.name}, {name}
    while todo:
        one = todo.pop()
        found.add(one)
        todo |= set(IMPORTED.findall((WEB / one).read_text("utf-8"))) - found
    return found - {START.name}


def _chart_library():
    """Vega and what draws with it as one ES module, out of the wheel that also draws the pictures.

    Not Vega-Lite: the build compiles specifications (see figures/_compiled.py).
    raises: ReportError if the wheel holds other versions
    """
    modules = {f"vega@{vl_convert.get_vega_version()}": "View, parse", **WITH_VEGA}
    imports = "".join(
        f'import {{{names}}} from "{HOLDS}{module}/+esm";' for module, names in modules.items()
    )
    snippet = f"{imports}export {{{', '.join(modules.values())}}};"
    try:
        return vl_convert.javascript_bundle(snippet, vl_version=VEGA_LITE)
    except BaseException as error:
        if type(error).__name__ not in ("PanicException", "ValueError"):
            raise
        raise ReportError(
            f"vl-convert-python {vl_convert.__version__} does not hold {', '.join(modules)}; "
            "install the locked version: run `make setup`."
        ) from error
