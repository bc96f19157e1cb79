"""Articles drawn by other processes, several at once, perhaps while this one measures.

What they write is what this process would: an article is drawn of files alone.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from report import files, kinds
from report.datasets.read.study import StudyData, open_study
from report.datasets.write import processes
from report.pages.last import LastDrawn
from report.pages.page import Page
from report.pages.render import render_article
from report.study.study import Study

FEW = 2
"""Articles that are not worth a process, which takes three seconds to start."""

MEMORY = 400 << 20
"""Bytes that a process takes that draws."""


@dataclass(frozen=True)
class Article:
    """What an article is drawn of."""

    study: Study
    folders: Sequence[Path]
    """Of its datasets, one a model."""
    apart: Sequence[Path]
    """Of what was measured apart."""
    frozen: Collection[str] = ()
    """Keys of its datasets that were frozen."""
    url: str = ""
    """Address of the site; "" if it is not known."""

    @property
    def name(self) -> str:
        """As in addresses."""
        return self.study.name

    def open(self) -> StudyData:
        """Its datasets."""
        front = self.study.front_matter
        more = front.labels, self.apart, front.noun, front.measures or ()
        return open_study(self.folders, *more)

    def key(self, last: LastDrawn) -> str:
        """Of its record."""
        return last.key(self.study, [*self.folders, *self.apart], self.frozen, self.url)


@dataclass(eq=False)
class Beside:
    """Draws articles in other processes; see `drawing_beside`."""

    last: LastDrawn
    pool: Callable[..., Future] | None
    """None: in this process, once an article is asked for."""
    busy: bool = False
    """Whether other work is under way, so that drawing can go on beside it."""
    waiting: list[Article] = field(default_factory=list)
    begun: dict[str, tuple[str, Future]] = field(default_factory=dict)
    """Name -> key, and what will be its page."""

    def ready(self, article: Article) -> None:
        """Draw an article whose datasets are there, if there is other work to do meanwhile."""
        self.waiting.append(article)
        if self.busy:
            self.begin()

    def begin(self) -> None:
        """Draw the articles that are ready from now on, as other work begins."""
        self.busy, waiting, self.waiting = True, self.waiting, []
        for article in waiting if self.pool else ():
            if self._page(article) is None:
                self._draw(article)

    def drawn_before(self, articles: Iterable[Article]) -> dict[str, Page]:
        """The pages of articles that are as an earlier build drew them, by their names."""
        others = [each for each in articles if self._begun(each) is None]
        pages = {each.name: self._page(each) for each in others}
        return {name: page for name, page in pages.items() if page is not None}

    def pages(self, articles: Sequence[Article]) -> Iterator[Page]:
        """Draw articles, those of them that are not being drawn; yields the pages in their order.

        raises: ReportError as `render_article`
        """
        several = self.pool and sum(self._begun(each) is None for each in articles) > 1
        for article in articles if several else ():
            self._draw(article)
        for article in articles:
            future = self._begun(article)
            yield future.result() if future else drawn(*self._about(article))

    def _draw(self, article):
        if self._begun(article) is None:
            key, about = article.key(self.last), self._about(article)
            self.begun[article.name] = key, self.pool(drawn, lambda: about)

    def _begun(self, article):
        """What will be the page of an article that was begun with these datasets, or None."""
        key, future = self.begun.get(article.name, ("", None))
        return future if key == article.key(self.last) else None

    def _page(self, article):
        return self.last.page(article.name, article.key(self.last))

    def _about(self, article):
        return self.last, article, article.key(self.last), files.ours(), list(kinds.__path__)


@contextmanager
def drawing_beside(last: LastDrawn, articles: int) -> Iterator[Beside]:
    """Within the context, articles may be drawn in other processes, which end with it.

    articles: how many there are
    """
    number = min(articles, processes.number(MEMORY)) if articles > FEW else 1
    with processes.pool(number, authored=True) if number > 1 else nullcontext() as pool:
        yield Beside(last, pool)


def drawn(last, article, key, ours, folders_of_kinds) -> Page:
    """The page of an article that is drawn now, of whatever process.

    ours: as of `files.ours`; folders_of_kinds: of the package `kinds`
    raises: ReportError as `render_article`
    """
    kinds.__path__[:] = folders_of_kinds
    with files.only_ours(*ours) if ours else nullcontext():
        data = article.open()
        site_src = last.project.site_src
        of = article.study, data, site_src, article.frozen, article.url
        return last.draw(article.name, key, lambda: render_article(*of))
