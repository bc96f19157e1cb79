"""Finds the figures, fills in what their files leave out, compiles and draws them.

find.py       a name becomes a figure; mistakes.py tells mistakes in its file
defaults.py   fills in what a file leaves out
per_model.py  a figure of one model, given several: with a switch
vega.py       a chart as the page draws it; valid.py and fields.py check it
shares.py     its shares in words, neither all nor nothing where it is nearly that
still.py      its pictures without the script
css.py        its look as custom properties
"""
