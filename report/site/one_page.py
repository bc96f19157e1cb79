"""A page of a site, by MkDocs, without all other pages: what `serve --watch` shows of an article
whose numbers and pictures are not all there yet.

To build a whole site takes MkDocs a second and more, most of it for what did not change. Its own
`--dirty` builds single pages, too, but reads all files anew, and leaves their names in the
navigation out.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mkdocs.commands.build import get_context
from mkdocs.config.base import load_config
from mkdocs.structure.files import File, get_files, set_exclusions
from mkdocs.structure.nav import get_navigation
from mkdocs.structure.pages import Page

from report.authored.boundary import authored
from report.pages.stamps import below
from report.site.protect import as_others

HOME = "index.html"
"""The page of the site whose policy a page gets."""


class OnePage:
    """What pages of a publication have in common, read once."""

    def __init__(self, config: Path):
        """config: the mkdocs.yml, which may change, and the theme beside it"""
        self.config, self.state = config, None

    def html(self, article: str, markdown: str, site: Path) -> str:
        """The page of an article.

        article: its name; site: the folder of the built site, which has the policy of its pages
        raises: ReportError if MkDocs cannot make it
        """
        with authored(self.config), _silent():
            self._read()
            page = self._page(article, markdown)
            template = self.env.get_template(page.meta.get("template", "main.html"))
            context = get_context(self.nav, self.pages, self.settings, page)
            context = self._event("page_context", context, page=page, nav=self.nav)
            html = self._event("post_page", template.render(context), page=page)
        return as_others(html, (site / HOME).read_text("utf-8"))

    def _read(self):
        """Read the settings, the names of all files, and the theme, unless they are as before."""
        root = self.config.parent
        state = below(self.config), below(root / ".theme"), below(root / "templates" / "theme")
        if self.state == state:
            return
        self.settings = load_config(config_file=str(self.config), strict=False)
        self.settings.plugins.on_startup(command="build", dirty=False)
        self.settings = self.settings.plugins.on_config(self.settings)
        self.settings.plugins.on_pre_build(config=self.settings)
        files, self.env = get_files(self.settings), self.settings.theme.get_env()
        files.add_files_from_theme(self.env, self.settings)
        self.files = self._event("files", files)
        set_exclusions(self.files, self.settings)
        nav = get_navigation(self.files, self.settings)
        self.nav = self._event("nav", nav, files=self.files)
        self.pages = self.files.documentation_pages()
        for file in self.pages:
            page = file.page or Page(None, file, self.settings)
            page.read_source(self.settings)  # has its title, which navigation shows
        self.env = self._event("env", self.env, files=self.files)
        self.state = state

    def _page(self, article, markdown):
        name = f"articles/{article}/index.md"
        if there := self.files.get_file_from_path(name):
            self.files.remove(there)
        file = File.generated(self.settings, name, content=markdown)
        self.files.append(file)
        page = self._event("pre_page", Page(None, file, self.settings), files=self.files)
        page.read_source(self.settings)
        about = {"page": page, "files": self.files}
        page.markdown = self._event("page_markdown", page.markdown, **about)
        page.render(self.settings, self.files)
        page.content = self._event("page_content", page.content, **about)
        return page

    def _event(self, name, value, **about):
        return getattr(self.settings.plugins, f"on_{name}")(value, config=self.settings, **about)


@contextmanager
def _silent() -> Iterator[None]:
    """Meanwhile MkDocs says nothing: the build of the site will say it."""
    log = logging.getLogger("mkdocs")
    before, nothing = log.propagate, logging.NullHandler()
    log.propagate = False
    log.addHandler(nothing)
    try:
        yield
    finally:
        log.propagate = before
        log.removeHandler(nothing)
