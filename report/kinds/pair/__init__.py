"""Articles about two prompts: which heads, at which tokens, make the difference.

data.py, findings.py, live.py, measure.py, question.py
"""
