"""A page on this machine: a text is typed, and its figures follow.

page.py has what is shown of a text, server.py gives it to a browser, prepared.py makes meanwhile
what needs no model, keep.py makes an article of a text, from article.md.j2.
"""
