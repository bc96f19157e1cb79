"""Articles that compare the habits of heads in many models.

data.py, findings.py, measure.py, question.py
"""
