"""Articles about a prediction: data.py, findings.py, measure.py, pieces.py, question.py."""
