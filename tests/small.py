"""A small publication: one article, a passage of a sentence and a corpus of two."""

from report.inputs.passages import Passage

ARTICLE = """---
title: Small
date: 2026-01-02
author: Ann
summary: What it says.
cover: {cover}
---
{{{{ figure("{cover}") }}}}
"""
SETTINGS = """site_name: Small
docs_dir: site_src
theme: {name: null, custom_dir: theme}
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{ page.title }}</title></head>
<body>{{ page.content }}</body></html>
"""
"""Of a theme of its own: without scripts, which the policy of pages would have to know."""

SENTENCE = 'The lamp on the hill was lit. "Who lit the lamp?" asked Ann, and the lamp went out.\n'
CORPUS = tuple(
    Passage(f"{n}", "", "", "CC0-1.0", "en", text)
    for n, text in enumerate(("Nobody answered Ann.", "The window stood by the old lamp."))
)


def write_corpus(project):
    """`corpus.txt`, the two short texts as a file, for a command in a process of its own."""
    (project / "corpus.txt").write_text("\n".join(text.text for text in CORPUS))


def write_publication(folder, cover="update_magnitude"):
    """A project with one article that shows one figure, and `passage.md` beside it."""
    (folder / "templates" / "articles").mkdir(parents=True)
    (folder / "templates" / "articles" / "small.md.j2").write_text(ARTICLE.format(cover=cover))
    (folder / "site_src").mkdir()
    (folder / "mkdocs.yml").write_text(SETTINGS)
    (folder / "theme").mkdir()
    (folder / "theme" / "main.html").write_text(PAGE)
    (folder / "passage.md").write_text(SENTENCE)
    return folder
