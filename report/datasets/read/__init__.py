"""Reads the datasets of an article lazily, for figures and templates: one module a kind of article.

Its `opened(paths, labels)` returns what `study.StudyData` describes; labels come only where the
article gives its models some.

study.py    the datasets of an article of any kind; model.py what those of one model have in common
passage.py, conditions.py, table.py, sweep.py, prediction.py, answers.py, generated.py    the kinds
predicted.py    a prediction piece by piece
training.py     which models are checkpoints of one training
"""
