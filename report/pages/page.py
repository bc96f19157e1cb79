"""What is said of an article, and of the site, wherever they are listed."""

from dataclasses import dataclass
from datetime import date

from report.pages.article import ArticleFigures


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
    article: ArticleFigures
    """Its figures themselves, for the gallery."""


@dataclass(frozen=True)
class Site:
    """What is said of a site as a whole."""

    name: str
    description: str
    url: str
    """Its address with a slash at the end, or "" while it is not known."""
