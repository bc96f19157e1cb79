"""What must hold of datasets beyond their schemas.

`published.py` calls these functions for every dataset of a built site, by schema. `read/` calls
those of conditions too.
"""
