"""Writes the folder of datasets of one model, the manifest last: one module a kind of article.

A kind's `write_<kind>` is the `write` of its module in `report/measuring/kinds/`; `write_folder` in
folder.py calls it.

passage.py, conditions.py, table.py, sweep.py, prediction.py, answers.py, generated.py    the kinds
folder.py     the folder while it is written, and its manifest
attention.py  the shards of heads; softmax.py says how scores become probabilities
processes.py  writes in as many processes as there are cores; worker.py is one of them
"""
