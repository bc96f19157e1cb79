"""What must hold of datasets beyond their schemas.

    published.py    all datasets of a built site; calls the others by schema
    whole.py        a folder: no file missing, changed or added
    attention.py, conditions.py, prediction.py, table.py
                    whether the numbers of such datasets fit together

`read/conditions.py` calls `conditions.py` as well.
"""
