"""What a head does to the prediction: parts of a logit, and what changes without a head.

    asked.py      which logit, or difference of two, at which token
    anatomy.py    the parts whose updates add up to the last hidden state; refuses what has none
    found.py      finds them by what runs, on random tokens
    frozen.py     a norm with the scale that it had, so that it is linear
    passing.py    one forward pass, and what it leaves of each part
    direct.py     direct effects: what each part adds to a logit; they sum to it
    values.py     what heads read at each token
    replay.py     runs a part of a model on hidden states that were kept
    ablation.py   what falls when a head's context is replaced
    together.py   the same of several heads at once
    ending.py     the same at the last tokens of a text alone, and their attention
    replacing.py  by what: zeros, means over a corpus, or another text
    patching.py   by what it was in another run, at one token or all, both ways
    paths.py      what an earlier part wrote, as a head reads it by its Q, its K or its V
    writes.py     which tokens a head promotes and suppresses when it reads a token (OV)
    origins.py    which earlier parts a head's scores are made of (QK)
    composition.py  which heads read what other heads write, by the weights alone
    successor.py  which heads turn a word of an ordered list into the next one, by the weights alone
    copying.py    what heads write for words that they read, by the weights alone
    reads.py      what an attention makes of chosen states
    parts.py      all that was written before a layer, part by part
    sentence.py   all of this for one text, by the token that a head looks at too, and the logit
                  lens: what earlier hidden states would predict
    generated.py  direct effects and ablations of many short texts
    difference.py  direct effects of heads in two models over the same texts

All work on a `LoadedModel` that is loaded whole. Nothing here writes datasets.
"""
