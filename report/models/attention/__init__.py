"""Reaches the attention of every layer while a model runs.

    running.py     runs texts, with a recorder for each that is to be measured
    recorder.py    what a layer's attention is handed to; the recorders are in models/measure/
    structure.py   the layers of a model, and the modules in them that are measured
    probe.py       runs the first layer on two tokens: by which route is its attention reached?
    capture.py     attaches to the model by that route: own_forwards.py, sdpa_spy.py,
                   softmax_spy.py, or transformers' interface; modes.py changes what else must be
                   and puts it back
    kernel.py      computes attention in blocks, in the model's place
    completion.py  adds biases, and queries and keys before rotation, which rotation.py finds
    positions.py   what positions in the embeddings put into what the first layer reads
    updates.py     what each head adds to the hidden state
    self_check.py  compares all of it with the model's own forward pass; passed.py says what the
                   outcome depends on, and takes an earlier one

Scores are split into terms in `report/measurements/decomposition.py`; its head names the second
place, for long passages.
"""
