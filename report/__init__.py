"""Attention Focus Plots: from a language model and a passage to an interactive publication."""

__version__ = "0.1.0"
