"""Models whose weights are not all in memory.

model.py     the first layers only, or one layer at a time, and which weights they need, found by
             running shapes
layers.py    runs many texts through it, layer by layer
reader.py    reads single tensors or rows, also those that are packed into fewer bits;
             merging.py those that an adapter changes
stored.py    under which names a checkpoint stores them
"""
