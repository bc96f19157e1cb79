"""A small publication with the real settings and theme, for tests of whole sites."""

from tests.commands import copy_project
from tests.small import ARTICLE, SENTENCE, write_corpus


def write_themed(folder, *names, cover="update_magnitude"):
    """A project with the real settings and theme, small articles of these names, and `passage.md`.

    Every article shows two figures: its cover, and heads by layer.
    """
    project = copy_project(folder, articles=False)
    articles = project / "templates" / "articles"
    articles.mkdir(parents=True)
    for name in names:
        text = ARTICLE.format(cover=cover).replace(
            "title: Small", f"title: On {name}\ncorpus: corpus.txt"
        )
        text += '\n{{ figure("attending_to_itself") }}\n'
        (articles / f"{name}.md.j2").write_text(text)
    (project / "passage.md").write_text(SENTENCE)
    write_corpus(project)
    return project
