"""What several figures share: scales, controls, legends, the look.

figure.py     a figure as a value; choices.py its sliders and switches, grid.py its panels
theme.py      colours, type sizes and the frame of a chart; layers.py charts over each other
marking.py    what a reader points at or pins; token_names.py how tokens are named
map.py        attention maps: cells.py what they draw, raster.py the picture, shading.py its shades,
              map_part.py the part that is shown; spread.py some tokens of a long one
heads.py      a head with a number; rank_lines.py and head_sorted.py many of them,
              head_points.py as points of a plane; all_measures.py all that an atlas has of them,
              groups.py which of them are alike
score_terms.py    the terms of a score: scatter.py, ternary.py, profiles.py, term_lines.py
updates.py        what heads add: histogram.py
received.py       attention received under conditions: received_chart.py, received_numbers.py,
                  received_difference.py; one_row.py and answered.py of the same articles
predicted.py      effects on a prediction, with signs: signed_map.py
over_models.py    many models; over_pairs.py many pairs of prompts
target_classes.py classes of a table; region_names.py regions of a text
"""
