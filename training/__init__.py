"""How the embedded models are trained, and what they have to reach. The package needs none of it.

__main__.py     `python -m training train`, `accept` and `quantise`
train.py        the training: a folder of books in, a model folder out, by a recipe (recipe.py)
books.py        the text; sequences.py makes sequences of it, of generated prompts (problems.py)
                and of drills
architectures.py    the untrained models; checkpoint.py writes trained ones
acceptance.py   four numbers of a model, verdict.py what they mean; trigram.py is the yardstick of
                the loss
model_card.py   the card, described.py what it says of the architecture
quantise.py     a GGUF file rounded to other block formats
tests/          `python -m pytest training`; of the finished models `tests/test_embedded.py`
"""

PROGRAM = "python -m training"
"""What is typed, in a copy of the program."""
