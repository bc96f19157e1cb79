"""The still pictures of a figure: shown before, and without, the script, and on the home page."""

import hashlib
from importlib import metadata
from pathlib import Path

from report import store
from report.figures import _static

SHADES = ("light", "dark")


def write_pictures(base, module, panel, data):
    """Write `<base>-light.svg` and `<base>-dark.svg` for a `Panel` of a figure, at its state.

    A chart that a phone would shrink until nobody can read it has `<base>-phone-light.svg` and
    `<base>-phone-dark.svg` too. A picture names the hash of what it was drawn from, and is drawn
    again only when that changed.
    """
    for ending, shade, phone in _endings(panel):
        spec = _static.specification(
            module, data, dark=shade == "dark", phone=phone, empty=panel.spec, **panel.state
        )
        _write(f"{base}{ending}", spec)


def write_cover(base, module, panel, data):
    """Write `<base>-light.svg` and `<base>-dark.svg`: the same without axes, legends and texts, of
    the size `_static.COVER`."""
    for shade in SHADES:
        spec = _static.specification(
            module, data, dark=shade == "dark", empty=panel.spec, **panel.state
        )
        _write(f"{base}-{shade}.svg", _static.cover(spec))


def cover_names(panel):
    """Names of the files that `write_cover` writes of a `Panel`, list of str."""
    return [f"{cover_base(panel)}-{shade}.svg" for shade in SHADES]


def cover_base(panel):
    """What these names begin with."""
    return f"{panel.name}-cover"


def picture_names(panel):
    """Names of the files that `write_pictures` writes for a `Panel`, list of str."""
    return [f"{panel.name}{ending}" for ending, *_ in _endings(panel)]


def _write(path, spec):
    mark = f"<!-- drawn from {_hash(spec)} -->"
    path = Path(path)
    if not (path.is_file() and path.read_text("utf-8").endswith(f"{mark}\n")):
        store.write_text(path, f"{_static.drawn(spec)}{mark}\n")


def _endings(panel):
    """[(end of a file's name, shade, whether it is for a phone)]"""
    sizes = (False, True) if panel.box.phone_size else (False,)
    return [
        (f"{'-phone' if phone else ''}-{shade}.svg", shade, phone)
        for shade in SHADES
        for phone in sizes
    ]


def _hash(spec):
    drawn_by = f"{metadata.version('vl-convert-python')} {_static.MANNER}"
    return hashlib.sha256(f"{drawn_by} {store.dumps(spec)}".encode()).hexdigest()[:16]
