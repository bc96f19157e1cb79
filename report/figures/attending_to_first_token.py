"""How often a token's top target is the first token, head by head and layer by layer."""

from report.figures.parts import head_sorted
from report.measures import shipped

figure = head_sorted.figure(shipped()["first_token"], __doc__)
