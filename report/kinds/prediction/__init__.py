"""Articles about a prediction: data.py, findings.py, live.py, measure.py, pieces.py,
question.py.

Effects over many generated sentences, measured apart: generated.py, measure_generated.py.
"""
