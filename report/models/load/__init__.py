"""From the files of a checkpoint to a model in memory.

load.py       loads it, whole or in part, if its config and weights belong together
settings.py   what is read before the weights: stated.py checks config.json, tokenizing.py asks
              the tokenizer, which may misbehave
memory.py     how much memory there is, and which device gets the weights
identity.py   the facts that pages and datasets state of a loaded model
sentences.py  one sentence for whatever libraries raise, and what they warn of on the way
"""
