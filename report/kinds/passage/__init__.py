"""Articles about one passage: data.py, findings.py, measure.py, predicted.py, question.py."""
