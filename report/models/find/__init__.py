"""Which files a model's name stands for: embedded, in a folder, or on the hub.

names.py    what a name stands for, a source.py, and its layers and heads, as its settings say;
            known.py has the names that are known
hub.py      models from the hub, at the commits that names.py records
ollama.py   models that Ollama has pulled
inside.py   keeps a model's folder from pointing elsewhere
weights.py  the weight files of a folder, and their checksum
adapters.py a LoRA adapter beside them, or alone
"""
