"""How often a token's top target is the token itself, head by head and layer by layer."""

from report.figures.parts import head_sorted
from report.measures import shipped

figure = head_sorted.figure(shipped()["itself"], __doc__)
