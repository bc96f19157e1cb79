"""From a study to its datasets: what must be measured, in which pieces, and where.

run.py       the datasets of an article: keeps what fits, has the rest measured, writes it
plan.py      what will be done for each model, and why
settings.py  how a model is measured, as front matter or its preset asks
key.py       names datasets after everything that determines them; code.py finds the code that
             does, changes.py says in words how two keys differ
frozen.py    datasets that are committed, and stand in for measuring
kind.py      what measuring asks of a kind of article, and gives it: a piece of the work
alone.py     measures in this process, cluster/ on Ray
pieces.py    the work on one model in pieces, and the sum of their results; kept.py keeps the
             sums of an unfinished run
kept_check.py  self-checks that were passed, for the next time that the same model is loaded
kept_heads.py  which heads of each layer an article keeps
forecast.py  says how long it will take, in how much memory, and how much it will write
command.py   the command that measures the same again
What each kind of article asks for stands in `report/kinds/`.
"""
