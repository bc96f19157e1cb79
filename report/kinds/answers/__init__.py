"""Whether what conditions add helps the answer, measured apart: data.py, measure.py."""
