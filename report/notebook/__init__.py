"""In a notebook: measure a model on a text, have the numbers as pandas frames, draw the figures.

    from report import load
    model = load("falcon-8x8")
    m = model.measure("The lamp on the hill was lit.")
    m["heads"]
    m.figure("attention_map", layer=3, head=2)

measurement.py has `load` and `measure`, frames.py their result, and `figure`.
"""

from report.notebook.frames import figure
from report.notebook.measurement import load, measure

__all__ = ["figure", "load", "measure"]
