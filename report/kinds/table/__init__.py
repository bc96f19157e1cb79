"""Articles about a table: data.py, findings.py, measure.py, question.py."""
