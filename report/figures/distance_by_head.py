"""How far the attention of each head is from that of the same head in another model."""

from report.figures.parts import head_sorted
from report.kinds.difference.beside import DISTANCE

figure = head_sorted.figure(DISTANCE, __doc__)
