"""Articles that compare conditions of prompts: data.py, findings.py, measure.py, question.py."""
