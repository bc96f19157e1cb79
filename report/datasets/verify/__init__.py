"""What must hold of datasets beyond their schemas.

published.py    all datasets of a built site, by schema
whole.py        a folder: no file missing, changed or added
conditions.py   conditions, also as `read/conditions.py` reads them
"""
