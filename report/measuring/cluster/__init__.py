"""Measuring on a Ray cluster: `python -m report measure --ray ADDRESS`; the extra `cluster`.

    connection.py  to a cluster, or one of this machine's own
    worker.py      what runs on the machines of the cluster: an actor that holds one model
    workforce.py   the workers there are: started where the cluster has room, replaced when they die
    scheduling.py  which piece is measured next, and what is tried again
    driver.py      gives pieces to workers, adds up what comes back
    summary.py     where the time went

What is measured, and how it is added up, is in report/measuring/pieces.py: the same as without
Ray.
"""
