"""Reads the datasets of an article lazily, for figures and templates: one module a kind of article.

Its `opened(paths, labels)` returns what `study.StudyData` describes; labels come only where the
article gives its models some.
"""
