"""How far the attention of each head is from that of the same head in another model."""

from dataclasses import replace

from report.figures.parts import head_sorted
from report.kinds.difference.beside import DISTANCE
from report.kinds.difference.data import DifferenceData

figure = replace(head_sorted.figure(DISTANCE, __doc__), of=(DifferenceData,))
