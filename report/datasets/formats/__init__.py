"""How numbers become JSON, and back; `write/` says which files an article has.

attention.py        the map of one head, a shard, and what figures see of it: sides.py are its
                    queries and the keys of a group, rotation.py turns them, ranking.py tells the
                    largest targets, rice.py writes integers, visible.py is what a token sees
fitting.py          writes these: group.py is what was measured, rounding.py how exact it stays
passage.py          the tokens of a passage
updates.py          the updates of a layer
head_statistics.py  how every head spreads its attention
renderings.py       the tokens of a table in every rendering, token_classes.py their classes
class_shares.py     what each head gives to these classes
conditions.py       all files of an article that compares conditions
prediction.py       what a model predicts for a text, and the direct effects of its parts;
                    prediction_lens.py its logit lens, prediction_head.py one head
generated.py        means over generated sentences
pair.py             what heads do between two prompts, and what they read of earlier parts
answers.py          answers to questions under conditions
composition.py      how much every head reads of every head below
sweep.py            the habits of all heads of a model
portraits.py        what each head looks at in many texts
head_writes.py      what each head writes for words that it reads
regions.py          attention between the regions of a text, and what ablations do; needle.py the
                    same of facts in a long text
attention_pair.py   the attention of one head in two models over a text
changes.py          every measure of a head in one model, and its change in another
columnar.py         tables of columns, which most of these are
"""
