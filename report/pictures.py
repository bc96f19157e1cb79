"""The still pictures of a figure: shown before, and without, the script, and on the home page."""

import hashlib
from importlib import metadata
from pathlib import Path

from report import store
from report.figures import _static

SHADES = ("light", "dark")


def write_pictures(base, figure, data, state):
    """Write `<base>-light.svg` and `<base>-dark.svg` for a figure at a state of its controls.

    A picture names the hash of what it was drawn from, and is drawn again only when that changed.
    """
    for shade in SHADES:
        dark = shade == "dark"
        spec = _static.specification(figure, data, dark=dark, **state)
        mark = f"<!-- drawn from {_hash(spec)} -->"
        path = Path(f"{base}-{shade}.svg")
        if path.is_file() and path.read_text("utf-8").endswith(f"{mark}\n"):
            continue
        store.write_text(path, f"{_static.svg(figure, data, dark=dark, **state)}{mark}\n")


def _hash(spec):
    drawn_by = metadata.version("vl-convert-python")
    return hashlib.sha256(f"{drawn_by} {store.dumps(spec)}".encode()).hexdigest()[:16]
