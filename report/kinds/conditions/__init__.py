"""Articles that compare conditions of prompts: data.py, findings.py, measure.py, question.py.

Whether what conditions add helps the answer, measured apart: answers.py, measure_answers.py.
"""
