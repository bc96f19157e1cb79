"""One file a family whose attention needs a forward pass of our own: bloom.py, falcon.py, mpt.py.

protocol.py says what such a file has.
A new file counts once it is listed in `OWN_FORWARDS` of `report/models/attention/structure.py`.
"""
