"""How far the top target stands out from the second, head by head and layer by layer."""

from report.figures.parts import head_sorted
from report.measures import shipped

figure = head_sorted.figure(shipped()["concentration"], __doc__)
