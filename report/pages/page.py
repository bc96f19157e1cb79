"""What is said of an article, and of the site, wherever they are listed: plain values, which can be
kept on the disk."""

import json
from dataclasses import dataclass
from datetime import date

from report.figures.parts.choices import Control, Switch


@dataclass(frozen=True)
class Column:
    """A column of a figure's data."""

    name: str
    called: str
    """What the chart calls it, in axes, legends and tooltips; "" if it does not show it."""
    first: str
    """The first value that is not missing."""


@dataclass(frozen=True)
class Place:
    """A figure that ships, in an article, as the gallery shows it."""

    figure: str
    """Its name, whatever the article calls it."""
    article: str
    """As in `Page.name`."""
    heading: str
    """The title of the article."""
    number: int
    title: str
    models: list[str]
    """Names of the models that it can show there."""
    picture: str
    """Path of its small picture without its `-light.svg`, from the root of the site."""
    size: tuple[int, int]
    """Of that picture."""
    html: str
    """The live figure."""
    controls: list[Control | Switch]
    """What a reader can change, and an article can set."""
    tables: dict[str, list[Column]]
    """The columns of its data, by table."""

    @property
    def example(self) -> str:
        """How an article sets the first of its controls: "layer=3"."""
        control = self.controls[0]
        return f"{control.param}={json.dumps(control.value)}"


@dataclass(frozen=True)
class Page:
    """What the home page and the archive show of an article."""

    name: str
    title: str
    date: date
    author: str
    summary: str
    tags: list[str]
    minutes: int
    """Reading time."""
    cover: str
    """Path of the cover picture without its `-light.svg`, from the root of the site."""
    cover_size: tuple[int, int]
    cover_alt: str
    """What the cover shows, in words."""
    lead: str
    """Path, as of the cover, of a small picture of it with its axes."""
    lead_size: tuple[int, int]
    answer: str
    """The first sentence of what the article found, for the home page; "" if it does not say."""
    figures: dict[str, tuple[int, str]]
    """Name of a figure -> its number and its title."""
    opens: int | None
    """The token that its passage is shaded from as it opens; None if it is not."""
    head: tuple[int, int] | None
    """The layer and the head at which its first figure opens; None if that shows no one head."""
    places: list[Place]
    """Its figures that ship, where the site has a gallery."""


@dataclass(frozen=True)
class Site:
    """What is said of a site as a whole."""

    name: str
    description: str
    url: str
    """Its address with a slash at the end, or "" while it is not known."""
