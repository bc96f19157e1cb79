"""Finds the figures, fills in what their files leave out, compiles and draws them.

find.py       a name becomes a figure
defaults.py   fills in what a file leaves out, and tells mistakes in it; shares in words, neither
              all nor nothing where they are nearly that
per_model.py  a figure of one model, given several: with a switch
vega.py       a chart as the page draws it; fields.py checks it
still.py      its pictures without the script
css.py        its look as custom properties
"""
