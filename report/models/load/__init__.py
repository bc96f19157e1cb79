"""From the files of a checkpoint to a model in memory.

load.py       loads it, whole or in part, if its config and weights belong together
warned.py     what libraries warn of on the way
settings.py   what is read before the weights: stated.py checks config.json, tokenizing.py asks
              the tokenizer, which may misbehave
placement.py  which device gets the weights; memory.py says how much memory there is
identity.py   the facts that pages and datasets state of a loaded model
sentences.py  one sentence for whatever libraries raise
"""
