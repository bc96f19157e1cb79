"""Models whose weights are not all in memory.

model.py     the first layers only, or one layer at a time
layers.py    runs many texts through it, layer by layer
needs.py     which weights layers need, found by running shapes; shell.py what they are called
             with, skeleton.py has the model without its weights
reader.py    reads single tensors or rows; packed.py those that are packed into fewer bits,
             adapted.py those that an adapter changes, as merging.py finds out
stored.py    under which names a checkpoint stores them
"""
