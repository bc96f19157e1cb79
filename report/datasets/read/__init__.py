"""Reads the datasets of an article lazily: what figures and templates see."""
