"""Articles about a passage read both ways: data.py, findings.py, measure.py, question.py.

It is no kind that ships: `test_added_kind.py` adds it from a folder of its own.
"""
