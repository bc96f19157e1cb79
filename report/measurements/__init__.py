"""What is computed from a head's tensors: pure functions, tensors in, tensors out; no model.

factors.py           what scores are made of; decomposition.py splits them into terms
block.py, visible.py a part of an attention map, and which targets can be seen
targets.py           the largest targets of every token
updates.py           what a head adds to the hidden state
difference.py        how far two models are apart at a head
rows.py              rows of attention as measures of heads read them, and their sums over a text
head_statistics.py, tally.py    sums that can be merged, over texts or prompts
effect_rows.py       effects text by text, which can be merged
portraits.py         what each head looks at in many texts, which can be merged
received.py, class_shares.py, regions.py, needle.py, induction.py  what positions, classes,
                     regions, facts in a long text and repetitions receive
passage.py, conditions.py    the results of a passage and of conditions, as values
stored.py, precision.py      factors kept in a file, and how far rounding may reach
"""
