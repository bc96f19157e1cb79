"""The still pictures of a figure: shown before, and without, the script, and on the home page."""

import copy
import hashlib
import re
from importlib import metadata
from pathlib import Path

import altair as alt
import vl_convert

from report.datasets.store import dumps
from report.figures.parts import grid
from report.figures.parts.theme import INK
from report.files import write_text

NOISE = re.compile(r' aria-[a-z]+="[^"]*"| role="[^"]*"')
"""The <img> around the picture has the alt text; inside, accessibility attributes are weight."""

IDS = re.compile(r'(id="|url\(#)(gradient_|clip)(\d+)')
"""Vega counts gradients over all pictures of a process; here each picture counts its own."""

DECIMALS = re.compile(r'"data:[^"]*"|>[^<]*<|(\d\.\d)\d+')
"""Decimals to cut off, after what keeps its own: a picture inside, and what is written."""


MANNER = 2
"""Counts up whenever `drawn` makes another picture of the same specification."""


def specification(figure, data, *, dark=False, phone=False, empty=None, **state):
    """The Vega-Lite specification (dict) of a figure module with its datasets filled in.

    dark: for a dark page; phone: for a narrow one
    state: values of the figure's controls, and `panel` of one of several
    empty: the specification at that state without data, where it was built already
    """
    spec = copy.deepcopy(empty or figure.chart(data, **state).to_dict())
    rows = figure.rows(data, **state, **({"dark": dark} if _paints(figure) else {}))
    spec["datasets"] = spec.get("datasets", {}) | rows
    box = grid.boxes(figure, data)[state.get("panel", 0)]
    spec["width"], spec["height"] = (phone and box.phone_size) or box.size
    for param in spec["params"]:
        if param["name"] == "ink":
            param["value"] = INK["dark" if dark else "light"]
    return spec


LEGENDS = ("color", "fill", "stroke", "opacity", "size", "shape", "strokeDash")
"""Channels that may have one."""

COVER = 480, 320
"""Pixels of a cover."""
COVER_PADDING = 14


def cover(spec):
    """A filled specification as one for a small picture that shows its marks alone: without axes,
    legends, titles and texts, which nobody could read there."""
    found = _bare(spec)
    found["width"], found["height"] = COVER
    found["padding"] = COVER_PADDING
    return found


def _bare(part):
    if isinstance(part, list):
        return [_bare(each) for each in part if not _left_out(each)]
    if not isinstance(part, dict):
        return part
    found = {}
    for key, value in part.items():
        if key == "datasets":
            found[key] = value
        elif key == "encoding":
            found[key] = {channel: _unnamed(channel, each) for channel, each in value.items()}
        else:
            found[key] = _bare(value)
    return found


def _left_out(part):
    """Whether a layer is a text, or what is unseen and only there to be pointed at."""
    mark = part.get("mark") if isinstance(part, dict) else None
    mark = mark if isinstance(mark, dict) else {"type": mark}
    return mark["type"] == "text" or mark.get("color") == "transparent"


def _unnamed(channel, encoding):
    """A channel without its axis or legend."""
    if not isinstance(encoding, dict) or not encoding.keys() & {"field", "datum", "aggregate"}:
        return encoding
    if channel in ("x", "y"):
        return encoding | {"axis": None}
    return encoding | {"legend": None} if channel in LEGENDS else encoding


def _paints(figure):
    return getattr(figure, "PAINTS_PIXELS", False)


def svg(figure, data, *, dark=False, phone=False, **state):
    """The picture of a figure as SVG text."""
    return drawn(specification(figure, data, dark=dark, phone=phone, **state))


def drawn(spec):
    """A filled specification as SVG text: the same bytes for the same data, to 0.1 pixel."""
    version = "_".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    text = NOISE.sub("", vl_convert.vegalite_to_svg(spec, vl_version=version))
    return DECIMALS.sub(lambda found: found[1] or found[0], _renumbered(text))


def _renumbered(text):
    numbers = {}

    def renumber(match):
        lead, kind, number = match.groups()
        return f"{lead}{kind}{numbers.setdefault((kind, number), len(numbers))}"

    return IDS.sub(renumber, text)


SHADES = ("light", "dark")


def write_pictures(base, module, panel, data):
    """Write `<base>-light.svg` and `<base>-dark.svg` for a `Panel` of a figure, at its state.

    A chart that a phone would shrink until nobody can read it has `<base>-phone-light.svg` and
    `<base>-phone-dark.svg` too. A picture names the hash of what it was drawn from, and is drawn
    again only when that changed.
    """
    for ending, shade, phone in _endings(panel):
        spec = specification(
            module, data, dark=shade == "dark", phone=phone, empty=panel.spec, **panel.state
        )
        _write(f"{base}{ending}", spec)


def write_cover(base, module, panel, data):
    """Write `<base>-light.svg` and `<base>-dark.svg`: the same without axes, legends and texts, of
    the size `COVER`."""
    for shade in SHADES:
        spec = specification(module, data, dark=shade == "dark", empty=panel.spec, **panel.state)
        _write(f"{base}-{shade}.svg", cover(spec))


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
        write_text(path, f"{drawn(spec)}{mark}\n")


def _endings(panel):
    """[(end of a file's name, shade, whether it is for a phone)]"""
    sizes = (False, True) if panel.box.phone_size else (False,)
    return [
        (f"{'-phone' if phone else ''}-{shade}.svg", shade, phone)
        for shade in SHADES
        for phone in sizes
    ]


def _hash(spec):
    drawn_by = f"{metadata.version('vl-convert-python')} {MANNER}"
    return hashlib.sha256(f"{drawn_by} {dumps(spec)}".encode()).hexdigest()[:16]
