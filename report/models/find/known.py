"""Models that are known by name: embedded ones and presets."""

import functools
import re
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from report.text import nearest

EMBEDDED = Path(__file__).parents[2] / "embedded"
PRESETS = Path(__file__).with_name("presets.toml")


@dataclass(frozen=True)
class Preset:
    """What `presets.toml` says of a model."""

    title: str
    licence: str
    gated: bool = False
    layers: str | None = None
    chat: bool = False
    package: str | None = None
    """The Python package that holds its file; None for a model on the hub."""
    file: str | None = None
    """Name of that file."""
    made: str = ""
    """What it is and who made it, a sentence or two."""
    page: str = ""
    """Address of a page of its makers."""


def number_of_layers(value: int | str | None) -> int | str | None:
    """How many layers, from the first, a text asks for: 4 for "0-3" and for "4"; or "all".

    raises: ValueError saying what is allowed
    """
    return _first(value, "layer", ", since a layer works on what those before it computed")


def number_of_heads(value: int | str | None) -> int | None:
    """How many heads of a layer, from the first, a text asks for; None for "all" of them.

    raises: ValueError saying what is allowed
    """
    number = _first(value, "head", ", as heads are counted")
    return None if number == "all" else number


def _first(value, what, why):
    """The number that a text asks for of what is counted from 0."""
    text = str(value).strip()
    if value is None or text == "all":
        return value
    spoken = re.fullmatch(r"(?:(\d+)\s*-\s*)?(\d+)", text)
    if not spoken:
        raise ValueError(f'must be a number of {what}s such as 4, a range such as 0-3, or "all"')
    start, end = spoken.groups()
    if start is None and int(end) == 0:
        raise ValueError(f'must be at least 1 {what}; 1 takes the first, "all" takes all')
    if start is None:
        return int(end)
    if int(start) != 0:
        raise ValueError(f"must begin at {what} 0{why}; 0-{end} takes them all")
    return int(end) + 1


def embedded_models() -> list[str]:
    """Names of the models that ship inside the package, sorted."""
    return sorted(path.parent.name for path in EMBEDDED.glob("*/config.json"))


def about(preset: Preset, layers: int | None) -> str:
    """What a reader should know of a preset before it is measured, in one sentence.

    layers: how many layers, from the first, will be measured; None for all
    """
    licence = preset.licence + (", to be accepted on its page" if preset.gated else "")
    how = "all layers" if layers is None else f"its first {layers} layers (--layers all for all)"
    chat = "; --chat puts the passage into its chat template" if preset.chat else ""
    return f"{preset.title} ({licence}): {how} will be measured{chat}"


@functools.cache
def presets() -> dict[str, Preset]:
    """dict of name -> Preset: an id on the hub, or a name of ours for a model in a package."""
    return {name: Preset(**values) for name, values in tomllib.loads(PRESETS.read_text()).items()}


def packaged() -> dict[str, Preset]:
    """The presets whose file comes in a Python package."""
    return {name: preset for name, preset in presets().items() if preset.package}


def preset_of(model: dict) -> Preset | None:
    """The preset of a model that came in a package, by its entry in a manifest; None for others."""
    name = model.get("own_name", model["name"])
    return packaged().get(name) if model.get("source") == "package" else None


def packaged_file(preset: Preset) -> Path | None:
    """The file of a preset, found in the list of files of its package; None where it is not there.

    The package is never imported, so none of its code runs.
    """
    try:
        listed = metadata.distribution(preset.package).files or []
    except metadata.PackageNotFoundError:
        return None
    paths = [Path(file.locate()) for file in listed if file.name == preset.file]
    return next((path.resolve() for path in paths if path.is_file()), None)


def did_you_mean(name: str) -> str:
    """ " Did you mean …?" with the nearest known names, or "" if none is near."""
    known = {known.lower(): known for known in (*embedded_models(), *presets())}
    short = {known.split("/")[-1].lower(): known for known in presets()}
    wanted = name.partition("@")[0].lower()
    near = [known[match] for match in nearest(wanted, known, 2)]
    near += [short[match] for match in nearest(wanted.split("/")[-1], short, 2)]
    return f" Did you mean {' or '.join(dict.fromkeys(near))}?" if near else ""
