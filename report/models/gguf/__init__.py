"""Models in GGUF files, as llama.cpp, Ollama and LM Studio keep them, read as a checkpoint is.

file.py           the file, or its parts; header.py reads what it says of itself
keys.py           what it says of its architecture, key by key
architectures.py  the families that are known; rope.py says how they rotate
views.py          its tensors under transformers' names: changes.py undoes what llama.cpp did to
                  them, formats.py unpacks their blocks
tokenizer.py      its tokenizer, and how a text is cut first
"""
