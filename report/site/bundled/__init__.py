"""An article in one file that opens without a server: what a page would fetch lies in the page.

`bundle.py` is the command, packs the data, and says where the file may go. `page.py` rewrites the
page of a built site; `scripts.py` puts styles and pictures into it, and makes one script of its
modules. `runtime.js` is what the modules ask for data instead of a server.
"""
