"""Articles that find heads by what they do over many texts, each label with its control.

agreement.py, beside.py, data.py, findings.py, measure.py, question.py, release.py, sentences.py
Which heads compose, measured apart: composition.py, measure_composition.py.
What heads write for what they read: copying.py, measure_copying.py.
Which heads turn a word of a list into the next one, too: successor.py, measure_successor.py.
"""
