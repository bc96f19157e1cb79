"""A site that is built again whenever its publication changes: `python -m report serve --watch`.

watch.py     the loop: look, wait until who writes is done, render the articles that a change
             touches, build the site
draft.py     the page of an article before it is built; so_far.py what is measured for that
server.py    serves the site and its drafts, and reload.js, which it adds to pages
files.py     what is looked at, and what changed since the last look
"""
