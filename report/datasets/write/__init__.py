"""Writes the folder of datasets of one model, the manifest last. A kind of article says what is in
it: `write` in its folder of `report/kinds/`.

folder.py     the folder while it is written, and its manifest
attention.py  the shards of heads
processes.py  writes in as many processes as there are cores; worker.py is one of them
"""
