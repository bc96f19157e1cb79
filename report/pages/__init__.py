"""From datasets to Markdown: articles, and the pages around them.

render.py        an article becomes a page: its template is filled in; a page for each figure alone
head_page.py     the page of one head, for an article that tells heads apart
article.py       what an article found, and its figures; placed.py a figure at its place
prose.py         checks an article before a model runs, by its templates as they are parsed
later.py         marks what an article asks for that is still to be measured
claims.py        sentences with what must hold of the data for them
sentences.py     what there is to see at each state of a figure, in files beside the page
templates.py     the language of templates, filters.py its filters, glossary.py its words
bibliography.py  what an article cites: `references.bib`
page.py          what is said of an article wherever it is listed
lists.py         home page, archive, tags, models; feed.py, share_card.py
reference.py     the reference of the documentation, made from the code
gallery.py       a page of the documentation for every figure
last.py          what an earlier build drew: others draw only what changed since; stamps.py tells,
                 and has what was drawn already, for `serve --watch`; beside.py draws in other
                 processes
provenance.py    where the numbers come from, for machines
assets.py        scripts and styles, a lighter one of the theme; policy.py what browsers may load
new.py           starts an article, or a whole publication: `python -m report new`
"""
