"""Attention Focus Plots: from a language model and a passage to an interactive publication."""

from importlib import import_module

__version__ = "0.1.0"

__all__ = ["figure", "measure"]


def __getattr__(name):
    """`from report import measure, figure`: what notebooks use, loaded when it is asked for."""
    if name in __all__:
        return getattr(import_module("report.notebook"), name)
    raise AttributeError(f"module 'report' has no attribute {name!r}")
