"""A page on this machine: a text is typed, and its figures follow.

page.py has what is shown of a text, server.py gives it to a browser, keep.py makes an article of
it, from article.md.j2.
"""
