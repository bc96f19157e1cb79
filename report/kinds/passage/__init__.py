"""About a passage: data.py, findings.py, live.py, measure.py, predicted.py, question.py."""
