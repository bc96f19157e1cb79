"""Articles that compare every head of a model with the same head of another, over many texts.

beside.py, data.py, findings.py, measure.py, question.py
"""
