"""From Markdown to a site, and to its readers.

build.py     runs MkDocs or Zensical, and says what is beyond the limits of a host; protect.py
             puts the policy into every page, sums.py lists all files
one_page.py  one page without all others, for a draft of an article
allowed.py   lists what pages may hold
check.py     verifies a built site: links.py finds where addresses lead
serve.py     shows a built site on this machine
push.py      pushes it to a branch of a git remote
child.py     runs what ends with the command: a builder, git
address.py   where a site will be, and for which address it was built
bundled/     an article in one file
"""
