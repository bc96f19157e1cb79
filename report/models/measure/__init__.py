"""Runs a model and measures it: recorders that get the attention of every layer.

    passage.py     a passage: everything that figures of it need; a corpus: sums only
    portraits.py   a corpus, and what each head looks at in its texts
    conditions.py  prompts under conditions: attention received, and what fillers change
    answers.py     how probable right answers are, and what they give to a filler
    table.py       a table, by classes of tokens
    regions.py     a text by its regions
    difference.py  two models over the same texts, head by head
    repetition.py  a sweep: random tokens said twice; loss.py, how well they are predicted

`report/kinds/` says which articles ask for this, `report/measurements/` computes the
numbers. What articles about predictions ask for is in `report/effects/`.
"""
