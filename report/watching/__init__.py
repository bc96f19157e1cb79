"""A site that is built again whenever its publication changes: `python -m report serve --watch`.

watch.py     the loop: look, wait until who writes is done, rebuild
files.py     what is looked at, and what changed since the last look
rebuild.py   renders the articles that a change touches, and builds the site
reload.py    the server of it; reload.js, which it adds to pages, shows mistakes and reloads
"""
