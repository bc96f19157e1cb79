"""An article in one file that opens without a server: what a page would fetch lies in the page.

`bundle.py` is the command; `written.py` says where the file may go. `page.py` rewrites the page of
a built site; `addresses.py` says where its links lead then, `folders.py` what figures fetch, and
`contents.py` lists its headings for phones. `inlined.py` puts styles and pictures into it,
`scripts.py` makes one script of its modules, and `carried.py` packs the data. `runtime.js` is what
the modules ask for data instead of a server.
"""
