"""From datasets to Markdown: articles, and the pages around them.

render.py        an article becomes a page: its template is filled in; a page for each figure alone
article.py       what an article found, and its figures; placed.py a figure at its place
prose.py         checks an article before a model runs, by its templates as they are parsed
claims.py        sentences with what must hold of the data for them
sentences.py     what there is to see at each state of a figure, in files beside the page
templates.py     the language of templates, filters.py its filters, glossary.py its words
citations.py     what an article cites, of works.py in bibliography.py: `references.bib`
page.py          what is said of an article wherever it is listed
lists.py         home page (with line.py), archive, tags, models; feed.py, share_card.py
reference/       the reference of the documentation, made from the code
gallery.py       a page of the documentation for every figure
drawn.py         what was drawn already: `serve --watch` draws only what changed
last.py          what an earlier build drew, by stamps.py: other builds draw only what changed
provenance.py    where the numbers come from, for machines
assets.py        scripts and styles, a lighter one of the theme; policy.py what browsers may load
new.py           starts an article, publication.py a whole publication: `python -m report new`
"""
