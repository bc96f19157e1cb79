"""Effects over many generated sentences, measured apart: data.py, measure.py."""
