"""Writes the folder of datasets of one model, the manifest last: one module a kind of article.

A kind's `write_<kind>` is the `write` of its module in `report/measuring/kinds/`; `write_folder` in
folder.py calls it.
"""
