"""Articles about a prediction: data.py, findings.py, measure.py, pieces.py, question.py.

Effects over many generated sentences, measured apart: generated.py, measure_generated.py.
"""
