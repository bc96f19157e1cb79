"""The still pictures of a figure: shown before, and without, the script, and on the home page."""

import copy
import hashlib
import re
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Protocol

import vl_convert

from report.datasets.store import dumps
from report.figures.build import defaults, fields, vega
from report.figures.parts.figure import Data, Figure, Spec
from report.figures.parts.grid import Box
from report.figures.parts.theme import INK
from report.files import write_text

NOISE = re.compile(r' aria-[a-z]+="[^"]*"| role="[^"]*"')
"""The <img> around the picture has the alt text; inside, accessibility attributes are weight."""

IDS = re.compile(r'(id="|url\(#)(gradient_|clip)(\d+)')
"""Vega counts gradients over all pictures of a process; here each picture counts its own."""

DECIMALS = re.compile(r'"data:[^"]*"|>[^<]*<|(\d\.\d)\d+')
"""Decimals that are cut off. An embedded picture and written text match first, and keep theirs."""

MANNER = 2
"""Counts up whenever `drawn` makes another picture of the same specification."""


def specification(
    figure: Figure,
    data: Data,
    *,
    dark: bool = False,
    phone: bool = False,
    empty: Spec | None = None,
    **state: int | str,
) -> Spec:
    """The Vega-Lite specification of a figure with its datasets filled in.

    dark: for a dark page; phone: for a narrow one
    state: values of the figure's controls, and `panel` of one of several
    empty: the specification at that state without data, where it was built already
    raises: ReportError if the chart reads a field that its rows do not have
    """
    spec = copy.deepcopy(empty or defaults.spec_of(figure, data, **state))
    rows = figure.rows(data, **state, **({"dark": dark} if figure.paints_pixels else {}))
    fields.check(figure.name, spec, rows)
    spec["datasets"] = spec.get("datasets", {}) | rows
    box = figure.boxes(data)[state.get("panel", 0)]
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


def cover(spec: Spec) -> Spec:
    """A filled specification without axes, legends, titles and texts, for a small picture.

    Nobody could read them there.
    """
    bare = _bare(spec)
    bare["width"], bare["height"] = COVER
    bare["padding"] = COVER_PADDING
    return bare


def _bare(part):
    if isinstance(part, list):
        return [_bare(item) for item in part if not _left_out(item)]
    if not isinstance(part, dict):
        return part
    bare = {}
    for key, value in part.items():
        if key == "datasets":
            bare[key] = value
        elif key == "encoding":
            bare[key] = {name: _unnamed(name, channel) for name, channel in value.items()}
        else:
            bare[key] = _bare(value)
    return bare


def _left_out(part):
    """Whether a layer is a text, or a transparent one that only catches the pointer."""
    mark = part.get("mark") if isinstance(part, dict) else None
    mark = mark if isinstance(mark, dict) else {"type": mark}
    return mark["type"] == "text" or mark.get("color") == "transparent"


def _unnamed(channel, encoding):
    """A channel without its axis or legend."""
    if isinstance(encoding, dict) and isinstance(encoding.get("condition"), dict):
        return encoding | {"condition": _unnamed(channel, encoding["condition"])}
    if not isinstance(encoding, dict) or not encoding.keys() & {"field", "datum", "aggregate"}:
        return encoding
    if channel in ("x", "y"):
        return encoding | {"axis": None}
    return encoding | {"legend": None} if channel in LEGENDS else encoding


def svg(
    figure: Figure, data: Data, *, dark: bool = False, phone: bool = False, **state: int | str
) -> str:
    """The picture of a figure as SVG text."""
    return drawn(specification(figure, data, dark=dark, phone=phone, **state))


def drawn(spec: Spec) -> str:
    """A filled specification as SVG text: the same bytes for the same data.

    Coordinates are cut to 0.1 pixel.

    raises: ReportError if Vega cannot draw it
    """
    text = NOISE.sub("", vega.converted(vl_convert.vegalite_to_svg, spec))
    return DECIMALS.sub(lambda match: match[1] or match[0], _renumbered(text))


def _renumbered(text):
    numbers = {}

    def renumber(match):
        lead, kind, number = match.groups()
        return f"{lead}{kind}{numbers.setdefault((kind, number), len(numbers))}"

    return IDS.sub(renumber, text)


SHADES = ("light", "dark")


class Panel(Protocol):
    """What is drawn: one chart of a figure at a state, such as a `report.pages.article.Panel`."""

    name: str
    state: dict[str, int | str]
    spec: Spec
    box: Box


def write_pictures(
    base: Path,
    figure: Figure,
    panel: Panel,
    data: Data,
    look: Callable[[], object] = lambda: None,
) -> None:
    """Write `<base>-light.svg` and `<base>-dark.svg` of a chart of a figure, at its state.

    A chart that a phone would shrink until nobody can read it has `<base>-phone-light.svg` and
    `<base>-phone-dark.svg` too. A picture names the hash of what it was drawn from, and is drawn
    again only when that changed.

    look: called before each picture; what it raises ends this
    """
    for ending, shade, phone in _endings(panel):
        look()
        spec = specification(
            figure, data, dark=shade == "dark", phone=phone, empty=panel.spec, **panel.state
        )
        _write(f"{base}{ending}", spec)


def write_cover(base: Path, figure: Figure, panel: Panel, data: Data) -> None:
    """Write `<base>-light.svg` and `<base>-dark.svg`: small ones of the chart's marks alone.

    They have the size `COVER`, and no axes, legends and texts.
    """
    for shade in SHADES:
        spec = specification(figure, data, dark=shade == "dark", empty=panel.spec, **panel.state)
        _write(f"{base}-{shade}.svg", cover(spec))


def cover_names(panel: Panel) -> list[str]:
    """Names of the files that `write_cover` writes of a chart."""
    return [f"{cover_base(panel)}-{shade}.svg" for shade in SHADES]


def cover_base(panel: Panel) -> str:
    """What these names begin with."""
    return f"{panel.name}-cover"


def picture_names(panel: Panel) -> list[str]:
    """Names of the files that `write_pictures` writes of a chart."""
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
