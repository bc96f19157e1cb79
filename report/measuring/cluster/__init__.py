"""Measuring on a Ray cluster: `python -m report measure --ray ADDRESS`; the extra `cluster`.

    worker.py      runs on the machines of the cluster: an actor that holds one model
    workforce.py   the workers: started where the cluster has room, replaced when they die
    scheduling.py  which piece is measured next, and which is tried again
    driver.py      connects to a cluster, or starts one on this machine; gives pieces to workers
                   and adds up their results
    summary.py     where the time went

What is measured and how it is added up is the same as without Ray: report/measuring/pieces.py.
"""
