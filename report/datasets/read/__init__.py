"""Reads the datasets of a study lazily: what figures and templates see."""
