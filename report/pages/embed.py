"""A page for each figure alone, to be shown in frames on other sites.

They are plain HTML files beside the Markdown, without the theme. Builders copy them as they are,
and list them neither in the search nor in the site map.
"""

from pathlib import Path

from report import files
from report.pages.article import ArticleFigures
from report.pages.policy import policy
from report.pages.templates import environment
from report.study.study import publication_of


def write_embed_pages(article: ArticleFigures, site_src: Path) -> None:
    """Write `embed/<article>/<figure>.html` below `site_src` for every figure of an article.

    Pages of figures that the article no longer has are removed.
    """
    folder = files.inside(site_src, f"embed/{article.study.name}")
    template = environment(publication_of(article.study.template) / "templates").get_template(
        "embed.html.j2"
    )
    for placed in article.placed:
        page = template.render(
            policy=policy(),
            figure=placed,
            html=article.alone(placed),
            title=placed.figure.title(placed.data),
            study=article.study.front_matter,
            back=f"../../articles/{article.study.name}/",
        )
        files.write_text(folder / f"{placed.name}.html", page)
    names = {placed.name for placed in article.placed}
    for path in folder.glob("*.html"):
        if path.stem not in names:
            files.remove(path)
