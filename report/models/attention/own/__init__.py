"""One file a family whose attention needs a forward pass of our own; see `protocol`.

A new file counts once it is listed in `OWN_FORWARDS` of `report/models/attention/structure.py`.
"""
