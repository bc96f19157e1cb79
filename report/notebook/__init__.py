"""In a notebook: measure a model on a text, have the numbers as pandas frames, draw the figures.

    from report import figure, measure
    m = measure("falcon-8x8", "The lamp on the hill was lit.")
    m["heads"]
    figure("attention_map", m, layer=3, head=2)

measurement.py has `measure`, frames.py its result, and `figure`.
"""

from report.notebook.frames import figure
from report.notebook.measurement import measure

__all__ = ["figure", "measure"]
