"""Articles about the regions of a text: which of them heads come back to.

data.py, findings.py, measure.py, measure_needle.py, question.py
"""
