"""How the embedded models were trained, and what they had to reach.

train.py        the training: a folder of books in, a model folder out, by a recipe (recipe.py)
books.py        the text; sequences.py makes sequences of it, of generated prompts (problems.py)
                and of drills
architectures.py    the untrained models; checkpoint.py writes trained ones
acceptance.py   four numbers of a model, verdict.py what they mean; heads.py names the head with the
                largest, trigram.py is the yardstick of the loss
model_card.py   the card, described.py what it says of the architecture
"""
